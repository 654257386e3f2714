// SPDX-License-Identifier: GPL-2.0-only
/*
 * Proofs of secrets, with a SHA-256 of our own: as the document says, not as the
 * kernel's crypto API does.
 *
 * Operation: the example of the document is checked before the first use.
 * Ownership, Concurrency: nothing is kept but the secret.
 * Errors: a file without a secret ends the program.
 */
#include <string.h>

#include "peer.h"

uint8_t secret[RNBD_SECRET_SIZE];
bool has_secret;

struct sha256 {
	uint32_t h[8];
	uint8_t block[64];
	uint64_t bytes;
};

static uint32_t ror(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

/* The fraction of a root, as the standard has them: by integer arithmetic. */
static uint32_t root_bits(uint32_t prime, int cube)
{
	unsigned __int128 n = (unsigned __int128)prime << (cube ? 96 : 64);
	unsigned __int128 low = 0, high = (unsigned __int128)1 << (cube ? 35 : 37);

	while (high - low > 1) {
		unsigned __int128 mid = (low + high) / 2;

		if ((cube ? mid * mid * mid : mid * mid) <= n)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static const uint32_t *constants(bool cube)
{
	static uint32_t k[64], h[8];
	uint32_t n, i, found = 0;

	for (n = 2; found < 64 && !k[63]; n++) {
		for (i = 2; i < n && n % i; i++)
			;
		if (i < n)
			continue;
		if (found < 8)
			h[found] = root_bits(n, false);
		k[found++] = root_bits(n, true);
	}
	return cube ? k : h;
}

static void sha256_block(struct sha256 *s)
{
	const uint32_t *k = constants(true);
	uint32_t w[64] = { }, v[8], i, t1, t2;

	for (i = 0; i < 64; i++) {
		if (i < 16) {
			memcpy(&w[i], s->block + 4 * i, 4);
			w[i] = be32toh(w[i]);
			continue;
		}
		w[i] = w[i - 16] + w[i - 7] +
		       (ror(w[i - 15], 7) ^ ror(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (ror(w[i - 2], 17) ^ ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	}
	memcpy(v, s->h, sizeof(v));
	for (i = 0; i < 64; i++) {
		t1 = v[7] + (ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25)) +
		     ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		t2 = (ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22)) +
		     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void sha256_add(struct sha256 *s, const void *bytes, size_t len)
{
	const uint8_t *byte = bytes;

	if (!s->bytes)
		memcpy(s->h, constants(false), sizeof(s->h));
	while (len--) {
		s->block[s->bytes++ % 64] = *byte++;
		if (!(s->bytes % 64))
			sha256_block(s);
	}
}

static void sha256_end(struct sha256 *s, uint8_t *digest)
{
	uint64_t bits = htobe64(s->bytes * 8);
	static const uint8_t one = 0x80, zero;
	uint32_t i, word;

	sha256_add(s, &one, 1);
	while (s->bytes % 64 != 56)
		sha256_add(s, &zero, 1);
	sha256_add(s, &bits, 8);
	for (i = 0; i < 8; i++) {
		word = htobe32(s->h[i]);
		memcpy(digest + 4 * i, &word, 4);
	}
}

static void hmac(const uint8_t *key, const void *text, size_t len, uint8_t *mac)
{
	struct sha256 inner = { }, outer = { };
	uint8_t pad[64] = { };
	int i;

	memcpy(pad, key, RNBD_SECRET_SIZE);
	for (i = 0; i < 64; i++)
		pad[i] ^= 0x36;
	sha256_add(&inner, pad, 64);
	sha256_add(&inner, text, len);
	sha256_end(&inner, mac);
	for (i = 0; i < 64; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_add(&outer, pad, 64);
	sha256_add(&outer, mac, 32);
	sha256_end(&outer, mac);
}

/* The HMAC of @text with another label; a queue's is cut to a token. */
void auth_mac(struct rnbd_auth_text *text, const char *label, uint8_t *mac)
{
	memset(text->label, 0, sizeof(text->label));
	memcpy(text->label, label, strlen(label));
	hmac(secret, text, sizeof(*text), mac);
}

static void check_example(void)
{
	static const uint8_t head[] = { 0xc0, 0x23, 0x63, 0x4a, 0x9a, 0x33, 0x6c, 0xa5 };
	struct rnbd_auth_text text = { };
	uint8_t mac[32], key[32];
	int i;

	text.req = (struct rnbd_cm_req) {
		.magic = htole32(RNBD_MAGIC), .version = htole16(RNBD_VERSION),
		.ring_slots = htole16(128), .slot_size = htole32(4096), .epoch = htole32(3),
	};
	for (i = 0; i < 16; i++) {
		text.req.host_id[i] = 0x01 + i;
		text.req.session_id[i] = 0x11 + i;
		text.login.boot_id[i] = 0x21 + i;
	}
	memcpy(text.login.export, "disk0", 5);
	text.login.features = htole64(3);
	text.login.pool_bytes = htole64(64 << 20);
	text.login.max_io = htole32(1 << 20);
	text.login.nr_queues = htole16(4);
	text.login.queue_depth = htole16(128);
	text.login.keepalive_ms = htole32(5000);
	text.login.inline_read = htole32(4096);
	text.login.inline_write = htole32(4096);
	for (i = 0; i < 32; i++) {
		key[i] = 0x40 + i;
		text.target_nonce[i] = 0x60 + i;
		text.client_nonce[i] = 0x80 + i;
	}
	memcpy(text.label, RNBD_LABEL_CLIENT, strlen(RNBD_LABEL_CLIENT));
	hmac(key, &text, sizeof(text), mac);
	if (memcmp(mac, head, sizeof(head)))
		die("the example of the document comes out as %02x%02x%02x%02x", mac[0], mac[1],
		    mac[2], mac[3]);
}

/* As "rnbd secret generate" writes it. */
void auth_read_secret(const char *file)
{
	FILE *f = fopen(file, "r");
	unsigned int byte, i;

	check_example();
	if (!f || fscanf(f, "rnbd-secret:1:%2x", &byte) != 1)
		die("no secret in %s", file);
	for (i = 0; ; i++) {
		secret[i] = byte;
		if (i == RNBD_SECRET_SIZE - 1)
			break;
		if (fscanf(f, "%2x", &byte) != 1)
			die("half a secret in %s", file);
	}
	fclose(f);
	has_secret = true;
}
