/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_CONF_H
#define RNBD_CONF_H

#include "command.h"

/**
 * struct conf - a command line, completed by a file
 * @args: what a command takes in place of its own command line
 * @operand: the operands that the file names
 * @name: that of the file, without its folder and ".conf"
 * @text: the file; options point into it
 */
struct conf {
	struct args args;
	char *operand[2];
	char *name;
	char *text;
};

int conf_load(struct conf *conf, const struct args *args, const char *path);
int conf_parse(struct conf *conf, const struct args *args, const char *path, char *text);
void conf_free(struct conf *conf);

#endif /* RNBD_CONF_H */
