/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_CLIENT_H
#define RNBD_TOOL_NETLINK_CLIENT_H

#include <rnbd/netlink.h>
#include <rnbd/wire.h>

#include "netlink.h"
#include "options.h"

/**
 * struct disk - what the kernel says about an attached disk
 * @disk: name without /dev/
 * @name: that the administrator gave it, or ""
 * @export: name of the export
 * @address: of the target, numeric
 * @state: of the disk
 * @old_state: the one before, if this is an event
 * @reason: why it is not live, "" if it is
 * @last_error: why the last attempt to connect failed
 * @epoch: number of the connection
 * @attempt: attempts since the connection was lost
 * @next_try_ms: milliseconds until the next one
 * @reconnects: connections that were replaced
 * @port: of the target
 * @size: bytes
 * @block_size: logical block in bytes
 * @authenticated: both ends have proven who they are
 * @host_id: this machine
 * @session_id: UUID of the session
 * @export_id: the data
 * @session: number of the session
 * @session_state: state of its connection
 * @pool_used: bytes of its pool that requests have
 * @pool_held: bytes of its pool that the target has granted
 * @pool_wanted: bytes that it has requested in all, 0 if it has not
 * @pool_disk_share: bytes that the requests of one disk may have while others need some
 * @pool_grants: segments of its pool granted after the login
 * @pool_releases: segments that it has returned
 * @pool_reclaims: segments that the target has asked for
 * @attached_ms: milliseconds since the disk appeared
 * @state_ms: milliseconds since @state changed
 * @granted: options as the target or the kernel granted them
 * @requested: options that the attach asked for, as far as they may differ
 */
struct disk {
	char disk[DISK_NAME_SIZE];
	char name[RNBD_NAME_SIZE];
	char export[RNBD_EXPORT_NAME_SIZE];
	char address[ADDR_SIZE];
	char state[STATE_SIZE];
	char old_state[STATE_SIZE];
	char reason[REASON_SIZE];
	char last_error[REASON_SIZE];
	uint32_t epoch;
	uint32_t attempt;
	uint32_t next_try_ms;
	uint64_t reconnects;
	uint16_t port;
	uint64_t size;
	uint32_t block_size;
	bool authenticated;
	uint8_t host_id[UUID_SIZE];
	uint8_t session_id[UUID_SIZE];
	uint8_t export_id[UUID_SIZE];
	uint32_t session;
	char session_state[STATE_SIZE];
	uint64_t pool_used;
	uint64_t pool_held;
	uint64_t pool_wanted;
	uint64_t pool_disk_share;
	uint64_t pool_grants;
	uint64_t pool_releases;
	uint64_t pool_reclaims;
	uint64_t attached_ms;
	uint64_t state_ms;
	struct options granted;
	struct options requested;
};

/**
 * struct disks - disks that grow in number
 * @disk: the disks
 * @nr: how many
 */
struct disks {
	struct disk *disk;
	size_t nr;
};

/**
 * struct export - an export of another machine
 * @name: its name
 * @uuid: the data
 * @size: bytes
 * @block_size: logical block in bytes
 * @readonly: nobody can write
 */
struct export {
	char name[RNBD_EXPORT_NAME_SIZE];
	uint8_t uuid[UUID_SIZE];
	uint64_t size;
	uint32_t block_size;
	bool readonly;
};

/**
 * struct exports - exports that grow in number
 * @export: the exports
 * @nr: how many
 */
struct exports {
	struct export *export;
	size_t nr;
};

/**
 * struct attach - what an attach asks for
 * @address: numeric
 * @export: name
 * @host_id: identity of this machine
 * @port: of the target
 * @options: those that were given; the kernel has a default for each other one
 * @secret: of this machine, or NULL
 */
struct attach {
	const char *address;
	const char *export;
	uint8_t host_id[UUID_SIZE];
	uint16_t port;
	struct options options;
	const uint8_t *secret;
};

int rnbd_attach(const struct attach *attach, struct disk *disk);
int rnbd_detach(const char *name, bool force);
int rnbd_set_secret(const char *name, const uint8_t *secret);
int rnbd_list(const char *name, struct disks *disks);
int rnbd_discover(const char *address, uint16_t port, const uint8_t host_id[UUID_SIZE],
		  const uint8_t *secret, struct exports *exports);
int rnbd_parse_disk(struct nlmsghdr *hdr, struct disk *disk);

#endif /* RNBD_TOOL_NETLINK_CLIENT_H */
