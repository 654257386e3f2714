// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse the configuration file of an attachment, rnbd-attach.conf(5).
 *
 * Operation: each line is "key = value". A key is a long option of the command, or
 * "address" or "export" for an operand. The result is a parsed command line: first the
 * options of the real command line, then those of the file. An option of the real
 * command line overrides the same option in the file.
 *
 * Ownership: struct attach_conf owns the text of the file until attach_conf_free(). Options
 * and operands that come from the file point into this text.
 * Concurrency: one thread.
 * Errors: one line that names the file and, for a mistake in a line, the number of this line.
 * After an error, no part of the file is used.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach_conf.h"
#include "util.h"

/* Largest accepted file in bytes; a real configuration has a few lines. */
#define CONF_SIZE_MAX	65536
#define CONF_SUFFIX	".conf"
#define NAME_OPTION	"name"
#define BLANKS		" \t\r"

static const char *const operand_keys[] = { "address", "export" };

/* A file must contain neither "config" nor "json", which control one run of the command. */
static bool is_for_files(const struct opt *opt)
{
	return strcmp(opt->name, "config") && strcmp(opt->name, "json");
}

static const struct opt *find_option(const struct command *cmd, const char *key)
{
	const struct opt *opt;

	for (opt = cmd->opts; opt && opt->name; opt++) {
		if (!strcmp(opt->name, key) && is_for_files(opt))
			return opt;
	}
	return NULL;
}

static char *trim(char *s)
{
	size_t len;

	s += strspn(s, BLANKS);
	for (len = strlen(s); len && strchr(BLANKS, s[len - 1]); len--)
		s[len - 1] = '\0';
	return s;
}

/* A "#" starts a comment only at the start of a line or after a blank. */
static void cut_comment(char *line)
{
	char *p;

	for (p = line; (p = strchr(p, '#')); p++) {
		if (p == line || strchr(BLANKS, p[-1])) {
			*p = '\0';
			return;
		}
	}
}

static void give(struct args *args, const struct opt *opt, const char *value)
{
	args->given = xrealloc(args->given, args->nr_given + 1, sizeof(*args->given));
	args->given[args->nr_given].opt = opt;
	args->given[args->nr_given].value = value;
	args->nr_given++;
}

static bool given_between(const struct args *args, size_t first, size_t end,
			  const struct opt *opt)
{
	size_t i;

	for (i = first; i < end; i++) {
		if (args->given[i].opt == opt)
			return true;
	}
	return false;
}

static int take_operand(struct attach_conf *conf, size_t i, char *value, const char *where)
{
	if (conf->operand[i])
		return usage_err("%s: %s is given twice", where, operand_keys[i]);
	conf->operand[i] = value;
	return RNBD_EXIT_OK;
}

/* @own: number of options of the real command line; they override the file */
static int take_option(struct attach_conf *conf, size_t own, const struct opt *opt,
		       const char *value, const char *where)
{
	struct args *args = &conf->args;
	bool on = !strcmp(value, "yes");

	if (!opt->arg && !on && strcmp(value, "no"))
		return usage_err("%s: %s is yes or no, not \"%s\"", where, opt->name, value);
	if (!opt->repeat && given_between(args, own, args->nr_given, opt))
		return usage_err("%s: %s is given twice", where, opt->name);
	if ((opt->arg || on) && !given_between(args, 0, own, opt))
		give(args, opt, opt->arg ? value : NULL);
	return RNBD_EXIT_OK;
}

static int take_line(struct attach_conf *conf, size_t own, char *line, const char *where)
{
	const struct opt *opt;
	char *key, *value;
	size_t i;

	cut_comment(line);
	key = trim(line);
	if (!*key)
		return RNBD_EXIT_OK;
	value = strchr(key, '=');
	if (!value)
		return usage_err("%s: \"%s\" has no value; wanted: key = value", where, key);
	*value++ = '\0';
	key = trim(key);
	value = trim(value);
	if (!*value)
		return usage_err("%s: \"%s\" has no value; wanted: key = value", where, key);

	for (i = 0; i < ARRAY_SIZE(operand_keys); i++) {
		if (!strcmp(key, operand_keys[i]))
			return take_operand(conf, i, value, where);
	}
	opt = find_option(conf->args.cmd, key);
	if (!opt)
		return usage_err("%s: \"%s\" is no key; see rnbd-attach.conf(5) and: rnbd help %s",
				 where, key, conf->args.cmd->name);
	return take_option(conf, own, opt, value, where);
}

static int check_operands(const struct attach_conf *conf, const char *path)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operand_keys); i++) {
		if (!conf->operand[i])
			return usage_err("%s: %s is missing; add a line: %s = ...", path,
					 operand_keys[i], operand_keys[i]);
	}
	return RNBD_EXIT_OK;
}

/* Without a "name" option, the disk gets the name of the file without ".conf". */
static void name_disk(struct attach_conf *conf, const char *path)
{
	const struct opt *opt = find_option(conf->args.cmd, NAME_OPTION);
	const char *base = strrchr(path, '/');
	size_t len;

	if (!opt || given_between(&conf->args, 0, conf->args.nr_given, opt))
		return;
	conf->name = xstrdup(base ? base + 1 : path);
	len = strlen(conf->name);
	if (len > strlen(CONF_SUFFIX) &&
	    !strcmp(conf->name + len - strlen(CONF_SUFFIX), CONF_SUFFIX))
		conf->name[len - strlen(CONF_SUFFIX)] = '\0';
	give(&conf->args, opt, conf->name);
}

/**
 * attach_conf_parse() - add the options and operands in a text to a command line
 * @conf: result; the caller calls attach_conf_free(), also after a failure
 * @args: command line
 * @path: path of the file, for messages and the name of the disk
 * @text: contents of the file, on the heap; @conf becomes its owner
 *
 * Return: an exit code.
 */
int attach_conf_parse(struct attach_conf *conf, const struct args *args, const char *path,
		      char *text)
{
	unsigned int nr = 0;
	char *line, *next;
	size_t i;
	int ret = RNBD_EXIT_OK;

	*conf = (struct attach_conf){ .args = *args, .text = text };
	conf->args.given = NULL;
	conf->args.nr_given = 0;
	for (i = 0; i < args->nr_given; i++)
		give(&conf->args, args->given[i].opt, args->given[i].value);

	for (line = text; line && !ret; line = next) {
		char *where = xasprintf("%s:%u", path, ++nr);

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		ret = take_line(conf, args->nr_given, line, where);
		free(where);
	}
	if (!ret)
		ret = check_operands(conf, path);
	if (ret)
		return ret;

	name_disk(conf, path);
	conf->args.operand = conf->operand;
	conf->args.nr_operands = ARRAY_SIZE(conf->operand);
	return RNBD_EXIT_OK;
}

/* Read the whole file as a string. Return NULL after an error message. */
static char *read_text(const char *path)
{
	char *text = xcalloc(1, CONF_SIZE_MAX + 1);
	FILE *f = fopen(path, "re");
	struct stat st;
	size_t size;

	if (!f || fstat(fileno(f), &st)) {
		err("%s: %s", path, strerror(errno));
	} else if (S_ISDIR(st.st_mode)) {
		err("%s: %s", path, strerror(EISDIR));
	} else {
		size = fread(text, 1, CONF_SIZE_MAX + 1, f);
		if (ferror(f))
			err("%s: cannot be read", path);
		else if (size > CONF_SIZE_MAX || memchr(text, '\0', size))
			err("%s: not a configuration file; see rnbd-attach.conf(5)", path);
		else
			goto out;
	}
	free(text);
	text = NULL;
out:
	if (f)
		fclose(f);
	return text;
}

/**
 * attach_conf_load() - add the options and operands in a file to a command line
 * @conf: result; the caller calls attach_conf_free(), also after a failure
 * @args: command line
 * @path: path of the file
 *
 * Return: an exit code.
 */
int attach_conf_load(struct attach_conf *conf, const struct args *args, const char *path)
{
	char *text;

	*conf = (struct attach_conf){ };
	text = read_text(path);
	if (!text)
		return RNBD_EXIT_FAIL;
	return attach_conf_parse(conf, args, path, text);
}

void attach_conf_free(struct attach_conf *conf)
{
	free(conf->args.given);
	free(conf->name);
	free(conf->text);
}
