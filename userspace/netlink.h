/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_H
#define RNBD_TOOL_NETLINK_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

#include "parse.h"
#include "util.h"

#define DISK_NAME_SIZE		32
#define STATE_SIZE		32
#define REASON_SIZE		256
#define PORT_NAME_SIZE		256
#define ADDR_SIZE		(INET6_ADDRSTRLEN + IF_NAMESIZE)

int rnbd_open(void);
int rnbd_open_target(void);
void rnbd_close(void);
const char *rnbd_error(void);

struct nl_msg;
struct nlattr;

struct nl_msg *netlink_request(uint8_t cmd, int flags);
int netlink_talk(struct nl_msg *msg, bool full,
		 int (*take)(struct nlmsghdr *hdr, void *list), void *list);
int netlink_set_error(int error, const char *fmt, ...) __printf(2, 3);

uint32_t netlink_u32(struct nlattr *attr);
uint64_t netlink_u64(struct nlattr *attr);
void netlink_uuid(struct nlattr *attr, uint8_t uuid[UUID_SIZE]);
void netlink_string(struct nlattr *attr, char *text, size_t size);

#endif /* RNBD_TOOL_NETLINK_H */
