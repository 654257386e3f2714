/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the files of abuse share. */
#ifndef ABUSE_H
#define ABUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MESSAGE_MAX	8192
#define TEXT_MAX	256

/**
 * struct message - request built byte by byte, valid or not
 * @len: Bytes used of @buf
 * @buf: Message; starts with struct nlmsghdr and struct genlmsghdr
 */
struct message {
	size_t len;
	uint8_t buf[MESSAGE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
};

/**
 * struct answer - reply of the kernel to one request
 * @error: 0 or a positive errno
 * @silent: True if the kernel sends no reply to this request
 * @messages: Number of messages before the final one
 * @missing: Type of the attribute reported as missing, or 0
 * @at: Offset of the attribute reported as wrong, in bytes, or 0
 * @text: Error message, or ""
 * @ids: True if a message contained a host id or a session id
 * @disk: Name of the disk in the last message, or ""
 */
struct answer {
	int error;
	bool silent;
	unsigned int messages;
	unsigned int missing;
	unsigned int at;
	char text[TEXT_MAX];
	bool ids;
	char disk[32];
};

extern unsigned int seconds_factor;	/* factor of time limits on slow machines, from LAB_SLOW */

void fail(const char *fmt, ...) __printf(1, 2) __attribute__((noreturn));
void complain(const char *fmt, ...) __printf(1, 2);
unsigned int complaints(void);

/* nl.c */
int nl_open(void);
int nl_family(int fd, const char *name, unsigned int *group);
int nl_join(int fd, unsigned int group);
void nl_begin(struct message *msg, uint16_t type, uint16_t flags, uint8_t cmd);
void nl_put(struct message *msg, uint16_t attr, const void *data, size_t len);
void nl_talk(int fd, struct message *msg, struct answer *answer);
void nl_show(const struct message *msg);

/* cases.c, soup.c, race.c */
void cases_client(int fd, int family);
void cases_target(int fd, int family);
void cases_denied(int fd, int client, unsigned int client_group, int target,
		  unsigned int target_group);
void soup_send(int fd, const int *families, unsigned int nr_families, unsigned int nr,
	       uint64_t seed);
int race_run(const char *config, unsigned int seconds, uint64_t seed, char **paths);

/* pseudo-random numbers: the same sequence for the same seed on every machine */
uint64_t roll(uint64_t *seed);
#endif
