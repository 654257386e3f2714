#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# short: a script that exits with an error fails the run
# expect: fail
echo "this script fails on purpose" >&2
exit 3
