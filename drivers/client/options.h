/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of an attach.
 *
 * nlparse.c fills struct rnbdc_options from a command. The session and the disk each copy
 * their part. The secret is not copied: rnbdc_session.auth holds a key made from it.
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
 * @addr: address of the target as text
 * @host_id: UUID of this machine
 * @queues: requested number of queues, without polled queues
 * @poll_queues: requested number of polled queues, whose submitters poll for completions
 * @depth: requested number of requests that one disk may have in flight on a queue
 * @ring_slots: largest number of slots of a control ring
 * @slot_size: bytes of a slot
 * @pool_bytes: requested ceiling of the pool, in bytes
 * @pool_floor: requested floor of the pool, in bytes; 0 for a pool of fixed size
 * @max_io: requested size of the largest request, in bytes
 * @keepalive_ms: requested milliseconds between keep-alives
 * @early_release: initial value of rnbdc_session.early_release
 * @copy: data are copied through bounce buffers
 * @new_session: no other disk may use the session
 * @inline_read: requested bytes of the largest read whose data the reply frame carries
 * @inline_write: requested bytes of the largest write whose data the request frame carries
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

/* Extra milliseconds for a busy target to notice that keep-alives are missing. */
#define RNBDC_LOSS_MARGIN_MS	1000

/**
 * struct rnbdc_disk_options - options of a disk
 * @export: name of the export
 * @name: name that the administrator gave the disk, or ""
 * @readonly: the disk is attached read-only
 * @fail_policy: while the disk is not attached, I/O fails at once instead of waiting, except
 *	writes that were already sent
 * @fast_io_fail: seconds without an attachment after which I/O fails, except writes that
 *	were already sent; 0: I/O waits without this limit
 * @loss_timeout: seconds without an attachment after which the disk fails and the client no
 *	longer reconnects it; rnbdc_loss_timeout() and rnbdc_silent_since() can prolong the
 *	time; 0: the client reconnects without a time limit
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
 * @given: options that the user has given explicitly: one bit per row of
 *	rnbdc_option_table[], by index
 * @secret: secret that authenticates this host, RNBD_SECRET_SIZE bytes, or NULL; owned by
 *	the caller of the attach
 * @abort: state through which another task requests the early end of the attach (abort.c);
 *	owned by the caller of the attach
 *
 * Each option has a row in rnbdc_option_table[]. The scope of the row tells which struct has
 * the option: @sess or @disk. Address, export, host id, secret and @abort have no row,
 * because they identify or authenticate the ends of the session, or end the attach. The
 * copies in session and disk are constant, except an option whose row has a writable file in
 * sysfs and no granted member.
 */
struct rnbdc_options {
	struct rnbdc_session_options sess;
	struct rnbdc_disk_options disk;
	u32 given;
	const u8 *secret;
	struct rnbdc_abort *abort;
};

#endif /* RNBDC_OPTIONS_H */
