#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: --nodes 3 --cpus 1 --mem 768 --timeout 400 --ignore-report touch:[0-9]+.blocked.for.more.than
# short: GFS2: a node paused under load is fenced, the other continues; after the resume none of its writes land; it rejoins; then its GFS2 withdraws
# shellcheck disable=SC2034 # read there
HOW=paused
. ./gfs2.sh
