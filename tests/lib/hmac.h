/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HMAC-SHA256 (FIPS 180-4, RFC 2104) for tests, which cannot use the kernel's implementation.
 * test_auth.c checks this code with the vectors of RFC 4231. The code is not for real secrets,
 * because it does not wipe the memory that it used.
 */
#ifndef RNBD_TEST_HMAC_H
#define RNBD_TEST_HMAC_H

#include <stdint.h>
#include <string.h>

struct test_sha256 {
	uint32_t h[8];
	uint8_t block[64];
	uint64_t bytes;
};

static inline uint32_t test_ror(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static inline void test_sha256_block(struct test_sha256 *sha)
{
	static const uint32_t k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
		0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
		0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
		0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
		0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
		0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
		0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
		0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
		0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
		0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
		0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
	};
	uint32_t w[64], v[8], i;

	for (i = 0; i < 16; i++)
		w[i] = (uint32_t)sha->block[4 * i] << 24 | sha->block[4 * i + 1] << 16 |
		       sha->block[4 * i + 2] << 8 | sha->block[4 * i + 3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (test_ror(w[i - 15], 7) ^ test_ror(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (test_ror(w[i - 2], 17) ^ test_ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, sha->h, sizeof(v));
	for (i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4], t1, t2;

		t1 = v[7] + (test_ror(e, 6) ^ test_ror(e, 11) ^ test_ror(e, 25)) +
		     ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
		t2 = (test_ror(a, 2) ^ test_ror(a, 13) ^ test_ror(a, 22)) +
		     ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		sha->h[i] += v[i];
}

static inline void test_sha256_begin(struct test_sha256 *sha)
{
	static const uint32_t h[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sha->h, h, sizeof(h));
	sha->bytes = 0;
}

static inline void test_sha256_add(struct test_sha256 *sha, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--) {
		sha->block[sha->bytes++ % 64] = *p++;
		if (sha->bytes % 64 == 0)
			test_sha256_block(sha);
	}
}

static inline void test_sha256_end(struct test_sha256 *sha, uint8_t *digest)
{
	uint64_t bits = 8 * sha->bytes;
	uint8_t byte = 0x80;
	int i;

	do {
		test_sha256_add(sha, &byte, 1);
		byte = 0;
	} while (sha->bytes % 64 != 56);
	for (i = 56; i >= 0; i -= 8) {
		byte = bits >> i;
		test_sha256_add(sha, &byte, 1);
	}
	for (i = 0; i < 32; i++)
		digest[i] = sha->h[i / 4] >> (24 - 8 * (i % 4));
}

static inline void test_hmac(const void *key, size_t key_len, const void *data, size_t len,
			     uint8_t *mac)
{
	struct test_sha256 sha;
	uint8_t pad[64] = { 0 };
	int i;

	if (key_len > sizeof(pad)) {
		test_sha256_begin(&sha);
		test_sha256_add(&sha, key, key_len);
		test_sha256_end(&sha, pad);
	} else {
		memcpy(pad, key, key_len);
	}
	for (i = 0; i < 64; i++)
		pad[i] ^= 0x36;
	test_sha256_begin(&sha);
	test_sha256_add(&sha, pad, sizeof(pad));
	test_sha256_add(&sha, data, len);
	test_sha256_end(&sha, mac);
	for (i = 0; i < 64; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	test_sha256_begin(&sha);
	test_sha256_add(&sha, pad, sizeof(pad));
	test_sha256_add(&sha, mac, 32);
	test_sha256_end(&sha, mac);
}

#endif /* RNBD_TEST_HMAC_H */
