/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_ATTACH_CONF_H
#define RNBD_ATTACH_CONF_H

#include "args.h"

/**
 * struct attach_conf - a command line completed by a configuration file
 * @args: parsed command line with the options and operands of the file
 * @operand: operands from the file; they point into @text
 * @name: name of the disk, from the name of the file; NULL if an option sets the name
 * @text: contents of the file
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
