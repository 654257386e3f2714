/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of the hostile target share: the cases, the state of the current
 * case, and the steps of a case.
 */
#ifndef PEER_TARGET_H
#define PEER_TARGET_H

#include "peer.h"

#define DISK_BYTES	0x100000u
#define POOL_UNITS	512u
#define SEGMENT_UNITS	256u
#define MAX_UNITS	768u	/* largest pool of a client that requests a floor, in units */
#define MAX_SLOTS	4u
#define OVERSIZED	INT32_MAX	/* for target_case.more: a frame larger than a slot */

#define TARGET_FURTHER	2	/* most connections besides the first one, in random mode */
#define PUT_OFF_MAX	64	/* most received frames that wait until earlier ones are answered */
#define JOB_MS		40000
#define GONE_MS		8000

/*
 * Time of the strike. AT_ANSWER: in the reply that accepts a connection request. AT_REFUSAL: in the
 * reply that rejects it. AT_AGAIN: the target closes the attachment of an existing disk, and the
 * client sends another ATTACH; the strike replaces the reply to this ATTACH if @base is
 * ATTACH_REPLY, and follows this reply otherwise.
 */
enum when {
	AT_ANSWER, AT_REFUSAL, AT_CONNECTED, AT_LOGIN, AT_PROOF, AT_PROVEN, AT_ATTACH, AT_REQUEST,
	AT_LIVE, AT_AGAIN, AT_LIST,
};

enum base {
	NOTHING, LOGIN_REPLY, REPLY, CREDIT, DISCOVER_REPLY, LOGIN, REQUEST, CHALLENGE, PROOF,
	DENIAL, QUERY, GARBAGE, ATTACH_REPLY, NO_ATTACHMENT, ATTACH, DETACH, DETACHED, END,
	NEW_CAPACITY, SLOTS_ASK, SLOTS_ANSWER, UNKNOWN, JOINED, NEW_SEGMENT, RECLAIM, RELEASED,
	WANT,
};

#define UNKNOWN_TYPE	0x7123	/* type of UNKNOWN, marked as mandatory */
#define AGAIN_MS	100	/* delay before a client shall attach again */

/* Action in addition to, or instead of, sending one frame. */
enum also {
	ONCE, TWICE, HANG_UP, SILENT, IMMEDIATE, INVALIDATE, FLOOD, STARVE, ENDLESS, RELENT,
	EAGER, DOUBLE, OVERDRAW, LOST, PERSIST,
};

#define NO_SENSE	"the connection reply of the target is invalid"
#define ODD_REFUSAL	"the refusal of the target is invalid"
#define CLOSED		"the target closed the connection"
#define SOME_FAULT	"*"	/* any violation that ends the connection */
#define NOT_ASKED	"the target has no secret for this host (there: rnbd host secret)"
#define ASKED		"the target asks for the secret of this host (attach with --secret-file)"
#define UNANSWERED	"the target does not answer the request to attach"
#define WITHDRAWN	"the export was disabled or withdrawn (on the target: rnbd export list)"
#define UNPROVEN	"the target did not authenticate with the secret of this host"
#define WRONG_PROOF	"the target does not know the secret of this host"
/*
 * The client ends a discovery after 20 s with this error. On a slow machine this can happen before
 * the list has too many exports.
 */
#define TOO_LATE	"the target does not answer the login"

struct target_case {
	const char *name;
	enum when when;
	enum base base;
	const char *why;	/* expected reason; NULL: success; "": any reason */
	struct patch p[3];	/* for the frame, or for the reply to the connection request */
	int32_t more;
	enum also also;
	struct patch grant[3];	/* for an earlier LOGIN_REPLY */
	struct patch attach[3];	/* for an earlier ATTACH_REPLY */
	bool secret;		/* the client has a secret */
	bool elastic;		/* the client requests a floor */
	bool late;		/* the attach can succeed; the disk must then lose its connection */
	enum proof proof;
};

/* State of the current case. */
struct target_state {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	const struct target_case *tc;
	struct conn c;
	struct rnbd_cm_req req;
	struct rnbd_ctl_login login;	/* all zero for a list */
	bool list;
	struct rnbd_ctl_attach attach;	/* latest ATTACH on this connection; all zero if none */
	uint32_t attach_id;
	bool attached;			/* the handle of @attach is attached */
	uint32_t asked;			/* number of ATTACHs on this connection */
	bool struck, live, silent;
	uint32_t released;		/* number of returned segments */
	uint64_t rel[NR_RELATIVE];
	struct rng *mutate;	/* random mode; NULL otherwise */
	uint32_t mutate_at;	/* number of frames before the next mutation */
	uint32_t mutate_every;	/* upper limit of @mutate_at */
	uint32_t mutated;
	struct conn more[TARGET_FURTHER];
	uint32_t further;	/* number of connections granted besides the first one */
	uint32_t nr_put_off;
	struct {
		struct conn *c;
		uint32_t len;
		uint8_t b[RNBD_SLOT_SIZE_MAX];
	} put_off[PUT_OFF_MAX];
};

extern struct target_state target;

/* target_table.c */
extern const struct target_case target_table[];
extern const size_t target_table_size;

/* target_build.c */
void target_build_grant(struct frame *f);
void target_build_list(struct frame *f, bool more, uint32_t nr);
void target_build(struct frame *f, enum base which);
void target_build_detached(struct frame *f, const struct rnbd_ctl_handle *h, uint32_t id);

/* target_strike.c */
void target_patch(uint8_t *bytes, const struct patch *p, size_t nr);
bool target_has_credit(struct conn *c);
void target_send(struct conn *c, struct frame *f);
void target_strike(struct conn *c);
void target_close_attachment(struct conn *c);

/* target_further.c */
void target_further_begin(struct rnbd_ctl_login_reply *r);
bool target_further_request(struct rdma_cm_id *id, const struct rnbd_cm_req *req);
void target_further_entry(struct conn *c, const struct ctl *entry);
void target_further_drop(struct conn *c);
void target_hang_up(void);

/* target_lease.c */
bool target_elastic(void);
void target_lease_begin(uint32_t units);
void target_lease_want(struct conn *c, const struct ctl *entry);
void target_lease_release(struct conn *c, const struct ctl *entry);
void target_event(void);

/* target_serve.c */
void target_answer_query(struct conn *c, const struct ctl *entry);
void target_listen(void);
void target_serve(void);

/* target_judge.c */
bool target_job_wait(struct job *job, const char *what);
bool target_job_run(struct job *job, const char *fmt, const char *arg);
bool disks_left(void);
void must_hang_up(void);
const char *violation_kind(const char *why);
uint64_t violations(const char *kind);
void must_count(const char *why, uint64_t all, uint64_t of_kind);
void must_detach(const char *disk);
void must_lose(const struct target_case *tc, const char *disk);

#endif /* PEER_TARGET_H */
