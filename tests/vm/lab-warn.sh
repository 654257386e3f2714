#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a kernel warning fails the run although the script passes
# expect: report
echo "<4>WARNING: CPU: 0 PID: 1 at nowhere.c:1 on purpose" >/dev/kmsg
echo "the script itself passes"
