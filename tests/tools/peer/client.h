/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of the hostile client share: its sessions, valid frames, and the way
 * to run and count cases.
 */
#ifndef PEER_CLIENT_H
#define PEER_CLIENT_H

#include "peer.h"

#define SLOTS		16
#define SLOT_SIZE	4096
#define CLOSE_MS	8000
#define BUSY_MS		100	/* pause after a login or an ATTACH that got BUSY */
#define REFUSED_MS	2000

struct results {
	uint32_t done, failed;
};

/* Run @call, which may use the index i, for each selected row of @table; count in @results. */
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

/* A case with its own function, where a row of a table does not suffice. */
struct client_story {
	const char *name;
	void (*run)(void);
};

/* client_session.c */
bool session_start(struct conn *c, uint32_t host);
bool session_login(struct conn *c, const struct rnbd_ctl_login *l, const char *export);
bool session_start_login(struct conn *c, uint32_t host, const struct rnbd_ctl_login *l,
			 const char *export);
bool session_start_export(struct conn *c, uint32_t host, const char *export);
bool session_start_second(struct conn *c, struct conn *first);
bool session_add_second(struct conn *c, const struct conn *first);
bool session_ends(struct conn *c, const char *why);
void session_must_go(struct conn *c, uint32_t ms);
bool session_lives(struct conn *c);
void session_relatives(const struct grant *g, uint64_t *rel);
bool session_rdma(struct conn *c, enum ibv_wr_opcode opcode, uint32_t at, uint32_t units,
		  uint32_t unit);
bool session_denied(int status);
bool session_whole_pool(struct conn *c, enum ibv_wr_opcode opcode);
bool all_zero(const uint8_t *bytes, size_t len);

/* client_build.c */
enum base {
	READ = 1, WRITE, FLUSH, DISCARD, ZEROES, READ_INLINE, WRITE_INLINE, READ_17, TWINS,
	CREDIT, LOGIN, DISCOVER, GARBAGE, LOGIN_REPLY, REPLY, DISCOVER_REPLY, CHALLENGE,
	PROOF, QUERY, ATTACH, ATTACH_REPLY, DETACH, DETACHED, CLOSED, CAPACITY_OF, UNKNOWN,
};

/* Index and export of a second attachment, other than those of the session's first attachment */
#define OTHER_INDEX	5
#define OTHER_EXPORT	"fixed"
/* Type of an UNKNOWN entry, which is mandatory; id of all entries that client_build() makes */
#define UNKNOWN_TYPE	0x7123
#define BUILD_ID	0x51

void client_add_request(struct frame *f, struct rnbd_req_entry entry);
void client_build(struct frame *f, enum base which, const char *export);

/* client_pool.c */
#define FLOOR		64	/* initial pool of a session of struct lease, in units */
#define CEILING		1024

/* A session whose pool grows and shrinks; @slots: bit mask of the slots that have a segment */
struct lease {
	struct conn c;
	uint64_t slots;
	uint32_t held;
};

void lease_fill(struct rnbd_ctl_login *l);
bool lease_start(struct lease *l, uint32_t host, const char *export);
bool lease_start_login(struct lease *l, uint32_t host, const struct rnbd_ctl_login *login,
		       const char *export);
bool lease_holds(const struct lease *l, uint32_t slot);
void lease_want(struct lease *l, uint32_t units);
bool lease_take(struct lease *l, const struct ctl *entry);
bool lease_grow(struct lease *l, uint32_t units);
int lease_slot(const struct lease *l, int above);
struct rnbd_ctl_lease *lease_entry(struct frame *f, uint32_t slot, uint32_t generation);
void lease_release_add(struct lease *l, struct frame *f, uint32_t slot);
void lease_release(struct lease *l, uint32_t slot);
bool lease_take_released(struct lease *l, const struct ctl *entry);
bool lease_await_released(struct lease *l, uint32_t slot);
uint32_t lease_unit(const struct lease *l, uint32_t slot);
struct rnbd_req_entry lease_read(const struct lease *l, uint32_t slot, uint16_t tag);
bool lease_whole_segment(struct lease *l, enum ibv_wr_opcode opcode, uint32_t slot);

/* client_moves.c: sessions of random traffic, and their next actions (moves) */
#define FURTHER		2	/* connections besides the first one */
#define RANDOM_TAGS	16

/**
 * struct player - session of random traffic
 * @l: First connection, and the pool
 * @more: Further connections; element i has the connection number i + 1
 * @nr_more: Number of further connections
 * @reclaimed: Bit mask of the slots whose segments the target reclaims
 * @released: Bit mask of the slots whose segments the client has released, until RELEASED arrives
 * @busy: For each connection, bit mask of the tags of requests that have no reply yet
 * @queried: Bit mask of the connections with a QUERY that has no answer yet
 * @answers: Number of received frames
 * @tame: The session makes no move that breaks a rule of the protocol
 * @wild: The session has sent a frame that was mutated or breaks a rule of the protocol
 */
struct player {
	struct lease l;
	struct conn more[FURTHER];
	uint32_t nr_more;
	uint64_t reclaimed, released;
	uint16_t busy[1 + FURTHER];
	uint32_t queried;
	uint32_t answers;
	bool tame, wild;
};

bool player_login(struct player *p, struct rng *rng);
void player_join(struct player *p, struct rng *rng);
bool player_drain(struct player *p, uint32_t ms);
bool player_release(struct player *p, uint32_t nr);
bool player_move(struct player *p, uint64_t seed, bool wild);
void player_part(struct player *p, bool politely);

/* client_rival.c: a process with a well-behaved session that competes for pool memory */
void rival_start(void);
bool rival_end(void);

/* client_write.c */
void hammer(struct conn *c, const char *why);

/* Cases, by topic */
void client_valid_cases(struct results *results);
void client_key_cases(struct results *results);
void client_credit_cases(struct results *results);
void client_epoch_cases(struct results *results);
void client_write_cases(struct results *results);
void client_attach_cases(struct results *results);
void client_lease_cases(struct results *results);
void client_steps_cases(struct results *results);
void client_reclaim_cases(struct results *results);
void client_stale_cases(struct results *results);
void client_request_cases(struct results *results);
void client_frame_cases(struct results *results);
void client_rdma_cases(struct results *results);
void client_auth_cases(struct results *results);
void client_join_cases(struct results *results);
void client_slots_cases(struct results *results);

#endif /* PEER_CLIENT_H */
