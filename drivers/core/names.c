// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that people read: statuses, faults, operations, exports.
 *
 * Operation: numbers of the wire format become sentences for logs, sysfs and
 * the tool; the rule for the name of an export is here too, so that configfs,
 * the client and the decoder agree about it, and so is the one for a name that
 * the administrator gives a disk.
 * Ownership: all texts are constants.
 * Concurrency: pure functions, any context.
 * Errors: a number without a name gets a text that says so, never NULL.
 */
#include "codec.h"

/**
 * rnbd_status_text - describe a status to a user
 * @status: enum rnbd_status, or any number that came from a peer
 *
 * Context: any.
 * Return: a constant text in lower case without a full stop.
 */
const char *rnbd_status_text(u16 status)
{
	switch (status) {
	case RNBD_ST_OK:
		return "done";
	case RNBD_ST_IO:
		return "the backing device failed the I/O";
	case RNBD_ST_MEDIUM:
		return "the backing device reports a medium error";
	case RNBD_ST_NOSPC:
		return "the backing device is out of space";
	case RNBD_ST_READONLY:
		return "the export is read-only";
	case RNBD_ST_RANGE:
		return "the request does not lie within the export";
	case RNBD_ST_NOTSUPP:
		return "the backing device does not support the operation";
	case RNBD_ST_NOMEM:
		return "the target is short of memory";
	case RNBD_ST_GONE:
		return "the export was removed";
	case RNBD_ST_RESV:
		return "another host holds a reservation";
	case RNBD_ST_MALFORMED:
		return "the message could not be understood";
	case RNBD_ST_VERSION:
		return "the protocol version is not spoken by the target";
	case RNBD_ST_HOST_DENIED:
		return "this host is not allowed on the target (there: rnbd export allow)";
	case RNBD_ST_NO_EXPORT:
		return "the port offers no such enabled export (on the target: rnbd export list)";
	case RNBD_ST_BUSY:
		return "the target still drains an older login, or has too many at once; try again";
	case RNBD_ST_POOL_FULL:
		return "the target has no memory left for the buffer pool";
	case RNBD_ST_LIMIT:
		return "a limit on sessions, queues or logins is reached";
	case RNBD_ST_EPOCH:
		return "a newer login of this session exists";
	case RNBD_ST_NO_SESSION:
		return "the target does not know the session of this queue";
	case RNBD_ST_QUEUE:
		return "the queue is out of range or already connected";
	case RNBD_ST_RING:
		return "the target does not grant this ring size";
	case RNBD_ST_DEVICE:
		return "the RDMA device cannot do what is needed";
	case RNBD_ST_SHUTDOWN:
		return "the port of the target is shutting down";
	case RNBD_ST_AUTH:
		return "wrong secret for this host (on the target: rnbd host secret)";
	case RNBD_ST_FENCED:
		return "this host is fenced (on the target: rnbd unfence)";
	case RNBD_ST_REVOKED:
		return "this host was fenced since; detach the disk and attach it again";
	default:
		return "unknown status";
	}
}
EXPORT_SYMBOL_GPL(rnbd_status_text);

/**
 * rnbd_status_word - name of a reason to refuse a connection or a login
 * @status: enum rnbd_status
 *
 * Context: any.
 * Return: a constant word in lower case, NULL if nothing is refused with it.
 */
const char *rnbd_status_word(u16 status)
{
	switch (status) {
	case RNBD_ST_NOMEM:
		return "nomem";
	case RNBD_ST_MALFORMED:
		return "malformed";
	case RNBD_ST_VERSION:
		return "version";
	case RNBD_ST_HOST_DENIED:
		return "host_denied";
	case RNBD_ST_NO_EXPORT:
		return "no_export";
	case RNBD_ST_BUSY:
		return "busy";
	case RNBD_ST_POOL_FULL:
		return "pool_full";
	case RNBD_ST_LIMIT:
		return "limit";
	case RNBD_ST_EPOCH:
		return "epoch";
	case RNBD_ST_NO_SESSION:
		return "no_session";
	case RNBD_ST_QUEUE:
		return "queue";
	case RNBD_ST_RING:
		return "ring";
	case RNBD_ST_DEVICE:
		return "device";
	case RNBD_ST_SHUTDOWN:
		return "shutdown";
	case RNBD_ST_AUTH:
		return "auth";
	case RNBD_ST_FENCED:
		return "fenced";
	case RNBD_ST_REVOKED:
		return "revoked";
	default:
		return NULL;
	}
}
EXPORT_SYMBOL_GPL(rnbd_status_word);

/**
 * rnbd_fault_text - describe what is wrong with a message
 * @fault: what a decoder returned
 *
 * Context: any.
 * Return: a constant text in lower case without a full stop.
 */
const char *rnbd_fault_text(enum rnbd_fault fault)
{
	/* no default: the compiler names the fault that was forgotten */
	switch (fault) {
	case RNBD_FAULT_NONE:
		return "no fault";
	case RNBD_FAULT_SHORT:
		return "message too short";
	case RNBD_FAULT_LONG:
		return "unexpected bytes at the end of the message";
	case RNBD_FAULT_MAGIC:
		return "the peer does not speak this protocol";
	case RNBD_FAULT_VERSION:
		return "unknown protocol version";
	case RNBD_FAULT_TYPE:
		return "unexpected frame type";
	case RNBD_FAULT_RESERVED:
		return "reserved bytes are not zero";
	case RNBD_FAULT_COUNT:
		return "number of entries does not fit the frame";
	case RNBD_FAULT_SEQ:
		return "frame out of sequence";
	case RNBD_FAULT_EPOCH:
		return "wrong session epoch";
	case RNBD_FAULT_CREDITS:
		return "impossible number of credits";
	case RNBD_FAULT_GEOMETRY:
		return "ring slots, slot size, queues or depth out of range";
	case RNBD_FAULT_NAME:
		return "invalid export name";
	case RNBD_FAULT_OP:
		return "operation unknown or not offered";
	case RNBD_FAULT_FLAGS:
		return "flags not allowed here";
	case RNBD_FAULT_TAG:
		return "tag out of range";
	case RNBD_FAULT_LENGTH:
		return "length invalid or above the limit";
	case RNBD_FAULT_OFFSET:
		return "offset unaligned or outside of the export";
	case RNBD_FAULT_EXTENT:
		return "invalid pool extent";
	case RNBD_FAULT_STATUS:
		return "unexpected status";
	case RNBD_FAULT_LIMITS:
		return "absurd properties in a login";
	case RNBD_FAULT_IDENTITY:
		return "host or session id is missing";
	case RNBD_FAULT_RATE:
		return "frames come faster than they may";
	case RNBD_FAULT_MESSAGE:
		return "peer sent an unexpected kind of message";
	case RNBD_FAULT_ACCESS:
		return "access to memory that was not granted";
	}
	return "unknown fault";
}
EXPORT_SYMBOL_GPL(rnbd_fault_text);

/**
 * rnbd_fault_word - name of a fault for a counter
 * @fault: from 1; one behind the last is fine
 *
 * Context: any.
 * Return: a constant word in lower case, NULL if there is no such fault.
 */
const char *rnbd_fault_word(enum rnbd_fault fault)
{
	/* no default, as above */
	switch (fault) {
	case RNBD_FAULT_NONE:
		break;
	case RNBD_FAULT_SHORT:
		return "short";
	case RNBD_FAULT_LONG:
		return "long";
	case RNBD_FAULT_MAGIC:
		return "magic";
	case RNBD_FAULT_VERSION:
		return "version";
	case RNBD_FAULT_TYPE:
		return "type";
	case RNBD_FAULT_RESERVED:
		return "reserved";
	case RNBD_FAULT_COUNT:
		return "count";
	case RNBD_FAULT_SEQ:
		return "seq";
	case RNBD_FAULT_EPOCH:
		return "epoch";
	case RNBD_FAULT_CREDITS:
		return "credits";
	case RNBD_FAULT_GEOMETRY:
		return "geometry";
	case RNBD_FAULT_NAME:
		return "name";
	case RNBD_FAULT_OP:
		return "op";
	case RNBD_FAULT_FLAGS:
		return "flags";
	case RNBD_FAULT_TAG:
		return "tag";
	case RNBD_FAULT_LENGTH:
		return "length";
	case RNBD_FAULT_OFFSET:
		return "offset";
	case RNBD_FAULT_EXTENT:
		return "extent";
	case RNBD_FAULT_STATUS:
		return "status";
	case RNBD_FAULT_LIMITS:
		return "limits";
	case RNBD_FAULT_IDENTITY:
		return "identity";
	case RNBD_FAULT_RATE:
		return "rate";
	case RNBD_FAULT_MESSAGE:
		return "message";
	case RNBD_FAULT_ACCESS:
		return "access";
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(rnbd_fault_word);

/**
 * rnbd_op_text - name an operation
 * @op: enum rnbd_op, or any number that came from a peer
 *
 * Context: any.
 * Return: a constant word in lower case.
 */
const char *rnbd_op_text(u8 op)
{
	switch (op) {
	case RNBD_OP_READ:
		return "read";
	case RNBD_OP_WRITE:
		return "write";
	case RNBD_OP_FLUSH:
		return "flush";
	case RNBD_OP_DISCARD:
		return "discard";
	case RNBD_OP_WRITE_ZEROES:
		return "write-zeroes";
	default:
		return "unknown";
	}
}
EXPORT_SYMBOL_GPL(rnbd_op_text);

static bool rnbd_name_char_ok(char c)
{
	/* spelled out: isalnum() depends on the locale or knows Latin-1 */
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == ':' || c == '-';
}

/**
 * rnbd_export_name_ok - is this a lawful name of an export?
 * @name: characters, not necessarily terminated
 * @size: bytes at @name, the terminating NUL included; from a string it is
 *	strlen() + 1, from the wire RNBD_EXPORT_NAME_SIZE
 *
 * A name has 1 to 63 characters of A-Z a-z 0-9 . _ : - and does not start
 * with a dot. Nothing but NUL may follow it within @size.
 *
 * Context: any.
 * Return: true if it is.
 */
bool rnbd_export_name_ok(const char *name, size_t size)
{
	size_t i;

	for (i = 0; i < size && name[i]; i++)
		if (i == RNBD_EXPORT_NAME_SIZE - 1 ||
		    !rnbd_name_char_ok(name[i]))
			return false;

	return i > 0 && i < size && name[0] != '.' &&
	       !memchr_inv(name + i, 0, size - i);
}
EXPORT_SYMBOL_GPL(rnbd_export_name_ok);

static size_t rnbd_digits(const char *text)
{
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9'; i++)
		;
	return i;
}

static bool rnbd_all_digits(const char *text)
{
	size_t len = rnbd_digits(text);

	return len && !text[len];
}

/* A disk or one of its partitions */
static bool rnbd_looks_like_disk(const char *text)
{
	size_t len;

	if (strncmp(text, "rnbd", 4))
		return false;
	len = rnbd_digits(text + 4);
	if (!len)
		return false;
	text += 4 + len;
	return !*text || (*text == 'p' && rnbd_all_digits(text + 1));
}

static bool rnbd_looks_like_uuid(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char c = text[i];

		if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
					(c >= 'A' && c <= 'F')))
			return false;
	}
	return i == 36;
}

/**
 * rnbd_disk_alias_ok - may an administrator give a disk this name?
 * @name: string
 *
 * It is a name as exports have, but none that could mean another disk: not
 * rnbd<N> or rnbd<N>p<M>, not a number, not a UUID.
 *
 * Context: any.
 * Return: true if so.
 */
bool rnbd_disk_alias_ok(const char *name)
{
	if (!rnbd_export_name_ok(name, strlen(name) + 1))
		return false;
	return !rnbd_all_digits(name) && !rnbd_looks_like_uuid(name) &&
	       !rnbd_looks_like_disk(name);
}
EXPORT_SYMBOL_GPL(rnbd_disk_alias_ok);
