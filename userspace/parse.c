// SPDX-License-Identifier: GPL-2.0-only
/*
 * Numbers, sizes, addresses, UUIDs and names.
 *
 * Operation: every parser takes the whole string or nothing: white space,
 * signs and trailing characters are refused, and so is what does not fit.
 * The character classes are spelled out because <ctype.h> depends on the
 * locale.
 *
 * Ownership: the caller owns all buffers. Concurrency: no shared state.
 *
 * Errors: -EINVAL for what cannot be understood, -ERANGE for what lies
 * outside of the limits; the output is then untouched.
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

/* Reads the digits at *s and moves *s behind them. */
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
 * parse_u32() - a plain decimal number
 * @s: text
 * @min: smallest value that is allowed
 * @max: largest value that is allowed
 * @out: where the number goes
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
 * parse_size() - bytes, with one of the suffixes K, M, G (powers of 1024)
 * @s: text
 * @max: largest value that is allowed; zero is never allowed
 * @out: where the bytes go
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
 * parse_addr() - HOST, HOST:PORT, V6, [V6] or [V6]:PORT
 * @s: text
 * @host: where the host goes, without brackets
 * @host_size: bytes there
 * @port: where the port goes, 0 if there is none
 *
 * Two colons or more without brackets are an IPv6 address without a port.
 * Whether HOST is a name or an address is for the caller to find out.
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
 * parse_uuid() - 8-4-4-4-12 hexadecimal digits, not all zero
 * @s: text
 * @uuid: where the bytes go, in the order of the text
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
 * parse_disk() - name of a disk: rnbd0, /dev/rnbd0 or 0
 * @s: text
 * @name: where the name goes, without /dev/
 * @name_size: bytes there
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
 * parse_partition() - name of a partition of a disk: rnbd0p1
 * @s: text
 * @whole: where the name of the disk goes
 * @size: bytes there
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
 * export_name_valid() - may an export be called so?
 * @s: 1 to 63 of letters, digits, '.', '_', ':' and '-', no '.' in front
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
 * disk_name_valid() - may an administrator call a disk so?
 * @s: as the name of an export, but nothing that means a disk already: no
 *	number, rnbdN, rnbdNpM or UUID
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
 * format_size() - bytes for people: 512, 4K, 1.5G
 * @bytes: value
 * @text: where the text goes; at most one decimal, rounded down
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
 * format_addr() - the inverse of parse_addr()
 * @host: name or address
 * @port: port
 * @text: where the text goes
 * @text_size: bytes there
 */
int format_addr(const char *host, uint16_t port, char *text, size_t text_size)
{
	int len;

	len = snprintf(text, text_size, strchr(host, ':') ? "[%s]:%u" : "%s:%u",
		       host, (unsigned int)port);
	return len < 0 || (size_t)len >= text_size ? -ERANGE : 0;
}

/* Of a host that was never let in */
#define NULL_UUID	"00000000-0000-0000-0000-000000000000"

/**
 * fence_parse() - take a line apart that the kernel has told
 * @text: the line
 * @fence: filled
 *
 * Return: 0, or -EINVAL quietly.
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
 * fence_text() - the line that the kernel takes
 * @fence: what it is to say
 * @text: the line, without its end
 */
void fence_text(const struct fence *fence, char text[FENCE_TEXT_SIZE])
{
	snprintf(text, FENCE_TEXT_SIZE, "%" PRIu32 " %d %s", fence->generation, fence->fenced,
		 fence->boot_id);
}

/* A UUID in the one form, which may be the null one */
static int parse_any_uuid(const char *text, char out[UUID_TEXT_SIZE])
{
	uint8_t uuid[UUID_SIZE] = { };

	if (strcmp(text, NULL_UUID) && parse_uuid(text, uuid))
		return -EINVAL;
	format_uuid(uuid, out);
	return 0;
}

/**
 * owner_parse() - read what the kernel shows as owner_state of an export
 * @text: the line
 * @owner: filled
 *
 * Return: 0, or -EINVAL quietly.
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
 * owner_text() - write what the kernel takes as owner_state of an export
 * @owner: what it is to say
 * @text: the line, without its end
 */
void owner_text(const struct owner *owner, char text[OWNER_TEXT_SIZE])
{
	snprintf(text, OWNER_TEXT_SIZE, "%" PRIu32 " %s %s %" PRIu32, owner->generation,
		 owner->host, owner->boot_id, owner->fence_generation);
}
