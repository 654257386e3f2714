/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the hostile client share: its sessions, valid frames to start from, and
 * how cases are run and counted.
 */
#ifndef PEER_CLIENT_H
#define PEER_CLIENT_H

#include "peer.h"

#define SLOTS		16
#define SLOT_SIZE	4096
#define CLOSE_MS	8000
#define REFUSED_MS	2000
#define LOGIN_MS	20000

struct results {
	uint32_t done, failed;
};

/* Run @call for each selected row of @table, i, and count the cases. */
#define RUN_CASES(table, results, call)						\
do {										\
	size_t i;								\
										\
	for (i = 0; i < ARRAY_SIZE(table); i++) {				\
		uint64_t began = now_ms();					\
										\
		if (!selected(table[i].name))					\
			continue;						\
		call;								\
		(results)->done++;						\
		(results)->failed += !judge(table[i].name, true, began);	\
	}									\
} while (0)

/* A case that is more than a line of a table. */
struct client_story {
	const char *name;
	void (*run)(void);
};

/* client_session.c */
bool session_start(struct conn *c, uint32_t host);
bool session_start_export(struct conn *c, uint32_t host, const char *export);
bool session_start_second(struct conn *c, struct conn *first);
bool session_ends(struct conn *c, const char *why);
void session_must_go(struct conn *c, uint32_t ms);
bool session_lives(struct conn *c);
void session_relatives(const struct grant *g, uint64_t *rel);
bool session_rdma(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t units,
		  uint32_t unit);
bool session_whole_pool(struct conn *c, enum ibv_wr_opcode opcode);
bool all_zero(const uint8_t *bytes, size_t len);

/* client_build.c */
enum base {
	READ = 1, WRITE, FLUSH, DISCARD, ZEROES, READ_INLINE, WRITE_INLINE, READ_17, TWINS,
	CREDIT, LOGIN, DISCOVER, GARBAGE, LOGIN_REPLY, REPLY, RESIZE, DISCOVER_REPLY,
	CHALLENGE, PROOF, QUERY,
};

void client_add_request(struct frame *f, struct rnbd_req_entry entry);
void client_build(struct frame *f, enum base which, const char *export);

/* client_write.c */
void hammer(struct conn *c, const char *why);

/* the cases, by topic */
void client_lawful_cases(struct results *results);
void client_key_cases(struct results *results);
void client_credit_cases(struct results *results);
void client_epoch_cases(struct results *results);
void client_write_cases(struct results *results);
void client_request_cases(struct results *results);
void client_frame_cases(struct results *results);
void client_rdma_cases(struct results *results);
void client_auth_cases(struct results *results);

#endif /* PEER_CLIENT_H */
