#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: OCFS2: storage away from all for longer than heartbeats may be late: all wait; the network too: all reset themselves
# shellcheck disable=SC2034 # read there
FROM=all
. ./ocfs2.sh
