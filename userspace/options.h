/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of an attachment. attach_opts[] in options.c has one row per option, and
 * struct options holds the value of an option at the index of its row.
 */
#ifndef RNBD_OPTIONS_H
#define RNBD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rnbd/netlink.h>

#include "args.h"

#define OPTIONS_MAX		32	/* maximum number of rows in attach_opts[] */
#define OPTION_TEXT_SIZE	RNBD_NAME_SIZE

/**
 * struct option_value - value of one option
 * @known: true if the option was given or the kernel has reported it
 * @number: number, index of a word in its list, or 1 for a flag that is set
 * @text: value of an option of type OPT_TEXT
 */
struct option_value {
	bool known;
	uint64_t number;
	char text[OPTION_TEXT_SIZE];
};

/**
 * struct options - values of all options: of an attach request, or of a disk (either the
 *	requested or the granted values)
 * @value: values, indexed by row of attach_opts
 */
struct options {
	struct option_value value[OPTIONS_MAX];
};

extern const struct opt attach_opts[];

int options_parse(const struct args *args, struct options *options);

const struct opt *option_of_attr(int attr);
size_t option_row(const struct opt *opt);
uint64_t option_number(const struct options *options, const char *key);
const char *option_text(const struct options *options, const char *key);
bool option_same(const struct opt *opt, const struct option_value *a,
		 const struct option_value *b);
void option_format(const struct opt *opt, const struct option_value *value,
		   char text[OPTION_TEXT_SIZE]);

#endif /* RNBD_OPTIONS_H */
