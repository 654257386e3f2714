// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of authentication: the authenticated text byte by byte, the proofs and keys that are
 * computed from it, and the text form of a secret. Another program (Python's hmac module)
 * computed the expected proofs and keys, which
 * Documentation/reference/protocol-authentication.rst lists.
 */
#include "unit.h"
#include "auth.h"
#include "hmac.h"
#include "secret.h"

static void check_hmac(const void *key, size_t key_len, const void *data, size_t len,
		       const char *hex)
{
	char text[65];
	u8 mac[32];
	u32 i;

	test_hmac(key, key_len, data, len, mac);
	for (i = 0; i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", mac[i]);
	assert_string_equal(text, hex);
}

/* test_hmac() agrees with the test cases 1, 2, 3 and 6 of RFC 4231. */
static void test_rfc4231(void **state)
{
	static const char hash_key[] =
		"Test Using Larger Than Block-Size Key - Hash Key First";
	u8 key[131], data[50];

	(void)state;
	memset(key, 0x0b, 20);
	check_hmac(key, 20, "Hi There", 8,
		   "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	check_hmac("Jefe", 4, "what do ya want for nothing?", 28,
		   "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	memset(data, 0xdd, sizeof(data));
	check_hmac(key, 20, data, 50,
		   "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
	check_hmac(key, 131, hash_key, strlen(hash_key),
		   "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* ------------------------------------------------------------------------
 * Authenticated text
 */

static const struct rnbd_conn_req conn = {
	.ring_slots = 128, .slot_size = 4096, .epoch = 3, .attempt = 3,
	.host_id = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.session_id = { 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

static const struct rnbd_login_info login = {
	.boot_id = { 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48 },
	.features = 3, .pool_bytes = 64 << 20, .max_io = 1 << 20, .nr_queues = 4,
	.queue_depth = 128, .keepalive_ms = 5000, .inline_read = 4096,
	.inline_write = 4096,
};

static u8 secret[RNBD_SECRET_SIZE];

static void fill(u8 *bytes, u32 len, u8 first)
{
	while (len--)
		*bytes++ = first++;
}

static void begin(struct rnbd_auth_text *text)
{
	memset(text, 0xee, sizeof(*text));
	fill(secret, sizeof(secret), 0x40);
	rnbd_auth_begin(text, &conn, &login);
	fill(text->target_nonce, sizeof(text->target_nonce), 0x60);
	fill(text->client_nonce, sizeof(text->client_nonce), 0x80);
	fill(text->target_uuid, sizeof(text->target_uuid), 0xa0);
}

static void check_mac(const u8 *mac_key, const void *text, size_t bytes, const u8 *golden)
{
	u8 mac[RNBD_MAC_SIZE];

	test_hmac(mac_key, RNBD_SECRET_SIZE, text, bytes, mac);
	assert_memory_equal(mac, golden, sizeof(mac));
}

static void test_text(void **state)
{
	struct rnbd_auth_text text;
	struct rnbd_ctl_login wire;
	struct rnbd_cm_req req;
	const u8 *at = (void *)&text;
	u32 i;

	(void)state;
	begin(&text);
	rnbd_encode_cm_req(&req, &conn);
	rnbd_encode_login(&wire, &login);
	rnbd_auth_label(text.label, RNBD_LABEL_CLIENT);
	assert_int_equal(sizeof(text), 216);
	assert_memory_equal(at, "rnbd 1 client\0\0", 16);
	assert_memory_equal(at + 16, &req, 56);
	assert_memory_equal(at + 72, &wire, 64);
	for (i = 0; i < 32; i++) {
		assert_int_equal(at[136 + i], 0x60 + i);
		assert_int_equal(at[168 + i], 0x80 + i);
	}
	for (i = 0; i < 16; i++)
		assert_int_equal(at[200 + i], 0xa0 + i);

	/* A shorter label overwrites all bytes of the longer label that was set before. */
	rnbd_auth_label(text.label, RNBD_LABEL_KEY);
	assert_memory_equal(at, "rnbd 1 key\0\0\0\0\0\0", 16);
}

static void begin_join(struct rnbd_join_text *text)
{
	struct rnbd_conn_req req = conn;

	req.conn = 3;
	req.attempt = 6;
	memset(text, 0xee, sizeof(*text));
	rnbd_auth_join(text, &req);
	fill(text->target_nonce, sizeof(text->target_nonce), 0xc0);
	fill(text->client_nonce, sizeof(text->client_nonce), 0xe0);
}

static void test_join_text(void **state)
{
	struct rnbd_conn_req other = conn;
	struct rnbd_join_text text;
	struct rnbd_cm_req req;
	const u8 *at = (void *)&text;
	u32 i;

	(void)state;
	begin_join(&text);
	other.conn = 3;
	other.attempt = 6;
	rnbd_encode_cm_req(&req, &other);
	for (i = 0; i < 16; i++)
		assert_int_equal(at[i], 0);
	rnbd_auth_label(text.label, RNBD_LABEL_JOINED);
	assert_int_equal(sizeof(text), 136);
	assert_memory_equal(at, "rnbd 1 joined\0\0", 16);
	assert_memory_equal(at + 16, &req, 56);
	for (i = 0; i < 32; i++) {
		assert_int_equal(at[72 + i], 0xc0 + i);
		assert_int_equal(at[104 + i], 0xe0 + i);
	}
}

static void test_vectors(void **state)
{
	static const u8 client[] = {
		0x46, 0xd5, 0xe2, 0x68, 0xba, 0xf4, 0x3f, 0x69,
		0x26, 0x85, 0xb0, 0xe3, 0xd6, 0x07, 0x1a, 0x91,
		0xff, 0x86, 0xc4, 0x7a, 0xeb, 0x55, 0xed, 0x91,
		0xcc, 0x12, 0xbb, 0x05, 0x37, 0xb3, 0x2c, 0x79,
	};
	static const u8 target[] = {
		0xea, 0xa6, 0x7a, 0x62, 0xaa, 0x11, 0x24, 0x2a,
		0x62, 0x58, 0xd1, 0x39, 0x4b, 0x3e, 0x31, 0x1f,
		0xf5, 0xf8, 0xbd, 0x45, 0xec, 0xbc, 0x6c, 0x03,
		0x84, 0xe8, 0x71, 0x9d, 0x90, 0x1d, 0x62, 0x6e,
	};
	static const u8 session[] = {
		0xe9, 0xb5, 0x37, 0x90, 0x22, 0x1d, 0xad, 0x49,
		0x5d, 0xe5, 0x5e, 0x7f, 0xbe, 0x4e, 0x6c, 0xc4,
		0xd4, 0xb2, 0xdb, 0x0a, 0xcd, 0x30, 0x13, 0xf8,
		0x89, 0x44, 0xa1, 0x5a, 0xdf, 0x9d, 0xb7, 0xa0,
	};
	static const u8 join[] = {
		0x3e, 0xa2, 0x4e, 0x9c, 0x00, 0xf6, 0xf6, 0x97,
		0xbf, 0xa9, 0xb2, 0x2e, 0x59, 0x0b, 0x61, 0xa2,
		0xb2, 0x68, 0xb1, 0xb4, 0x28, 0xe6, 0x32, 0x0d,
		0x16, 0x47, 0x25, 0xba, 0xaf, 0xcd, 0xf0, 0xc0,
	};
	static const u8 joined[] = {
		0x6d, 0xf4, 0x99, 0xe1, 0x69, 0x68, 0x36, 0xc9,
		0x35, 0x4f, 0xe7, 0xd9, 0xf7, 0x3c, 0x32, 0x0c,
		0x5c, 0x1d, 0x21, 0x61, 0x6b, 0x1d, 0xe3, 0x67,
		0xe7, 0x04, 0xd4, 0x19, 0x6f, 0xff, 0x0d, 0x09,
	};
	struct rnbd_join_text join_text;
	struct rnbd_auth_text text;

	(void)state;
	begin(&text);
	rnbd_auth_label(text.label, RNBD_LABEL_CLIENT);
	check_mac(secret, &text, sizeof(text), client);
	rnbd_auth_label(text.label, RNBD_LABEL_TARGET);
	check_mac(secret, &text, sizeof(text), target);
	rnbd_auth_label(text.label, RNBD_LABEL_KEY);
	check_mac(secret, &text, sizeof(text), session);

	begin_join(&join_text);
	rnbd_auth_label(join_text.label, RNBD_LABEL_JOIN);
	check_mac(session, &join_text, sizeof(join_text), join);
	rnbd_auth_label(join_text.label, RNBD_LABEL_JOINED);
	check_mac(session, &join_text, sizeof(join_text), joined);
}

/* A change of a value in the connection request or in the login changes the text. */
static void test_bound(void **state)
{
	struct rnbd_auth_text text, other;
	struct rnbd_login_info info;
	struct rnbd_conn_req req;

	(void)state;
	begin(&text);
#define CHANGE_REQ(change) do {						\
	req = conn;							\
	req.change;							\
	begin(&other);							\
	rnbd_auth_begin(&other, &req, &login);				\
	assert_memory_not_equal(&other.req, &text.req, 56);		\
} while (0)
#define CHANGE_LOGIN(change) do {					\
	info = login;							\
	info.change;							\
	begin(&other);							\
	rnbd_auth_begin(&other, &conn, &info);				\
	assert_memory_not_equal(&other.login, &text.login, 64);		\
} while (0)
	CHANGE_REQ(host_id[0] ^= 1);
	CHANGE_REQ(session_id[15] ^= 0x80);
	CHANGE_REQ(epoch++);
	CHANGE_REQ(conn++);
	CHANGE_REQ(path++);
	CHANGE_REQ(attempt++);
	CHANGE_REQ(ring_slots++);
	CHANGE_REQ(slot_size += 64);
	CHANGE_LOGIN(boot_id[0] ^= 1);
	CHANGE_LOGIN(pool_bytes++);
	CHANGE_LOGIN(pool_min++);
	CHANGE_LOGIN(features ^= 1);
	CHANGE_LOGIN(max_io += 4096);
	CHANGE_LOGIN(nr_queues++);
	CHANGE_LOGIN(queue_depth++);
	CHANGE_LOGIN(keepalive_ms++);
	CHANGE_LOGIN(inline_read++);
	CHANGE_LOGIN(inline_write++);
	CHANGE_LOGIN(fence_generation++);
	/* The text of a LIST differs from that of a LOGIN. */
	begin(&other);
	rnbd_auth_begin(&other, &conn, NULL);
	assert_memory_not_equal(&other.login, &text.login, 64);
}

/* ------------------------------------------------------------------------
 * Secrets
 */

static const char written[] =
"rnbd-secret:1:404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f:5e268e58";

static void test_secret_form(void **state)
{
	char text[RNBD_SECRET_TEXT_SIZE + 1];
	u8 out[RNBD_SECRET_SIZE];

	(void)state;
	fill(secret, sizeof(secret), 0x40);
	memset(text, 'x', sizeof(text));
	rnbd_secret_format(secret, text);
	assert_string_equal(text, written);
	assert_int_equal(strlen(text), RNBD_SECRET_TEXT_SIZE - 1);
	assert_int_equal(text[RNBD_SECRET_TEXT_SIZE], 'x');

	assert_null(rnbd_secret_parse(written, strlen(written), out));
	assert_memory_equal(out, secret, sizeof(out));
	text[RNBD_SECRET_TEXT_SIZE - 1] = '\n';
	memset(out, 0, sizeof(out));
	assert_null(rnbd_secret_parse(text, RNBD_SECRET_TEXT_SIZE, out));
	assert_memory_equal(out, secret, sizeof(out));
	/* Upper-case hexadecimal digits are valid. */
	text[14 + 21] = 'A';
	text[14 + 20] = '4';
	assert_null(rnbd_secret_parse(text, RNBD_SECRET_TEXT_SIZE, out));
	assert_memory_equal(out, secret, sizeof(out));
}

static void check_refused(const char *text, size_t len)
{
	char *exact = malloc(len ? len : 1);
	u8 out[RNBD_SECRET_SIZE];
	const char *why;
	u32 i;

	assert_non_null(exact);
	memcpy(exact, text, len);
	memset(out, 0xa5, sizeof(out));
	why = rnbd_secret_parse(exact, len, out);
	if (!why)
		fail_msg("\"%.*s\" is accepted as a secret", (int)len, text);
	for (i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], 0);
	free(exact);
}

static void test_secret_faults(void **state)
{
	const size_t full = strlen(written);
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < full; i++)
		check_refused(written, i);
	snprintf(text, sizeof(text), "%s ", written);
	check_refused(text, full + 1);
	snprintf(text, sizeof(text), "%s\n\n", written);
	check_refused(text, full + 2);
	/* A change of any character makes the text invalid. */
	for (i = 0; i < full; i++) {
		memcpy(text, written, full);
		text[i] = text[i] == '1' ? '2' : '1';
		check_refused(text, full);
		text[i] = 'g';
		check_refused(text, full);
		text[i] = '\0';
		check_refused(text, full);
	}
	assert_non_null(strstr(rnbd_secret_parse("", 0, secret), "begins with"));
	assert_non_null(strstr(rnbd_secret_parse(written, full - 1, secret), "cut off"));
	memcpy(text, written, full);
	text[20] = text[20] == '4' ? '5' : '4';
	assert_non_null(strstr(rnbd_secret_parse(text, full, secret), "checksum"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rfc4231),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_join_text),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_secret_form),
		cmocka_unit_test(test_secret_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
