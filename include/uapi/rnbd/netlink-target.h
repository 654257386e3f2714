/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR MIT) */
/*
 * Generic netlink family "rnbd-target": who is attached to this target.
 *
 * RNBDT_CMD_GET_SESSION as a dump, without attributes: one message per
 *			session, closing ones included, in the order of SERIAL.
 * RNBDT_CMD_EVENT	sent to the multicast group "events" when the state of a
 *			session changes, with one message as from
 *			RNBDT_CMD_GET_SESSION whose STATE is the new state, and
 *			OLD_STATE. What else it says may be newer than that
 *			change. The events of one session come in order. One
 *			that cannot be delivered is lost for its listener, whose
 *			socket then reports ENOBUFS.
 *
 * Both need CAP_NET_ADMIN in the first user namespace: who knows the ids of a
 * host and its session can pretend to be that session. The target is configured in
 * /sys/kernel/config/rnbd.
 */
#ifndef _UAPI_RNBD_NETLINK_TARGET_H
#define _UAPI_RNBD_NETLINK_TARGET_H

#define RNBDT_GENL_NAME		"rnbd-target"
#define RNBDT_GENL_VERSION	1
#define RNBDT_GENL_EVENTS	"events"	/* multicast group */

enum rnbdt_genl_cmd {
	RNBDT_CMD_UNSPEC,
	RNBDT_CMD_GET_SESSION,
	RNBDT_CMD_EVENT,

	__RNBDT_CMD_MAX
};

#define RNBDT_CMD_MAX (__RNBDT_CMD_MAX - 1)

/**
 * enum rnbdt_genl_attr - attributes, all of them out
 * @RNBDT_ATTR_UNSPEC: not used
 * @RNBDT_ATTR_PAD: padding of 64-bit attributes
 * @RNBDT_ATTR_SERIAL: u32, number of the session, as in the kernel's log
 * @RNBDT_ATTR_HOST_ID: 16 bytes, UUID of the client machine
 * @RNBDT_ATTR_SESSION_ID: 16 bytes, UUID of the attachment; it stays the same
 *	when the client connects again, which makes a new session with a higher
 *	EPOCH
 * @RNBDT_ATTR_EXPORT: string, name of the export that the client asked for;
 *	not there before the login
 * @RNBDT_ATTR_PORT: string, name of the port's directory in configfs
 * @RNBDT_ATTR_ADDR: string, numeric IPv4 or IPv6 address of the client
 * @RNBDT_ATTR_STATE: string: connecting, proving (that the client knows the
 *	secret of its host), login, refused, listing (the client is told what it
 *	may attach), live, closing, dead
 * @RNBDT_ATTR_OLD_STATE: string, state before; in events
 * @RNBDT_ATTR_REASON: string, why it was refused or closed
 * @RNBDT_ATTR_EPOCH: u32, number of the client's connection
 * @RNBDT_ATTR_QUEUES: u32, granted; this and the next three are there once it
 *	has been live
 * @RNBDT_ATTR_DEPTH: u32, granted requests in flight on one queue
 * @RNBDT_ATTR_POOL_BYTES: u64, size of the delegated pool
 * @RNBDT_ATTR_SECONDS: u64, since it became live
 * @RNBDT_ATTR_REQUESTS: u64, requests answered
 * @RNBDT_ATTR_READ_BYTES: u64, read with success
 * @RNBDT_ATTR_WRITE_BYTES: u64, written with success
 */
enum rnbdt_genl_attr {
	RNBDT_ATTR_UNSPEC,
	RNBDT_ATTR_PAD,
	RNBDT_ATTR_SERIAL,
	RNBDT_ATTR_HOST_ID,
	RNBDT_ATTR_SESSION_ID,
	RNBDT_ATTR_EXPORT,
	RNBDT_ATTR_PORT,
	RNBDT_ATTR_ADDR,
	RNBDT_ATTR_STATE,
	RNBDT_ATTR_OLD_STATE,
	RNBDT_ATTR_REASON,
	RNBDT_ATTR_EPOCH,
	RNBDT_ATTR_QUEUES,
	RNBDT_ATTR_DEPTH,
	RNBDT_ATTR_POOL_BYTES,
	RNBDT_ATTR_SECONDS,
	RNBDT_ATTR_REQUESTS,
	RNBDT_ATTR_READ_BYTES,
	RNBDT_ATTR_WRITE_BYTES,

	/* private: */
	__RNBDT_ATTR_MAX
};

#define RNBDT_ATTR_MAX (__RNBDT_ATTR_MAX - 1)

#endif /* _UAPI_RNBD_NETLINK_TARGET_H */
