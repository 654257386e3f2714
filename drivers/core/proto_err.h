/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The protocol errors: the ways in which a message of a peer can be wrong.
 */
#ifndef RNBD_CORE_PROTO_ERR_H
#define RNBD_CORE_PROTO_ERR_H

/**
 * enum rnbd_proto_err - what is wrong with a message
 *
 * Kept apart from enum rnbd_status: a protocol error describes bytes, never travels,
 * and ends the connection; a status is a valid answer.
 *
 * @RNBD_PERR_NONE: nothing is wrong
 * @RNBD_PERR_SHORT: shorter than its header or entries need
 * @RNBD_PERR_LONG: bytes after the last entry
 * @RNBD_PERR_MAGIC: not rnbd at all
 * @RNBD_PERR_VERSION: another version of the protocol
 * @RNBD_PERR_TYPE: unknown frame type, or not at this time
 * @RNBD_PERR_RESERVED: reserved bits or bytes are set
 * @RNBD_PERR_COUNT: number of entries does not fit
 * @RNBD_PERR_SEQ: not the next frame
 * @RNBD_PERR_EPOCH: frame of another attempt, or impossible epoch and attempt
 * @RNBD_PERR_CREDITS: more credits than slots
 * @RNBD_PERR_GEOMETRY: slots, slot size, queues or depth out of range
 * @RNBD_PERR_NAME: export name empty, unterminated or unprintable
 * @RNBD_PERR_OP: unknown or unsupported operation
 * @RNBD_PERR_FLAGS: flags that the operation does not have
 * @RNBD_PERR_TAG: out of range, in use, or not in use
 * @RNBD_PERR_LENGTH: zero, unaligned, too long, or not as requested
 * @RNBD_PERR_OFFSET: unaligned or not within the export
 * @RNBD_PERR_EXTENT: pool space missing, out of range or overlapping
 * @RNBD_PERR_STATUS: unknown status
 * @RNBD_PERR_LIMITS: absurd properties in a login reply
 * @RNBD_PERR_IDENTITY: host or session id is zero
 * @RNBD_PERR_HANDLE: no attachment can have this handle, or no segment this generation
 * @RNBD_PERR_RATE: frames come faster than they may; no decoder says so, nor the
 *	next ones
 * @RNBD_PERR_MESSAGE: a message that is no frame, such as one with immediate data
 * @RNBD_PERR_ACCESS: the device refused an access to memory
 */
enum rnbd_proto_err {
	RNBD_PERR_NONE = 0,
	RNBD_PERR_SHORT,
	RNBD_PERR_LONG,
	RNBD_PERR_MAGIC,
	RNBD_PERR_VERSION,
	RNBD_PERR_TYPE,
	RNBD_PERR_RESERVED,
	RNBD_PERR_COUNT,
	RNBD_PERR_SEQ,
	RNBD_PERR_EPOCH,
	RNBD_PERR_CREDITS,
	RNBD_PERR_GEOMETRY,
	RNBD_PERR_NAME,
	RNBD_PERR_OP,
	RNBD_PERR_FLAGS,
	RNBD_PERR_TAG,
	RNBD_PERR_LENGTH,
	RNBD_PERR_OFFSET,
	RNBD_PERR_EXTENT,
	RNBD_PERR_STATUS,
	RNBD_PERR_LIMITS,
	RNBD_PERR_IDENTITY,
	RNBD_PERR_HANDLE,
	RNBD_PERR_RATE,
	RNBD_PERR_MESSAGE,
	RNBD_PERR_ACCESS,
};

/* one more than the last */
#define RNBD_PERR_KINDS	(RNBD_PERR_ACCESS + 1)

#endif /* RNBD_CORE_PROTO_ERR_H */
