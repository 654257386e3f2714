/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The error message of a command. See errmsg.c.
 */
#ifndef RNBDC_ERRMSG_H
#define RNBDC_ERRMSG_H

#include <linux/compiler.h>
#include <linux/netlink.h>

#define RNBDC_ERRMSG_SIZE	NETLINK_MAX_FMTMSG_LEN

/**
 * struct rnbdc_errmsg - error message for the user of a command
 * @text: one line without a full stop; empty if there is none
 */
struct rnbdc_errmsg {
	char text[RNBDC_ERRMSG_SIZE];
};

__printf(2, 3) void rnbdc_errmsg_set(struct rnbdc_errmsg *errmsg, const char *fmt, ...);

#endif /* RNBDC_ERRMSG_H */
