#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 20
# short: a script that does not end is reported as hung
# expect: hang
echo "this script hangs on purpose"
sleep infinity
