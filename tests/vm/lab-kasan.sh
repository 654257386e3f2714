#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --bare --timeout 60
# kernel: debug
# short: a use after free in a module fails the run although the script passes
# expect: report KASAN: slab-use-after-free in fault_kasan
modprobe rnbd_faults fault=kasan
echo "the script itself passes"
