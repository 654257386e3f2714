/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_NETLINK_H
#define RNBD_TOOL_NETLINK_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>

#include <rnbd/netlink.h>
#include <rnbd/wire.h>

#include "parse.h"

#define DISK_NAME_SIZE		32
#define STATE_SIZE		32
#define REASON_SIZE		256
#define PORT_NAME_SIZE		256
#define ADDR_SIZE		(INET6_ADDRSTRLEN + IF_NAMESIZE)

/**
 * struct wishes - what an attach asked for
 * @queues: queues that are not polled
 * @poll_queues: besides those
 * @depth: requests per queue
 * @ring_slots: of the control ring
 * @slot_size: bytes of such a slot
 * @pool_bytes: of the delegated pool
 * @max_io: bytes
 * @inline_read: bytes
 * @inline_write: bytes
 * @flags: RNBD_FLAG_*
 */
struct wishes {
	uint32_t queues;
	uint32_t poll_queues;
	uint32_t depth;
	uint32_t ring_slots;
	uint32_t slot_size;
	uint64_t pool_bytes;
	uint32_t max_io;
	uint32_t inline_read;
	uint32_t inline_write;
	uint32_t flags;
};

/**
 * struct disk - what the kernel says about an attached disk
 * @disk: name without /dev/
 * @name: that the administrator gave it, or ""
 * @export: name of the export
 * @address: of the target, numeric
 * @state: of the session
 * @old_state: the one before, if this is an event
 * @reason: why it is not live, "" if it is
 * @last_error: why the last attempt to connect failed
 * @policy: enum rnbd_policy
 * @fast_io_fail: seconds, 0: never
 * @loss_timeout: seconds, 0: never
 * @keepalive_ms: milliseconds
 * @epoch: number of the connection
 * @attempt: attempts since the connection was lost
 * @next_try_ms: milliseconds until the next one
 * @reconnects: connections that were replaced
 * @port: of the target
 * @size: bytes
 * @block_size: logical block in bytes
 * @queues: granted
 * @poll_queues: those of them that are polled
 * @depth: granted, per queue
 * @ring_slots: of the control ring
 * @slot_size: bytes of such a slot
 * @pool_bytes: size of the delegated pool
 * @max_io: largest request in bytes
 * @readonly: nobody can write through this disk
 * @early_release: pool space is used again behind the fence
 * @copy: data go through bounce buffers
 * @authenticated: both ends have proven who they are
 * @host_id: this machine
 * @session_id: this attachment
 * @export_id: the data
 * @attached_ms: milliseconds since the disk appeared
 * @state_ms: milliseconds since @state changed
 * @wishes: what the attach asked for; besides it stands as granted
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
	uint32_t policy;
	uint32_t fast_io_fail;
	uint32_t loss_timeout;
	uint32_t keepalive_ms;
	uint32_t epoch;
	uint32_t attempt;
	uint32_t next_try_ms;
	uint64_t reconnects;
	uint16_t port;
	uint64_t size;
	uint32_t block_size;
	uint32_t queues;
	uint32_t poll_queues;
	uint32_t depth;
	uint32_t ring_slots;
	uint32_t slot_size;
	uint64_t pool_bytes;
	uint32_t max_io;
	bool readonly;
	bool early_release;
	bool copy;
	bool authenticated;
	uint8_t host_id[UUID_SIZE];
	uint8_t session_id[UUID_SIZE];
	uint8_t export_id[UUID_SIZE];
	uint64_t attached_ms;
	uint64_t state_ms;
	struct wishes wishes;
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
 * struct session - what the kernel says about a session of the target
 * @serial: its number
 * @host_id: the client machine
 * @session_id: the attachment, the same when the client connects again
 * @export: name of the export, "" before the login
 * @port: name of the port in configfs
 * @address: of the client, numeric
 * @state: of the session
 * @old_state: the one before, if this is an event
 * @reason: why it was refused or closed, otherwise ""
 * @epoch: number of the client's connection
 * @was_live: it has been live; if not, the next four are 0
 * @seconds: since it became live
 * @queues: granted
 * @depth: granted, per queue
 * @pool_bytes: size of the delegated pool
 * @requests: answered
 * @read_bytes: read with success
 * @write_bytes: written with success
 */
struct session {
	uint32_t serial;
	uint8_t host_id[UUID_SIZE];
	uint8_t session_id[UUID_SIZE];
	char export[RNBD_EXPORT_NAME_SIZE];
	char port[PORT_NAME_SIZE];
	char address[ADDR_SIZE];
	char state[STATE_SIZE];
	char old_state[STATE_SIZE];
	char reason[REASON_SIZE];
	uint32_t epoch;
	bool was_live;
	uint64_t seconds;
	uint32_t queues;
	uint32_t depth;
	uint64_t pool_bytes;
	uint64_t requests;
	uint64_t read_bytes;
	uint64_t write_bytes;
};

/**
 * struct sessions - sessions that grow in number
 * @session: the sessions
 * @nr: how many
 */
struct sessions {
	struct session *session;
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
 * @name: for the disk, or NULL
 * @host_id: identity of this machine
 * @port: of the target
 * @queues: 0 leaves it to the kernel, and so below
 * @depth: requests per queue
 * @ring_slots: of the control ring
 * @slot_size: bytes
 * @pool_bytes: of the delegated pool
 * @max_io: bytes
 * @policy: enum rnbd_policy
 * @fast_io_fail: seconds, 0: never
 * @loss_timeout: seconds, 0: never; ATTACH_DEFAULT leaves it to the kernel
 * @keepalive_ms: milliseconds
 * @poll_queues: besides
 * @inline_read: bytes, or ATTACH_DEFAULT
 * @inline_write: bytes, or ATTACH_DEFAULT
 * @flags: RNBD_FLAG_*
 * @secret: of this machine, or NULL
 */
struct attach {
	const char *address;
	const char *export;
	const char *name;
	uint8_t host_id[UUID_SIZE];
	uint16_t port;
	uint32_t queues;
	uint32_t depth;
	uint32_t ring_slots;
	uint32_t slot_size;
	uint64_t pool_bytes;
	uint32_t max_io;
	uint32_t policy;
	uint32_t fast_io_fail;
	uint32_t loss_timeout;
	uint32_t keepalive_ms;
	uint32_t poll_queues;
	uint32_t inline_read;
	uint32_t inline_write;
	uint32_t flags;
	const uint8_t *secret;
};

#define ATTACH_DEFAULT	UINT32_MAX

int rnbd_open(void);
int rnbd_open_target(void);
void rnbd_close(void);
int rnbd_attach(const struct attach *attach, struct disk *disk);
int rnbd_detach(const char *name, bool force);
int rnbd_list(const char *name, struct disks *disks);
int rnbd_discover(const char *address, uint16_t port, const uint8_t host_id[UUID_SIZE],
		  const uint8_t *secret, struct exports *exports);
int rnbd_session_list(struct sessions *sessions);
int rnbd_parse_disk(struct nlmsghdr *hdr, struct disk *disk);
int rnbd_parse_session(struct nlmsghdr *hdr, struct session *session);
const char *rnbd_error(void);

#endif /* RNBD_TOOL_NETLINK_H */
