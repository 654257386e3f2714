/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of an attach.
 *
 * nlparse.c fills the options from a command. Session and disk have constant copies of
 * their parts. The secret is replaced by rnbdc_session.auth.
 */
#ifndef RNBDC_OPTIONS_H
#define RNBDC_OPTIONS_H

#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/socket.h>
#include <linux/uuid.h>
#include <rnbd/netlink.h>

struct rnbdc_abort;

/**
 * struct rnbdc_session_options - options of a session
 * @dst: address and port of the target
 * @addr: the address as text
 * @host_id: UUID of this machine
 * @queues: requested queues
 * @poll_queues: requested queues, in addition, whose submitters poll for completions
 * @depth: requested requests in flight per queue
 * @ring_slots: slots of a control ring
 * @slot_size: bytes of a slot
 * @pool_bytes: requested bytes of the pool
 * @pool_floor: requested bytes that the pool has at any time, 0: all of it
 * @max_io: requested bytes of one request
 * @keepalive_ms: requested milliseconds between keep-alives
 * @early_release: initial value of rnbdc_session.early_release
 * @copy: data go through bounce buffers
 * @new_session: no other disk uses the session
 * @inline_read: requested limit of reads whose data the reply carries, in bytes
 * @inline_write: requested limit of writes whose data the request carries, in bytes
 */
struct rnbdc_session_options {
	struct sockaddr_storage dst;
	char addr[INET6_ADDRSTRLEN];
	u8 host_id[UUID_SIZE];
	u32 queues;
	u32 poll_queues;
	u32 depth;
	u32 ring_slots;
	u32 slot_size;
	u64 pool_bytes;
	u64 pool_floor;
	u32 max_io;
	u32 keepalive_ms;
	bool early_release;
	bool copy;
	bool new_session;
	u32 inline_read;
	u32 inline_write;
};

/* Milliseconds for a target that is busy when a keep-alive is overdue. */
#define RNBDC_LOSS_MARGIN_MS	1000

/**
 * struct rnbdc_disk_options - options of a disk
 * @export: name of the export
 * @name: name that the administrator gave the disk, or ""
 * @readonly: attach read-only
 * @fail_policy: without a connection I/O fails at once instead of waiting
 * @fast_io_fail: seconds without a connection after which I/O fails, 0: never
 * @loss_timeout: seconds without a connection after which the client no longer
 *	reconnects, 0: never
 */
struct rnbdc_disk_options {
	char export[RNBD_EXPORT_NAME_SIZE];
	char name[RNBD_NAME_SIZE];
	bool readonly;
	bool fail_policy;
	u32 fast_io_fail;
	u32 loss_timeout;
};

/**
 * struct rnbdc_options - options of one attach
 * @sess: options of the session
 * @disk: options of the disk
 * @given: bits of the rows of the table whose options were given explicitly
 * @secret: RNBD_SECRET_SIZE bytes that authenticate this host, or NULL; the
 *	caller's, a session keeps them in its key
 * @abort: request to end the attach early; the caller's, a session does not keep it
 *
 * Each option has a row in rnbdc_option_table[], whose scope tells which of the two
 * structs it is in. Address, export, host id, secret and @abort have none: they identify
 * and authenticate the ends of the session, or end its attach. All are constant once
 * session and disk are allocated, unless the row allows changes.
 */
struct rnbdc_options {
	struct rnbdc_session_options sess;
	struct rnbdc_disk_options disk;
	u32 given;
	const u8 *secret;
	struct rnbdc_abort *abort;
};

#endif /* RNBDC_OPTIONS_H */
