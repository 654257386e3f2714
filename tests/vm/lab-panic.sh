#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a kernel that panics is reported as died
# expect: panic
echo "this kernel panics on purpose"
echo c >/proc/sysrq-trigger
sleep infinity
