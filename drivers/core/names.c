// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of statuses and protocol errors, and the rules for names of exports and disks.
 *
 * Operation: logs, sysfs and the tool show numbers of the wire format as texts of this file.
 * The rule for the name of an export is here, because configfs, the client and the decoder
 * must use the same rule. The rule for a name that the administrator gives a disk is here too.
 * Ownership: all texts are constant.
 * Concurrency: pure functions, any context.
 * Errors: for an unknown number, a function that returns a description returns a text that begins
 * with "unknown", never NULL; a function that returns the name of a counter returns NULL.
 */
#include "names.h"

/**
 * struct rnbd_name - name and description of a number
 * @word: name of the counter, in lower case; NULL if the number has no counter
 * @text: description in lower case without a full stop
 */
struct rnbd_name {
	const char *word;
	const char *text;
};

static const struct rnbd_name rnbd_status_names[] = {
	[RNBD_ST_OK] = { NULL, "done" },
	[RNBD_ST_IO] = { NULL, "the backing device failed the I/O" },
	[RNBD_ST_MEDIUM] = { NULL, "the backing device reports a medium error" },
	[RNBD_ST_NOSPC] = { NULL, "the backing device is out of space" },
	[RNBD_ST_READONLY] = { NULL, "the export is read-only" },
	[RNBD_ST_RANGE] = { NULL, "the request does not lie within the export" },
	[RNBD_ST_NOTSUPP] = { NULL, "the backing device does not support the operation" },
	[RNBD_ST_NOMEM] = { "nomem", "the target is short of memory" },
	[RNBD_ST_GONE] = { NULL, "the target has lost the backing device" },
	[RNBD_ST_RESV] = { NULL, "another host holds a reservation" },
	[RNBD_ST_REFUSED] = { NULL, "the backing device refused the request" },
	[RNBD_ST_PROTECTION] = {
		NULL,
		"the backing device found wrong protection information"
	},
	[RNBD_ST_CLOSED] = { NULL, "the target has closed the attachment of the disk" },
	[RNBD_ST_MALFORMED] = { "malformed", "the message is malformed" },
	[RNBD_ST_VERSION] = { "version", "the target does not support the protocol version" },
	[RNBD_ST_HOST_DENIED] = {
		"host_denied",
		"this host is not allowed on the target (there: rnbd export allow)"
	},
	[RNBD_ST_NO_EXPORT] = {
		"no_export",
		"the port offers no such enabled export (on the target: rnbd export list)"
	},
	[RNBD_ST_BUSY] = {
		"busy",
		"the target drains older requests, lacks memory or has many logins; try again"
	},
	[RNBD_ST_POOL_FULL] = { "pool_full", "the target has no memory left for the buffer pool" },
	[RNBD_ST_LIMIT] = { "limit", "a limit on sessions, queues, logins or attaches is reached" },
	[RNBD_ST_EPOCH] = { "epoch", "a newer login of this session exists" },
	[RNBD_ST_NO_SESSION] = {
		"no_session",
		"the target does not know the session of this queue"
	},
	[RNBD_ST_QUEUE] = { "queue", "the queue is out of range or already connected" },
	[RNBD_ST_RING] = { "ring", "the target does not grant this ring size" },
	[RNBD_ST_DEVICE] = {
		"device",
		"the RDMA device of the target is not usable (see the target's kernel log)"
	},
	[RNBD_ST_SHUTDOWN] = { "shutdown", "the port of the target is shutting down" },
	[RNBD_ST_AUTH] = { "auth", "wrong secret for this host (on the target: rnbd host secret)" },
	[RNBD_ST_FENCED] = { "fenced", "this host is fenced (on the target: rnbd unfence)" },
	[RNBD_ST_REVOKED] = {
		"revoked",
		"this host was fenced, or lost the export; detach the disk and attach it again"
	},
	[RNBD_ST_ATTACHED] = {
		"attached",
		"this host has the export attached; detach that disk, or use another host id"
	},
	[RNBD_ST_NO_ATTACH] = { "no_attach", "the target knows no such attachment" },
	[RNBD_ST_REMOVED] = {
		"removed",
		"the export was disabled or withdrawn (on the target: rnbd export list)"
	},
	[RNBD_ST_OWNED] = {
		"owned",
		"another host owns the exclusive export (on the target: rnbd export owner)"
	},
};

/**
 * rnbd_status_text - get the description of a status
 * @status: enum rnbd_status, or any number that came from a peer
 *
 * Context: any.
 * Return: a constant text in lower case without a full stop.
 */
const char *rnbd_status_text(u16 status)
{
	if (status >= ARRAY_SIZE(rnbd_status_names) || !rnbd_status_names[status].text)
		return "unknown status";
	return rnbd_status_names[status].text;
}
EXPORT_SYMBOL_GPL(rnbd_status_text);

/**
 * rnbd_status_word - get the name of the counter of a status
 * @status: enum rnbd_status
 *
 * Context: any.
 * Return: a constant word in lower case, or NULL if no counter counts this status.
 */
const char *rnbd_status_word(u16 status)
{
	return status < ARRAY_SIZE(rnbd_status_names) ? rnbd_status_names[status].word : NULL;
}
EXPORT_SYMBOL_GPL(rnbd_status_word);

static const struct rnbd_name rnbd_proto_err_names[] = {
	[RNBD_PERR_NONE] = { NULL, "no protocol error" },
	[RNBD_PERR_SHORT] = { "short", "message too short" },
	[RNBD_PERR_LONG] = { "long", "unexpected bytes at the end of the message" },
	[RNBD_PERR_MAGIC] = { "magic", "the peer does not speak this protocol" },
	[RNBD_PERR_VERSION] = { "version", "unknown protocol version" },
	[RNBD_PERR_TYPE] = { "type", "unexpected frame type" },
	[RNBD_PERR_RESERVED] = { "reserved", "reserved bytes are not zero" },
	[RNBD_PERR_COUNT] = { "count", "number of entries does not fit the frame" },
	[RNBD_PERR_SEQ] = { "seq", "frame out of sequence" },
	[RNBD_PERR_EPOCH] = { "epoch", "wrong epoch or attempt number" },
	[RNBD_PERR_CREDITS] = { "credits", "impossible number of credits" },
	[RNBD_PERR_GEOMETRY] = {
		"geometry",
		"ring slots, slot size, queues or depth out of range"
	},
	[RNBD_PERR_NAME] = { "name", "invalid export name" },
	[RNBD_PERR_OP] = { "op", "operation unknown or not offered" },
	[RNBD_PERR_FLAGS] = { "flags", "flags not allowed here" },
	[RNBD_PERR_TAG] = { "tag", "tag out of range" },
	[RNBD_PERR_LENGTH] = { "length", "length invalid or above the limit" },
	[RNBD_PERR_OFFSET] = { "offset", "offset unaligned or outside of the export" },
	[RNBD_PERR_EXTENT] = { "extent", "invalid pool extent" },
	[RNBD_PERR_STATUS] = { "status", "unexpected status" },
	[RNBD_PERR_LIMITS] = { "limits", "login, export or pool properties out of range" },
	[RNBD_PERR_IDENTITY] = { "identity", "id of a host, session or target is wrong" },
	[RNBD_PERR_HANDLE] = { "handle", "invalid handle of an attachment" },
	[RNBD_PERR_RATE] = { "rate", "frames exceed the rate limit" },
	[RNBD_PERR_MESSAGE] = { "message", "peer sent an unexpected kind of message" },
	[RNBD_PERR_ACCESS] = { "access", "access to memory that was not granted" },
};

static_assert(ARRAY_SIZE(rnbd_proto_err_names) == RNBD_PERR_KINDS);

/**
 * rnbd_proto_err_text - get the description of a protocol error
 * @perr: protocol error that a decoder returned
 *
 * Context: any.
 * Return: a constant text in lower case without a full stop.
 */
const char *rnbd_proto_err_text(enum rnbd_proto_err perr)
{
	u32 index = perr;

	return index < RNBD_PERR_KINDS ? rnbd_proto_err_names[index].text :
					 "unknown protocol error";
}
EXPORT_SYMBOL_GPL(rnbd_proto_err_text);

/**
 * rnbd_proto_err_word - get the name of the counter of a protocol error
 * @perr: any number from 1, also one that is not a protocol error
 *
 * Context: any.
 * Return: a constant word in lower case, or NULL if there is no such protocol error.
 */
const char *rnbd_proto_err_word(enum rnbd_proto_err perr)
{
	u32 index = perr;

	return index < RNBD_PERR_KINDS ? rnbd_proto_err_names[index].word : NULL;
}
EXPORT_SYMBOL_GPL(rnbd_proto_err_word);

static bool rnbd_name_char_ok(char c)
{
	/* Not isalnum(): it depends on the locale in user space, takes Latin-1 in the kernel. */
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == ':' || c == '-';
}

/**
 * rnbd_export_name_ok - check the name of an export
 * @name: characters, need not be terminated
 * @size: bytes at @name including the terminating NUL: strlen() + 1 for a string,
 *	RNBD_EXPORT_NAME_SIZE for a name from the wire
 *
 * A name has 1 to 63 characters of A-Z a-z 0-9 . _ : - and does not begin with a dot. All
 * bytes after the name within @size must be NUL.
 *
 * Context: any.
 * Return: true if the name is valid.
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

/* Does @text look like the name of a disk or of a partition? */
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
 * rnbd_disk_alias_ok - check a name that an administrator gives a disk
 * @name: string
 *
 * The name must be valid for an export, and must not look like another identification of a
 * disk: rnbd<N>, rnbd<N>p<M>, a number, or a UUID.
 *
 * Context: any.
 * Return: true if the name is valid.
 */
bool rnbd_disk_alias_ok(const char *name)
{
	if (!rnbd_export_name_ok(name, strlen(name) + 1))
		return false;
	return !rnbd_all_digits(name) && !rnbd_looks_like_uuid(name) &&
	       !rnbd_looks_like_disk(name);
}
EXPORT_SYMBOL_GPL(rnbd_disk_alias_ok);
