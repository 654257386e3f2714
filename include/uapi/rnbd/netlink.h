/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR MIT) */
/*
 * Generic netlink family "rnbd": attach, detach and list disks of the client.
 *
 * RNBD_CMD_ATTACH	needs CAP_NET_ADMIN. Takes ADDR and EXPORT and HOST_ID,
 *			and optionally NAME, PORT and the wishes QUEUES, DEPTH,
 *			RING_SLOTS, SLOT_SIZE, POOL_BYTES, MAX_IO, FLAGS,
 *			POLICY, FAST_IO_FAIL, LOSS_TIMEOUT, KEEPALIVE_MS. With
 *			SECRET, host and target prove to each other that they
 *			know it, at every login; no message ever tells it.
 *			Returns when the disk exists, with one message as from
 *			RNBD_CMD_LIST that says what was granted. Fails with
 *			EBUSY while the target has not ended yet what this host
 *			had there before it was started anew: ask again a little
 *			later; with EEXIST if another disk has that NAME; with
 *			ESHUTDOWN while the module is unloaded.
 * RNBD_CMD_DETACH	needs CAP_NET_ADMIN. Takes DISK; fails with EBUSY while
 *			the disk is open unless RNBD_FLAG_FORCE is in FLAGS.
 * RNBD_CMD_LIST	as a dump: one message per disk; otherwise takes DISK
 *			and returns that one. HOST_ID and SESSION_ID are for
 *			those with CAP_NET_ADMIN.
 * RNBD_CMD_DISCOVER	as a dump; needs CAP_NET_ADMIN. Takes ADDR and HOST_ID, and
 *			optionally PORT and SECRET. Asks a target which exports this host
 *			may attach there; begins when it has answered, with any
 *			number of messages that each hold EXPORTS with one
 *			RNBD_ATTR_EXPORT_ITEM at least. None: it may attach none.
 * RNBD_CMD_EVENT	sent to the multicast group "events" when the state of a
 *			disk's session changes, with one message as from
 *			RNBD_CMD_LIST whose STATE is the new state, and
 *			OLD_STATE. What else it says may be newer than that
 *			change. The events of one disk come in order. One that
 *			cannot be delivered is lost for its listener, whose
 *			socket then reports ENOBUFS. To listen needs
 *			CAP_NET_ADMIN.
 *
 * Every error carries an extended acknowledgment with a text for people, but for
 * what generic netlink refuses by itself: EPERM, EOPNOTSUPP for a command or a
 * dump that does not exist, EINVAL for a message without room for its header.
 */
#ifndef _UAPI_RNBD_NETLINK_H
#define _UAPI_RNBD_NETLINK_H

#define RNBD_GENL_NAME		"rnbd"
#define RNBD_GENL_VERSION	1
#define RNBD_GENL_EVENTS	"events"	/* multicast group */

enum rnbd_genl_cmd {
	RNBD_CMD_UNSPEC,
	RNBD_CMD_ATTACH,
	RNBD_CMD_DETACH,
	RNBD_CMD_LIST,
	RNBD_CMD_EVENT,
	RNBD_CMD_DISCOVER,

	__RNBD_CMD_MAX
};

#define RNBD_CMD_MAX (__RNBD_CMD_MAX - 1)

/**
 * enum rnbd_genl_attr - attributes
 * @RNBD_ATTR_UNSPEC: not used
 * @RNBD_ATTR_PAD: padding of 64-bit attributes
 * @RNBD_ATTR_DISK: string, name of the disk without /dev/
 * @RNBD_ATTR_ADDR: string, numeric IPv4 or IPv6 address of the target
 * @RNBD_ATTR_PORT: u16, not 0, default RNBD_DEFAULT_PORT (host byte order)
 * @RNBD_ATTR_EXPORT: string, name of the export, at most 63 bytes
 * @RNBD_ATTR_HOST_ID: 16 bytes, UUID of this machine
 * @RNBD_ATTR_SESSION_ID: 16 bytes, UUID of the session (out)
 * @RNBD_ATTR_EXPORT_ID: 16 bytes, UUID of the export (out)
 * @RNBD_ATTR_QUEUES: u32
 * @RNBD_ATTR_DEPTH: u32, requests in flight on one queue
 * @RNBD_ATTR_RING_SLOTS: u32
 * @RNBD_ATTR_SLOT_SIZE: u32, bytes
 * @RNBD_ATTR_POOL_BYTES: u64
 * @RNBD_ATTR_MAX_IO: u32, bytes
 * @RNBD_ATTR_FLAGS: u32, RNBD_FLAG_*
 * @RNBD_ATTR_STATE: string, state of the session (out)
 * @RNBD_ATTR_SIZE: u64, bytes (out)
 * @RNBD_ATTR_BLOCK_SIZE: u32, logical block in bytes (out)
 * @RNBD_ATTR_REASON: string, why the session left the state live (out)
 * @RNBD_ATTR_POLICY: u32, enum rnbd_policy
 * @RNBD_ATTR_FAST_IO_FAIL: u32, seconds without a connection after which I/O
 *	fails, 0: never
 * @RNBD_ATTR_LOSS_TIMEOUT: u32, seconds without a connection after which
 *	nobody tries to connect any more, 0: never
 * @RNBD_ATTR_KEEPALIVE_MS: u32, milliseconds between signs of life
 * @RNBD_ATTR_EPOCH: u32, number of the connection, failed attempts included (out)
 * @RNBD_ATTR_ATTEMPT: u32, attempts to connect since the loss (out)
 * @RNBD_ATTR_NEXT_TRY_MS: u32, milliseconds until the next attempt (out)
 * @RNBD_ATTR_LAST_ERROR: string, why the last attempt failed (out)
 * @RNBD_ATTR_RECONNECTS: u64, connections that were replaced (out)
 * @RNBD_ATTR_OLD_STATE: string, state before; in events (out)
 * @RNBD_ATTR_INLINE_READ: u32, bytes up to which a read's data come in the reply
 * @RNBD_ATTR_INLINE_WRITE: u32, bytes up to which a write's data go in the request
 * @RNBD_ATTR_POLL_QUEUES: u32, polled queues: besides RNBD_ATTR_QUEUES when
 *	it is asked for, some of them when it is told
 * @RNBD_ATTR_NAME: string, name that the administrator gave the disk: letters,
 *	digits, '.', '_', ':' and '-', at most RNBD_NAME_SIZE - 1 of them and no dot
 *	first; no two disks have the same, and it is no rnbd<N>, number or UUID
 * @RNBD_ATTR_WISHES: nest of what the attach asked for, as it stood in the request
 *	or by default: QUEUES, DEPTH, RING_SLOTS, SLOT_SIZE, POOL_BYTES, MAX_IO,
 *	FLAGS, INLINE_READ, INLINE_WRITE, POLL_QUEUES (out)
 * @RNBD_ATTR_ATTACHED_MS: u64, milliseconds since the disk appeared (out)
 * @RNBD_ATTR_STATE_MS: u64, milliseconds since STATE changed (out)
 * @RNBD_ATTR_EXPORTS: nest of any number of RNBD_ATTR_EXPORT_ITEM (out)
 * @RNBD_ATTR_EXPORT_ITEM: nest of EXPORT, EXPORT_ID, SIZE, BLOCK_SIZE and FLAGS,
 *	of which RNBD_FLAG_READONLY is told (out)
 * @RNBD_ATTR_SECRET: 32 bytes, what this host and the target alone know (in)
 * @RNBD_ATTR_AUTHENTICATED: u32, 1 if both ends have proven that they know it,
 *	otherwise 0 (out)
 */
enum rnbd_genl_attr {
	RNBD_ATTR_UNSPEC,
	RNBD_ATTR_PAD,
	RNBD_ATTR_DISK,
	RNBD_ATTR_ADDR,
	RNBD_ATTR_PORT,
	RNBD_ATTR_EXPORT,
	RNBD_ATTR_HOST_ID,
	RNBD_ATTR_SESSION_ID,
	RNBD_ATTR_EXPORT_ID,
	RNBD_ATTR_QUEUES,
	RNBD_ATTR_DEPTH,
	RNBD_ATTR_RING_SLOTS,
	RNBD_ATTR_SLOT_SIZE,
	RNBD_ATTR_POOL_BYTES,
	RNBD_ATTR_MAX_IO,
	RNBD_ATTR_FLAGS,
	RNBD_ATTR_STATE,
	RNBD_ATTR_SIZE,
	RNBD_ATTR_BLOCK_SIZE,
	RNBD_ATTR_REASON,
	RNBD_ATTR_POLICY,
	RNBD_ATTR_FAST_IO_FAIL,
	RNBD_ATTR_LOSS_TIMEOUT,
	RNBD_ATTR_KEEPALIVE_MS,
	RNBD_ATTR_EPOCH,
	RNBD_ATTR_ATTEMPT,
	RNBD_ATTR_NEXT_TRY_MS,
	RNBD_ATTR_LAST_ERROR,
	RNBD_ATTR_RECONNECTS,
	RNBD_ATTR_OLD_STATE,
	RNBD_ATTR_INLINE_READ,
	RNBD_ATTR_INLINE_WRITE,
	RNBD_ATTR_POLL_QUEUES,
	RNBD_ATTR_NAME,
	RNBD_ATTR_WISHES,
	RNBD_ATTR_ATTACHED_MS,
	RNBD_ATTR_STATE_MS,
	RNBD_ATTR_EXPORTS,
	RNBD_ATTR_EXPORT_ITEM,
	RNBD_ATTR_SECRET,
	RNBD_ATTR_AUTHENTICATED,

	/* private: */
	__RNBD_ATTR_MAX
};

/* Bytes of a disk's name, with the NUL at its end */
#define RNBD_NAME_SIZE	64

/* Largest inline data that may be asked for, bytes */
#define RNBD_INLINE_MAX	61440

#define RNBD_ATTR_MAX (__RNBD_ATTR_MAX - 1)

/**
 * enum rnbd_policy - what I/O does while there is no connection
 * @RNBD_POLICY_QUEUE: it waits
 * @RNBD_POLICY_FAIL: it fails
 */
enum rnbd_policy {
	RNBD_POLICY_QUEUE,
	RNBD_POLICY_FAIL,
};

#define RNBD_FLAG_READONLY	0x1u	/* attach read-only */
#define RNBD_FLAG_FORCE		0x2u	/* detach although it is open */
#define RNBD_FLAG_EARLY_RELEASE	0x4u	/* give pool space out again behind the fence */
#define RNBD_FLAG_COPY		0x8u	/* data go through bounce buffers */

#endif /* _UAPI_RNBD_NETLINK_H */
