/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of test_wire.c that are in files of their own.
 */
#ifndef RNBD_UNIT_WIRE_FIXTURE_H
#define RNBD_UNIT_WIRE_FIXTURE_H

/* Runs the tests of ctl.c and returns the number of those that failed. */
int wire_ctl_tests(void);

#endif /* RNBD_UNIT_WIRE_FIXTURE_H */
