/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_CLIENT_H
#define RNBD_TOOL_NETLINK_CLIENT_H

#include <rnbd/netlink.h>
#include <rnbd/wire.h>

#include "netlink.h"
#include "options.h"

/**
 * struct disk - attached disk as the kernel reports it
 * @disk: name of the disk without /dev/
 * @name: name given by the administrator, or ""
 * @export: name of the export
 * @address: numeric address of the target
 * @state: state of the disk
 * @old_state: previous state; set in events only
 * @reason: reason why the disk last lost its connection or attachment, or was deactivated; ""
 *	while it is live or connects for the first time
 * @last_error: message of the latest failed attempt to connect or attach, or the same text as
 *	@reason if no attempt has failed since then; "" if @reason is ""
 * @epoch: number of the session's connection: the client numbers its attempts to connect, so
 *	failed attempts count, too
 * @attempt: number of attempts to connect, or to attach again, since the disk left the state
 *	live
 * @next_try_ms: milliseconds until the next attempt
 * @reconnects: number of connections of the session that were replaced
 * @port: port of the target
 * @size: size in bytes
 * @block_size: logical block size in bytes
 * @authenticated: true if client and target have authenticated each other
 * @host_id: host id of the session; the null UUID if the kernel hides it from this user
 * @session_id: UUID of the session; the null UUID if the kernel hides it from this user
 * @export_id: UUID of the export, which identifies the data
 * @session: number of the session
 * @session_state: state of the session's connection
 * @pool_used: bytes of the session's pool that requests use
 * @pool_size: bytes of the session's pool that the target has granted
 * @pool_requested: total pool size in bytes that the session last requested after the login, 0
 *	before the first request
 * @pool_disk_share: pool bytes that the requests of one disk may use while other disks of the
 *	session need pool space
 * @pool_grants: number of pool segments granted after the login
 * @pool_releases: number of pool segments that the session has returned
 * @pool_reclaims: number of pool segments that the target has asked the session to return
 * @attached_ms: milliseconds since the disk was created
 * @state_ms: milliseconds since @state changed
 * @granted: values of the options that the target or the kernel has granted
 * @requested: values of the options that the attach has requested; unknown for the options
 *	whose granted value always equals the requested value
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
	uint64_t pool_size;
	uint64_t pool_requested;
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
 * struct disks - growing array of disks
 * @disk: array
 * @nr: number of disks
 */
struct disks {
	struct disk *disk;
	size_t nr;
};

/**
 * struct export - export of a target, as discovered
 * @name: name of the export
 * @uuid: UUID of the export, which identifies the data
 * @size: size in bytes
 * @block_size: logical block size in bytes
 * @readonly: true if the host cannot write to the export
 */
struct export {
	char name[RNBD_EXPORT_NAME_SIZE];
	uint8_t uuid[UUID_SIZE];
	uint64_t size;
	uint32_t block_size;
	bool readonly;
};

/**
 * struct exports - growing array of exports
 * @export: array
 * @nr: number of exports
 */
struct exports {
	struct export *export;
	size_t nr;
};

/**
 * struct attach - parameters of an attach
 * @address: numeric address of the target
 * @export: name of the export
 * @host_id: UUID of this machine
 * @port: port of the target
 * @options: options given by the administrator; the kernel uses its defaults for options that
 *	are unknown
 * @secret: secret of this machine, RNBD_SECRET_SIZE bytes, or NULL
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
