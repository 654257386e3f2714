/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests that test_wire.c runs and that are in separate files.
 */
#ifndef RNBD_UNIT_WIRE_FIXTURE_H
#define RNBD_UNIT_WIRE_FIXTURE_H

/* Run the tests of ctl.c and return the number of failed tests. */
int wire_ctl_tests(void);

#endif /* RNBD_UNIT_WIRE_FIXTURE_H */
