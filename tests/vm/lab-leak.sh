#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 90
# kernel: debug
# short: memory that a module has leaked fails the run, also if the module is unloaded
# expect: report leaked by our modules
. ../lib/lab.sh
run modprobe rnbd_faults fault=leak
run rmmod rnbd_faults
if [ "$1" != gone ]; then run modprobe rnbd_faults fault=leak; fi
