// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd attach, rnbd detach.
 *
 * Operation: names are resolved here, the kernel takes numbers. All addresses
 * of a name are tried in order while the target cannot be reached; a target
 * that refuses has the last word.
 * Ownership: nothing is kept.
 * Concurrency: one thread.
 * Errors: one line that names the export and the target, or the disk.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <rnbd/netlink.h>

#include "command.h"
#include "hostid.h"
#include "list.h"
#include "netlink.h"
#include "util.h"

#define NODE_WAIT_MS	5000
/* A target ends what this host had there before it was started anew. */
#define TARGET_WAIT_MS	30000
#define TARGET_NAP_MS	100
/* udev opens a disk for a moment whenever it has appeared or was written. */
#define BUSY_WAIT_MS	2000
#define NAP_MS		10
#define SECONDS_MAX	(24 * 3600)

/* Reads an optional number; returns an exit code, 0 if all is well. */
static int get_number(const struct args *args, const char *name, uint32_t min,
		      uint32_t max, uint32_t *out)
{
	const char *value = args_value(args, name);

	if (value && parse_u32(value, min, max, out))
		return usage_err("--%s %s: wanted a number from %u to %u", name,
				 value, min, max);
	return 0;
}

static int get_size(const struct args *args, const char *name, uint64_t max,
		    uint64_t *out)
{
	const char *value = args_value(args, name);

	if (value && parse_size(value, max, out))
		return usage_err("--%s %s: wanted a size such as 4096, 64K or 1M",
				 name, value);
	return 0;
}

/* Like get_size(), but 0 is a size, and nothing leaves it to the kernel. */
static int get_inline(const struct args *args, const char *name, uint32_t *out)
{
	const char *value = args_value(args, name);
	uint64_t size = ATTACH_DEFAULT;
	int ret = 0;

	if (value && !strcmp(value, "0"))
		size = 0;
	else
		ret = get_size(args, name, RNBD_INLINE_MAX, &size);
	*out = size;
	return ret;
}

static int get_recovery(const struct args *args, struct attach *attach)
{
	const char *policy = args_value(args, "policy");
	int ret;

	if (policy && strcmp(policy, "queue") && strcmp(policy, "fail"))
		return usage_err("--policy %s: wanted queue or fail", policy);
	attach->policy = policy && !strcmp(policy, "fail") ? RNBD_POLICY_FAIL :
							     RNBD_POLICY_QUEUE;
	attach->loss_timeout = ATTACH_DEFAULT;
	ret = get_number(args, "fast-io-fail", 0, SECONDS_MAX, &attach->fast_io_fail);
	if (!ret)
		ret = get_number(args, "loss-timeout", 0, SECONDS_MAX,
				 &attach->loss_timeout);
	if (!ret)
		ret = get_number(args, "keepalive", RNBD_KEEPALIVE_MS_MIN,
				 RNBD_KEEPALIVE_MS_MAX, &attach->keepalive_ms);
	return ret;
}

static int get_transfer(const struct args *args, struct attach *attach)
{
	const char *mode = args_value(args, "transfer");

	if (mode && strcmp(mode, "zero-copy") && strcmp(mode, "copy"))
		return usage_err("--transfer %s: wanted zero-copy or copy", mode);
	if (mode && !strcmp(mode, "copy"))
		attach->flags |= RNBD_FLAG_COPY;
	return 0;
}

static int get_wishes(const struct args *args, struct attach *attach)
{
	uint64_t slot_size = 0, max_io = 0;
	int ret;

	ret = get_number(args, "queues", 1, RNBD_QUEUES_MAX, &attach->queues);
	if (!ret)
		ret = get_number(args, "poll-queues", 0, RNBD_QUEUES_MAX - 1,
				 &attach->poll_queues);
	if (!ret)
		ret = get_number(args, "depth", 1, RNBD_DEPTH_MAX, &attach->depth);
	if (!ret)
		ret = get_number(args, "ring-slots", RNBD_RING_SLOTS_MIN,
				 RNBD_RING_SLOTS_MAX, &attach->ring_slots);
	if (!ret)
		ret = get_size(args, "slot-size", UINT32_MAX, &slot_size);
	if (!ret)
		ret = get_size(args, "max-io", UINT32_MAX, &max_io);
	if (!ret)
		ret = get_size(args, "pool", UINT64_MAX, &attach->pool_bytes);
	if (!ret)
		ret = get_inline(args, "inline-read", &attach->inline_read);
	if (!ret)
		ret = get_inline(args, "inline-write", &attach->inline_write);
	if (!ret)
		ret = get_recovery(args, attach);
	attach->slot_size = slot_size;
	attach->max_io = max_io;
	if (args_has(args, "read-only"))
		attach->flags |= RNBD_FLAG_READONLY;
	if (args_has(args, "early-release"))
		attach->flags |= RNBD_FLAG_EARLY_RELEASE;
	if (!ret)
		ret = get_transfer(args, attach);
	return ret;
}

static void take_nap(unsigned int ms)
{
	const struct timespec nap = { .tv_nsec = ms * 1000000 };

	nanosleep(&nap, NULL);
}

/* devtmpfs makes the node at once, udev may rename or set rights later. */
static bool wait_for_node(const char *path)
{
	struct stat st;
	int left;

	for (left = NODE_WAIT_MS / NAP_MS; left; left--) {
		if (!stat(path, &st) && S_ISBLK(st.st_mode))
			return true;
		take_nap(NAP_MS);
	}
	return false;
}

static int print_attached(const struct args *args, const struct disk *disk)
{
	char *path = xasprintf("/dev/%s", disk->disk);
	int ret = RNBD_EXIT_OK;

	if (!wait_for_node(path)) {
		err("attached, but %s does not appear; is devtmpfs or udev there?", path);
		ret = RNBD_EXIT_FAIL;
	} else if (args_has(args, "json")) {
		json_print(disk_json(disk));
	} else {
		puts(path);
	}
	free(path);
	return ret;
}

static bool unreachable(int error)
{
	return error == -EHOSTUNREACH || error == -ENETUNREACH ||
	       error == -ETIMEDOUT || error == -ENODEV ||
	       error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* The kernel does not wait for a target that is busy with our former self. */
static int attach_patiently(const struct attach *attach, struct disk *disk)
{
	uint64_t end = now_ms() + TARGET_WAIT_MS;
	int ret;

	while ((ret = rnbd_attach(attach, disk)) == -EBUSY && now_ms() < end)
		take_nap(TARGET_NAP_MS);
	return ret;
}

/* Attach at the first address of the name that answers. */
static int attach_somewhere(struct attach *attach, const char *host,
			    struct disk *disk)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	char numeric[ADDR_SIZE];
	int ret;

	ret = getaddrinfo(host, NULL, &hints, &list);
	if (ret) {
		err("%s", gai_strerror(ret));
		return -ENOENT;
	}
	ret = -ENOENT;
	for (ai = list; ai; ai = ai->ai_next) {
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, numeric,
				sizeof(numeric), NULL, 0, NI_NUMERICHOST))
			continue;
		attach->address = numeric;
		ret = attach_patiently(attach, disk);
		if (!unreachable(ret))
			break;
	}
	freeaddrinfo(list);
	if (ret)
		err("%s", rnbd_error());
	return ret;
}

int cmd_attach(const struct args *args)
{
	const char *host_id = args_value(args, "host-id");
	struct attach attach = { .export = args->operand[1] };
	char host[NI_MAXHOST], where[NI_MAXHOST + 16];
	uint32_t port = RNBD_DEFAULT_PORT;
	uint16_t addr_port;
	struct disk disk;
	int ret;

	if (parse_addr(args->operand[0], host, sizeof(host), &addr_port))
		return usage_err("%s: wanted ADDR, ADDR:PORT or [IPV6]:PORT",
				 args->operand[0]);
	if (addr_port && args_has(args, "port"))
		return usage_err("the port is given twice");
	if (addr_port)
		port = addr_port;
	ret = get_number(args, "port", 1, UINT16_MAX, &port);
	if (!ret)
		ret = get_wishes(args, &attach);
	if (ret)
		return ret;
	if (!export_name_valid(attach.export))
		return usage_err("\"%s\" is no name of an export: 1 to 63 of A-Z a-z 0-9 . _ : -",
				 attach.export);
	if (host_id && parse_uuid(host_id, attach.host_id))
		return usage_err("--host-id %s: not a UUID", host_id);

	attach.port = port;
	if (format_addr(host, port, where, sizeof(where)))
		where[0] = '\0';
	context_set("attach %s at %s", attach.export, where);
	if (!host_id && hostid_get(attach.host_id))
		return RNBD_EXIT_FAIL;

	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = attach_somewhere(&attach, host, &disk) ? RNBD_EXIT_FAIL :
						      print_attached(args, &disk);
	rnbd_close();
	return ret;
}

static int detach_one(const char *name, bool force)
{
	int left = BUSY_WAIT_MS / NAP_MS;
	int ret;

	context_set("detach %s", name);
	while ((ret = rnbd_detach(name, force)) == -EBUSY && left--)
		take_nap(NAP_MS);
	if (!ret)
		return RNBD_EXIT_OK;
	err("%s", rnbd_error());
	return RNBD_EXIT_FAIL;
}

static int detach_all(bool force)
{
	struct disks disks = { };
	int ret = RNBD_EXIT_OK;
	size_t i;

	if (rnbd_list(NULL, &disks)) {
		err("%s", rnbd_error());
		ret = RNBD_EXIT_FAIL;
	}
	for (i = 0; i < disks.nr; i++)
		if (detach_one(disks.disk[i].disk, force))
			ret = RNBD_EXIT_FAIL;
	free(disks.disk);
	return ret;
}

int cmd_detach(const struct args *args)
{
	bool all = args_has(args, "all");
	bool force = args_has(args, "force");
	char name[DISK_NAME_SIZE];
	int ret;

	if (all ? args->nr_operands : !args->nr_operands)
		return usage_err("wanted a disk or --all; usage: rnbd detach DISK | --all");
	if (!all && parse_disk(args->operand[0], name, sizeof(name)))
		return usage_err("%s: not a disk such as rnbd0", args->operand[0]);

	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = all ? detach_all(force) : detach_one(name, force);
	rnbd_close();
	return ret;
}
