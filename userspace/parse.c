// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsers and formatters of numbers, sizes, addresses, UUIDs and names.
 *
 * Operation: a parser accepts a string only as a whole. It refuses white space, signs, trailing
 * characters, and results that do not fit into the output; only fence_parse() and owner_parse()
 * accept white space, around the fields of a line. The character classes are defined here
 * because those of <ctype.h> depend on the locale.
 *
 * Ownership: the caller owns all buffers.
 * Concurrency: no shared state.
 * Errors: -EINVAL for malformed text, -ERANGE for a value out of range. After an error of a
 * parser the output is unchanged, except that fence_parse() and owner_parse() can have filled
 * members. format_addr() returns -ERANGE if the text was truncated.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Parse the digits at *s and advance *s past them. */
static int parse_digits(const char **s, uint64_t *out)
{
	uint64_t value = 0;
	const char *p = *s;

	if (!is_digit(*p))
		return -EINVAL;

	for (; is_digit(*p); p++) {
		unsigned int digit = *p - '0';

		if (value > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		value = value * 10 + digit;
	}

	*s = p;
	*out = value;
	return 0;
}

/**
 * parse_u32() - parse a plain decimal number
 * @s: text
 * @min: smallest valid value
 * @max: largest valid value
 * @out: parsed number
 */
int parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t value;
	int ret;

	ret = parse_digits(&s, &value);
	if (ret)
		return ret;
	if (*s)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;

	*out = value;
	return 0;
}

/**
 * parse_size() - parse a size in bytes, with an optional suffix K, M or G (powers of 1024)
 * @s: text
 * @max: largest valid size in bytes; 0 is never valid
 * @out: parsed size in bytes
 */
int parse_size(const char *s, uint64_t max, uint64_t *out)
{
	unsigned int shift = 0;
	uint64_t value;
	int ret;

	ret = parse_digits(&s, &value);
	if (ret)
		return ret;

	switch (*s) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	}
	if (shift)
		s++;
	if (*s)
		return -EINVAL;
	if (!value || value > max >> shift)
		return -ERANGE;

	*out = value << shift;
	return 0;
}

/**
 * parse_addr() - parse HOST, HOST:PORT, V6, [V6] or [V6]:PORT
 * @s: text
 * @host: parsed host, without brackets
 * @host_size: size of @host in bytes
 * @port: parsed port, 0 if the text has no port
 *
 * A text with two or more colons and without brackets is an IPv6 address without a port.
 * The function does not check whether HOST is a name or an address.
 */
int parse_addr(const char *s, char *host, size_t host_size, uint16_t *port)
{
	const char *start = s;
	const char *rest;
	uint32_t value = 0;
	size_t len;
	int ret;

	if (*s == '[') {
		start = s + 1;
		rest = strchr(start, ']');
		if (!rest)
			return -EINVAL;
		len = rest - start;
		rest++;
		if (!memchr(start, ':', len))
			return -EINVAL;
	} else {
		rest = strchr(s, ':');
		if (!rest || strchr(rest + 1, ':'))
			rest = s + strlen(s);
		len = rest - start;
	}

	if (!len || len >= host_size || strcspn(start, "[]") < len)
		return -EINVAL;

	if (*rest == ':') {
		ret = parse_u32(rest + 1, 1, UINT16_MAX, &value);
		if (ret)
			return ret;
	} else if (*rest) {
		return -EINVAL;
	}

	memcpy(host, start, len);
	host[len] = '\0';
	*port = value;
	return 0;
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/**
 * parse_uuid() - parse a UUID of 8-4-4-4-12 hexadecimal digits; the null UUID is invalid
 * @s: text
 * @uuid: parsed bytes, in the order of the text
 */
int parse_uuid(const char *s, uint8_t uuid[UUID_SIZE])
{
	uint8_t bytes[UUID_SIZE];
	uint8_t any = 0;
	int i;

	for (i = 0; i < UUID_SIZE; i++) {
		int high, low;

		if (i == 4 || i == 6 || i == 8 || i == 10) {
			if (*s++ != '-')
				return -EINVAL;
		}
		high = hex_value(s[0]);
		if (high < 0)
			return -EINVAL;
		low = hex_value(s[1]);
		if (low < 0)
			return -EINVAL;
		bytes[i] = high << 4 | low;
		any |= bytes[i];
		s += 2;
	}
	if (*s || !any)
		return -EINVAL;

	memcpy(uuid, bytes, UUID_SIZE);
	return 0;
}

/**
 * parse_disk() - parse the name of a disk: rnbd0, /dev/rnbd0 or 0
 * @s: text
 * @name: parsed name, without /dev/; a number N becomes rnbdN
 * @name_size: size of @name in bytes
 *
 * Any name of letters, digits, '_' and '-' is accepted; the caller looks for a disk of this name.
 */
int parse_disk(const char *s, char *name, size_t name_size)
{
	const char *prefix = "";
	const char *p;

	if (!strncmp(s, "/dev/", 5))
		s += 5;
	for (p = s; is_digit(*p); p++)
		;
	if (p != s && !*p)
		prefix = "rnbd";
	for (p = s; is_alnum(*p) || *p == '_' || *p == '-'; p++)
		;
	if (p == s || *p || strlen(prefix) + strlen(s) >= name_size)
		return -EINVAL;

	snprintf(name, name_size, "%s%s", prefix, s);
	return 0;
}

/**
 * parse_partition() - parse the name of a partition of a disk, such as rnbd0p1
 * @s: text
 * @whole: name of the disk that has the partition
 * @size: size of @whole in bytes
 */
int parse_partition(const char *s, char *whole, size_t size)
{
	const char *p = s;
	size_t len;

	if (strncmp(p, "rnbd", 4))
		return -EINVAL;
	for (p += 4; is_digit(*p); p++)
		;
	len = p - s;
	if (len == 4 || *p != 'p' || len >= size)
		return -EINVAL;
	for (p++; is_digit(*p); p++)
		;
	if (*p || p == s + len + 1)
		return -EINVAL;

	memcpy(whole, s, len);
	whole[len] = '\0';
	return 0;
}

/**
 * export_name_valid() - check the name of an export
 * @s: name; valid are 1 to 63 letters, digits, '.', '_', ':' and '-', without a '.' in front
 */
bool export_name_valid(const char *s)
{
	size_t len = 0;

	if (*s == '.')
		return false;
	for (; s[len]; len++) {
		if (!is_alnum(s[len]) && !strchr("._:-", s[len]))
			return false;
	}
	return len >= 1 && len <= 63;
}

/**
 * disk_name_valid() - check a name that an administrator gives to a disk
 * @s: name; valid if it is a valid name of an export, but neither a number, rnbdN, rnbdNpM nor
 *	a UUID, because these forms identify a disk or a partition in another way
 */
bool disk_name_valid(const char *s)
{
	const char *number = strncmp(s, "rnbd", 4) ? s : s + 4;
	size_t digits = strspn(number, "0123456789");
	uint8_t uuid[UUID_SIZE];
	char whole[64];

	return export_name_valid(s) && (!digits || number[digits]) &&
	       parse_partition(s, whole, sizeof(whole)) && parse_uuid(s, uuid);
}

void format_uuid(const uint8_t uuid[UUID_SIZE], char text[UUID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	char *p = text;
	int i;

	for (i = 0; i < UUID_SIZE; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[uuid[i] >> 4];
		*p++ = digits[uuid[i] & 15];
	}
	*p = '\0';
}

/**
 * format_size() - format a size for users: 512, 4K, 1.5G
 * @bytes: size in bytes
 * @text: formatted size, with at most one decimal, rounded down
 */
void format_size(uint64_t bytes, char text[SIZE_TEXT_SIZE])
{
	static const char units[] = "KMGTPE";
	uint64_t whole = bytes;
	uint64_t tenth = 0;
	int unit = -1;

	while (whole >= 1024) {
		tenth = (whole & 1023) * 10 >> 10;
		whole >>= 10;
		unit++;
	}

	if (unit < 0)
		snprintf(text, SIZE_TEXT_SIZE, "%" PRIu64, whole);
	else if (tenth)
		snprintf(text, SIZE_TEXT_SIZE, "%" PRIu64 ".%u%c", whole,
			 (unsigned int)tenth, units[unit]);
	else
		snprintf(text, SIZE_TEXT_SIZE, "%" PRIu64 "%c", whole,
			 units[unit]);
}

/**
 * format_addr() - format an address so that parse_addr() can parse it
 * @host: name or address
 * @port: port
 * @text: formatted address
 * @text_size: size of @text in bytes
 */
int format_addr(const char *host, uint16_t port, char *text, size_t text_size)
{
	int len;

	len = snprintf(text, text_size, strchr(host, ':') ? "[%s]:%u" : "%s:%u",
		       host, (unsigned int)port);
	return len < 0 || (size_t)len >= text_size ? -ERANGE : 0;
}

/* Boot id of a host that never logged in, and host of an export without an owner */
#define NULL_UUID	"00000000-0000-0000-0000-000000000000"

/**
 * fence_parse() - parse a fence_state line of the kernel
 * @text: line
 * @fence: parsed state
 *
 * Return: 0, or -EINVAL without a message.
 */
int fence_parse(const char *text, struct fence *fence)
{
	char number[12], fenced[2], boot_id[UUID_TEXT_SIZE], end;
	uint8_t uuid[UUID_SIZE] = { };

	if (sscanf(text, "%11s %1s %36s %c", number, fenced, boot_id, &end) != 3 ||
	    parse_u32(number, 1, UINT32_MAX, &fence->generation) ||
	    (strcmp(fenced, "0") && strcmp(fenced, "1")) ||
	    (strcmp(boot_id, NULL_UUID) && parse_uuid(boot_id, uuid)))
		return -EINVAL;
	fence->fenced = *fenced == '1';
	format_uuid(uuid, fence->boot_id);
	return 0;
}

/**
 * fence_text() - format a fence_state line for the kernel
 * @fence: state
 * @text: formatted line, without an end of line
 */
void fence_text(const struct fence *fence, char text[FENCE_TEXT_SIZE])
{
	snprintf(text, FENCE_TEXT_SIZE, "%" PRIu32 " %d %s", fence->generation, fence->fenced,
		 fence->boot_id);
}

/* Parse a UUID, which may be the null UUID, and format it in lower case. */
static int parse_any_uuid(const char *text, char out[UUID_TEXT_SIZE])
{
	uint8_t uuid[UUID_SIZE] = { };

	if (strcmp(text, NULL_UUID) && parse_uuid(text, uuid))
		return -EINVAL;
	format_uuid(uuid, out);
	return 0;
}

/**
 * owner_parse() - parse the owner_state line of an export
 * @text: line
 * @owner: parsed state
 *
 * Return: 0, or -EINVAL without a message.
 */
int owner_parse(const char *text, struct owner *owner)
{
	char number[12], host[UUID_TEXT_SIZE], boot_id[UUID_TEXT_SIZE], fence[12], end;

	if (sscanf(text, "%11s %36s %36s %11s %c", number, host, boot_id, fence, &end) != 4 ||
	    parse_u32(number, 0, UINT32_MAX, &owner->generation) ||
	    parse_any_uuid(host, owner->host) || parse_any_uuid(boot_id, owner->boot_id) ||
	    parse_u32(fence, 0, UINT32_MAX, &owner->fence_generation))
		return -EINVAL;
	return 0;
}

/**
 * owner_text() - format the owner_state line of an export for the kernel
 * @owner: state
 * @text: formatted line, without an end of line
 */
void owner_text(const struct owner *owner, char text[OWNER_TEXT_SIZE])
{
	snprintf(text, OWNER_TEXT_SIZE, "%" PRIu32 " %s %s %" PRIu32, owner->generation,
		 owner->host, owner->boot_id, owner->fence_generation);
}
