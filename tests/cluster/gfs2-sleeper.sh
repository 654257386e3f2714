#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400 --ignore-report touch:[0-9]+.blocked.for.more.than
# short: GFS2: a node sleeps amid load, is fenced, the other goes on; when it wakes up not one byte of it lands; it comes back, and withdraws
# shellcheck disable=SC2034 # read there
HOW=paused
. ./gfs2.sh
