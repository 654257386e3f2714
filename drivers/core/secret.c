// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text form of the secret of a host, in files and in configfs.
 *
 * Operation: the text has a prefix with a version, the secret in hexadecimal digits, and a
 * checksum, so that a typing error does not give another valid secret. The user-space tool rnbd
 * is compiled with this file, too.
 * Ownership: nothing is allocated or kept; the caller wipes its secrets.
 * Concurrency: pure functions, any context.
 * Errors: rnbd_secret_parse() returns an error message that does not quote the text.
 */
#include "portable.h"
#include "secret.h"

/* CRC-32 as used by Ethernet and zip, computed bit by bit. */
static u32 rnbd_secret_sum(const u8 *secret)
{
	u32 i, bit, sum = ~0u;

	for (i = 0; i < RNBD_SECRET_SIZE; i++) {
		sum ^= secret[i];
		for (bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	}
	return ~sum;
}

static char rnbd_hex_digit(u32 nibble)
{
	return "0123456789abcdef"[nibble & 0xf];
}

static int rnbd_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/**
 * rnbd_secret_format - convert a secret to text
 * @secret: RNBD_SECRET_SIZE bytes
 * @text: result, RNBD_SECRET_TEXT_SIZE bytes including the NUL
 *
 * Context: any.
 */
void rnbd_secret_format(const u8 *secret, char *text)
{
	u32 sum = rnbd_secret_sum(secret);
	int i;

	memcpy(text, RNBD_SECRET_PREFIX, sizeof(RNBD_SECRET_PREFIX) - 1);
	text += sizeof(RNBD_SECRET_PREFIX) - 1;
	for (i = 0; i < RNBD_SECRET_SIZE; i++) {
		*text++ = rnbd_hex_digit(secret[i] >> 4);
		*text++ = rnbd_hex_digit(secret[i]);
	}
	*text++ = ':';
	for (i = 28; i >= 0; i -= 4)
		*text++ = rnbd_hex_digit(sum >> i);
	*text = '\0';
}
EXPORT_SYMBOL_GPL(rnbd_secret_format);

static bool rnbd_hex_bytes(const char *text, u8 *bytes, u32 nr)
{
	for (; nr; nr--, text += 2) {
		int high = rnbd_hex_value(text[0]), low = rnbd_hex_value(text[1]);

		if (high < 0 || low < 0)
			return false;
		*bytes++ = high << 4 | low;
	}
	return true;
}

/**
 * rnbd_secret_parse - convert the text of rnbd_secret_format() to a secret
 * @text: characters, need not be terminated
 * @len: number of characters; one newline at the end is ignored
 * @secret: result, RNBD_SECRET_SIZE bytes; zeroed if the text is not valid
 *
 * Context: any.
 * Return: NULL, or a constant error message.
 */
const char *rnbd_secret_parse(const char *text, size_t len, u8 *secret)
{
	const size_t prefix = sizeof(RNBD_SECRET_PREFIX) - 1;
	u8 sum[4];

	memset(secret, 0, RNBD_SECRET_SIZE);
	if (len && text[len - 1] == '\n')
		len--;
	if (len < prefix || memcmp(text, RNBD_SECRET_PREFIX, prefix))
		return "a secret begins with " RNBD_SECRET_PREFIX " (rnbd secret generate)";
	if (len != RNBD_SECRET_TEXT_SIZE - 1)
		return "the secret is cut off or too long";
	text += prefix;
	if (!rnbd_hex_bytes(text, secret, RNBD_SECRET_SIZE) ||
	    text[2 * RNBD_SECRET_SIZE] != ':' ||
	    !rnbd_hex_bytes(text + 2 * RNBD_SECRET_SIZE + 1, sum, sizeof(sum))) {
		memset(secret, 0, RNBD_SECRET_SIZE);
		return "the secret has a character that is no hexadecimal digit";
	}
	if (((u32)sum[0] << 24 | (u32)sum[1] << 16 | (u32)sum[2] << 8 | sum[3]) !=
	    rnbd_secret_sum(secret)) {
		memset(secret, 0, RNBD_SECRET_SIZE);
		return "the checksum of the secret is wrong: it was copied incorrectly";
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(rnbd_secret_parse);
