// SPDX-License-Identifier: GPL-2.0-only
/*
 * The error message of a command.
 *
 * The function that detects an error sets the message; later calls by its callers do not
 * replace it. netlink.c returns the message to the user, attach.c logs it, and recover.c
 * stores it as last_error of the disk.
 */

#include "errmsg.h"

/**
 * rnbdc_errmsg_set - set the error message unless one is set
 * @errmsg: message; all zero before the first call
 * @fmt: format of one line without a full stop
 *
 * The first message is kept, because the function that detected the error has set it.
 *
 * Context: any; the caller owns @errmsg.
 */
void rnbdc_errmsg_set(struct rnbdc_errmsg *errmsg, const char *fmt, ...)
{
	va_list args;

	if (errmsg->text[0])
		return;
	va_start(args, fmt);
	vscnprintf(errmsg->text, sizeof(errmsg->text), fmt, args);
	va_end(args);
}
