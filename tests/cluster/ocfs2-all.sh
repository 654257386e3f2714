#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400
# short: OCFS2: all nodes lose the storage for longer than the heartbeat limit: all wait, then continue; they lose the network too: all reset themselves
# shellcheck disable=SC2034 # read there
FROM=all
. ./ocfs2.sh
