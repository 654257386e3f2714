/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of test_wire.c that are in files of their own.
 */
#ifndef RNBD_UNIT_WIRE_FIXTURE_H
#define RNBD_UNIT_WIRE_FIXTURE_H

/* Run the tests of ctl.c and return the number of failed tests. */
int wire_ctl_tests(void);

#endif /* RNBD_UNIT_WIRE_FIXTURE_H */
