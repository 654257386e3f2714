// SPDX-License-Identifier: GPL-2.0-only
/*
 * abuse - misuse the netlink and configfs interfaces of the modules on this machine.
 *
 * Operation: "cases" breaks every rule of every attribute and header, one at a time, and checks
 * the errno and the error message of each reply. "soup" sends random messages. "denied" sends
 * commands as a caller without privilege. "race" starts many processes that concurrently
 * create, enable, link and remove the same objects, and attach and detach.
 *
 * Concurrency: processes only in race.c.
 * Errors: each problem is printed on a line; the exit status is then 1.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/netlink-target.h>
#include <rnbd/netlink.h>

#include "abuse.h"

static const char help_text[] =
	"usage: abuse cases                    violate every rule, one at a time\n"
	"       abuse soup NUMBER SEED         random messages\n"
	"       abuse denied                   without privilege\n"
	"       abuse race CONFIG SECONDS SEED PATH...\n"
	"                                      processes change the same objects of the\n"
	"                                      target, whose storage is in PATH...\n"
	"\n"
	"Both modules must be loaded, and no disk attached.\n";

unsigned int seconds_factor = 1;
static unsigned int nr_complaints;

static void say(const char *fmt, va_list args)
{
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
}

/* Print a message and exit. */
void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
	exit(1);
}

/* Print and count a problem; the program continues with the next case. */
void complain(const char *fmt, ...)
{
	va_list args;

	nr_complaints++;
	va_start(args, fmt);
	say(fmt, args);
	va_end(args);
}

unsigned int complaints(void)
{
	return nr_complaints;
}

/* splitmix64 */
uint64_t roll(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *slow = getenv("LAB_SLOW");
	unsigned int client_group = 0, target_group = 0;
	int families[2], fd;

	if (slow && *slow)
		seconds_factor = atoi(slow);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "race") && argc > 5)
		return race_run(argv[2], atoi(argv[3]), strtoull(argv[4], NULL, 0), argv + 5);
	if (strcmp(what, "cases") && strcmp(what, "denied") &&
	    (strcmp(what, "soup") || argc != 4)) {
		fputs(help_text, stderr);
		return 2;
	}
	fd = nl_open();
	families[0] = nl_family(fd, RNBD_GENL_NAME, &client_group);
	families[1] = nl_family(fd, RNBDT_GENL_NAME, &target_group);
	if (!families[0] || !families[1])
		fail("a netlink family is missing; load both modules");

	if (!strcmp(what, "cases")) {
		cases_client(fd, families[0]);
		cases_target(fd, families[1]);
	} else if (!strcmp(what, "denied")) {
		cases_denied(fd, families[0], client_group, families[1], target_group);
	} else {
		soup_send(fd, families, 2, atoi(argv[2]), strtoull(argv[3], NULL, 0));
	}
	return complaints() ? 1 : 0;
}
