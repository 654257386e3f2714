#!/bin/bash
# lab: --bare --timeout 20
# short: a script that does not end is reported as hung
# expect: hang
echo "this script hangs on purpose"
sleep infinity
