// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute the MACs that prove the knowledge of the secret of a host, or of a session key, as
 * Documentation/reference/protocol-authentication.rst defines them. The code uses the tests' own
 * SHA-256 and not the kernel's crypto API.
 *
 * Operation: the example of the document is checked when the secret is read.
 * Ownership, Concurrency: the secret is the only state; one thread uses it.
 * Errors: a file without a secret ends the program.
 */
#include <string.h>

#include "hmac.h"
#include "peer.h"

uint8_t secret[RNBD_SECRET_SIZE];
bool has_secret;

/* Set the label of @text and compute its HMAC with the secret of the host. */
void auth_mac(struct rnbd_auth_text *text, const char *label, uint8_t *mac)
{
	memset(text->label, 0, sizeof(text->label));
	memcpy(text->label, label, strlen(label));
	test_hmac(secret, sizeof(secret), text, sizeof(*text), mac);
}

/* Set the label of the text for a further connection; compute its HMAC with the session key. */
void auth_join_mac(const uint8_t *key, struct rnbd_join_text *text, const char *label,
		   uint8_t *mac)
{
	memset(text->label, 0, sizeof(text->label));
	memcpy(text->label, label, strlen(label));
	test_hmac(key, RNBD_MAC_SIZE, text, sizeof(*text), mac);
}

static void check_example(void)
{
	static const uint8_t head[] = { 0x46, 0xd5, 0xe2, 0x68, 0xba, 0xf4, 0x3f, 0x69 };
	struct rnbd_auth_text text = { };
	uint8_t mac[32], key[32];
	int i;

	text.req = (struct rnbd_cm_req) {
		.magic = htole32(RNBD_MAGIC), .version = htole16(RNBD_VERSION),
		.ring_slots = htole16(128), .slot_size = htole32(4096), .epoch = htole32(3),
		.attempt = htole32(3),
	};
	for (i = 0; i < 16; i++) {
		text.req.host_id[i] = 0x01 + i;
		text.req.session_id[i] = 0x11 + i;
		text.login.boot_id[i] = 0x21 + i;
	}
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
	for (i = 0; i < 16; i++)
		text.target_uuid[i] = 0xa0 + i;
	memcpy(text.label, RNBD_LABEL_CLIENT, strlen(RNBD_LABEL_CLIENT));
	test_hmac(key, sizeof(key), &text, sizeof(text), mac);
	if (memcmp(mac, head, sizeof(head)))
		die("the HMAC of the documented example is %02x%02x%02x%02x", mac[0], mac[1],
		    mac[2], mac[3]);
}

/* Read a secret in the format of "rnbd secret generate". */
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
			die("incomplete secret in %s", file);
	}
	fclose(f);
	has_secret = true;
}
