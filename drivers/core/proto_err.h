/* SPDX-License-Identifier: GPL-2.0-only */
/* List of the protocol errors: the ways in which a message of a peer can be invalid. */
#ifndef RNBD_CORE_PROTO_ERR_H
#define RNBD_CORE_PROTO_ERR_H

/**
 * enum rnbd_proto_err - reason why a message is invalid
 *
 * A protocol error is not an enum rnbd_status. A protocol error means that a message is invalid.
 * Its number is never sent, and the receiver of the message ends the connection. A status is part
 * of a valid answer.
 *
 * @RNBD_PERR_NONE: no error
 * @RNBD_PERR_SHORT: shorter than its header and its entries require
 * @RNBD_PERR_LONG: unexpected bytes at the end
 * @RNBD_PERR_MAGIC: not a message of this protocol
 * @RNBD_PERR_VERSION: another version of the protocol
 * @RNBD_PERR_TYPE: type of a frame or control entry that is unknown or not expected now
 * @RNBD_PERR_RESERVED: reserved bits or bytes are set
 * @RNBD_PERR_COUNT: wrong number of entries, wrong slot of a segment, or too many unanswered
 *	control requests
 * @RNBD_PERR_SEQ: frame out of sequence
 * @RNBD_PERR_EPOCH: wrong epoch or attempt number
 * @RNBD_PERR_CREDITS: frame sent without a credit, or more credits returned than were used
 * @RNBD_PERR_GEOMETRY: slots, slot size, queues or depth out of range
 * @RNBD_PERR_NAME: export name empty, unterminated or with a character that is not allowed
 * @RNBD_PERR_OP: unknown or unsupported operation
 * @RNBD_PERR_FLAGS: flags that are unknown or not allowed here
 * @RNBD_PERR_TAG: tag out of range, tag of a new request that is in use, or tag of a reply that is
 *	not in use
 * @RNBD_PERR_LENGTH: length zero, unaligned, too long, or not as requested
 * @RNBD_PERR_OFFSET: offset unaligned or not within the export
 * @RNBD_PERR_EXTENT: pool extents missing, unexpected, overlapping, of a wrong total size, or not
 *	in segments that the client holds; or a segment released while a request names it
 * @RNBD_PERR_STATUS: unknown or unexpected status
 * @RNBD_PERR_LIMITS: impossible properties of a login, a grant, an export, a segment or a pool
 * @RNBD_PERR_IDENTITY: id of a host, session or target is zero or wrong
 * @RNBD_PERR_HANDLE: handle that no attachment can have or that is not expected now, or generation
 *	that the segment does not have
 * @RNBD_PERR_RATE: frames arrive faster than allowed, or a SLOTS or QUERY arrives before the
 *	answer to the previous one was sent. No decoder returns this error or the following ones
 * @RNBD_PERR_MESSAGE: message that is not a frame, such as one with immediate data
 * @RNBD_PERR_ACCESS: the device rejected an access of the peer to memory
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

/* Last protocol error + 1. */
#define RNBD_PERR_KINDS	(RNBD_PERR_ACCESS + 1)

#endif /* RNBD_CORE_PROTO_ERR_H */
