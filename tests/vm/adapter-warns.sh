#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 1 --cpus 2 --mem 1024 --timeout 60
# adapter: own
# turns: 2
# short: a violation on the modelled adapter fails the run although the script passes
# expect: report
. ../lib/lab.sh
. ../lib/rnbd.sh
. ../lib/adapter.sh

adapter_up profile=mlx5
modprobe rdma-model-plant what=unmapped || die "the violation was not committed"
