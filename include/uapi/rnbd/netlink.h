/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR MIT) */
/*
 * Generic netlink family "rnbd": attach, detach and list disks of the client.
 *
 * RNBD_CMD_ATTACH	needs CAP_SYS_ADMIN. Takes ADDR and EXPORT and HOST_ID,
 *			and optionally PORT and the wishes QUEUES, DEPTH,
 *			RING_SLOTS, SLOT_SIZE, POOL_BYTES, MAX_IO, FLAGS.
 *			Returns when the disk exists, with one message as from
 *			RNBD_CMD_LIST that says what was granted.
 * RNBD_CMD_DETACH	needs CAP_SYS_ADMIN. Takes DISK; fails with EBUSY while
 *			the disk is open unless RNBD_FLAG_FORCE is in FLAGS.
 * RNBD_CMD_LIST	as a dump: one message per disk; otherwise takes DISK
 *			and returns that one.
 *
 * Every error carries an extended acknowledgment with a text for people.
 */
#ifndef _UAPI_RNBD_NETLINK_H
#define _UAPI_RNBD_NETLINK_H

#define RNBD_GENL_NAME		"rnbd"
#define RNBD_GENL_VERSION	1

enum rnbd_genl_cmd {
	RNBD_CMD_UNSPEC,
	RNBD_CMD_ATTACH,
	RNBD_CMD_DETACH,
	RNBD_CMD_LIST,

	__RNBD_CMD_MAX
};

#define RNBD_CMD_MAX (__RNBD_CMD_MAX - 1)

/**
 * enum rnbd_genl_attr - attributes
 * @RNBD_ATTR_UNSPEC: not used
 * @RNBD_ATTR_PAD: padding of 64-bit attributes
 * @RNBD_ATTR_DISK: string, name of the disk without /dev/
 * @RNBD_ATTR_ADDR: string, numeric IPv4 or IPv6 address of the target
 * @RNBD_ATTR_PORT: u16, default RNBD_DEFAULT_PORT (host byte order)
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

	/* private: */
	__RNBD_ATTR_MAX
};

#define RNBD_ATTR_MAX (__RNBD_ATTR_MAX - 1)

#define RNBD_FLAG_READONLY	0x1u	/* attach read-only */
#define RNBD_FLAG_FORCE		0x2u	/* detach although it is open */
#define RNBD_FLAG_EARLY_RELEASE	0x4u	/* give pool space out again behind the fence */

#endif /* _UAPI_RNBD_NETLINK_H */
