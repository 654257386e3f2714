/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_ATTACH_CONF_H
#define RNBD_ATTACH_CONF_H

#include "args.h"

/**
 * struct attach_conf - a command line, completed by a file
 * @args: what a command takes in place of its own command line
 * @operand: the operands that the file names
 * @name: that of the file, without its folder and ".conf"
 * @text: the file; options point into it
 */
struct attach_conf {
	struct args args;
	char *operand[2];
	char *name;
	char *text;
};

int attach_conf_load(struct attach_conf *conf, const struct args *args, const char *path);
int attach_conf_parse(struct attach_conf *conf, const struct args *args, const char *path,
		      char *text);
void attach_conf_free(struct attach_conf *conf);

#endif /* RNBD_ATTACH_CONF_H */
