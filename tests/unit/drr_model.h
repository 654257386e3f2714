/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model of hosts and a storage, for tests of the scheduler in front of the storage
 * (drivers/target/drr.c).
 *
 * The storage completes requests in the order in which it receives them. Each request takes
 * OVERHEAD_US, plus a microsecond per BYTES_PER_US bytes. As in drivers/target/sched.c, a request
 * that finds no other request waiting goes to the storage if the cost in flight is below WINDOW.
 * When the cost in flight has fallen to LOW, waiting requests go to the storage until the cost
 * reaches WINDOW. A client always has the same number of requests at the target, its depth: when
 * one completes, the client sends another one.
 */
#ifndef UNIT_DRR_MODEL_H
#define UNIT_DRR_MODEL_H

#include "list.h"
#include "unit.h"

/* Number of times that the scheduler has moved a child to the end of its list. */
static unsigned long moves;
#define list_move_tail(entry, head)	(moves++, (list_move_tail)(entry, head))

#include "../../drivers/target/drr.c"

#define KIB		1024u
#define MIB		(1024u * KIB)
#define OVERHEAD	(16 * KIB)
#define WINDOW		(256 * (OVERHEAD + 4 * KIB))
#define LOW		(WINDOW - WINDOW / 8)
#define BYTES_PER_US	1000u
#define OVERHEAD_US	5u

#define HOSTS_MAX	64
#define SESSIONS_MAX	(2 * HOSTS_MAX)
#define DISKS_MAX	(8 * HOSTS_MAX)
#define DEPTH_MAX	512

struct request {
	struct rnbdt_drr_item item;
	struct list_head sent;		/* entry of model.storage */
	struct disk *disk;
	u32 bytes;
	u64 order;
};

struct host {
	struct rnbdt_drr_node node;
	u32 weight;
	u64 bytes;
};

struct session {
	struct rnbdt_drr_node node;
	struct host *host;
	u64 bytes;
};

struct disk {
	struct rnbdt_drr_node node;
	struct session *session;
	struct request reqs[DEPTH_MAX];
	u32 depth;
	u32 small, large, per_mille;	/* request sizes in bytes; large requests per 1000 */
	bool started;
	u64 bytes, added, taken;
};

struct model {
	struct rnbdt_drr_node root;
	struct list_head storage;
	struct host host[HOSTS_MAX];
	struct session session[SESSIONS_MAX];
	struct disk disk[DISKS_MAX];
	u32 hosts, sessions, disks;
	s64 in_flight;
	u64 now_us, bytes;
	bool fifo;			/* bypass the scheduler, for comparison */
};

static struct model model;
static struct unit_random rnd;
static const u32 equal = RNBDT_WEIGHT_DEFAULT;

static inline struct host *new_host(u32 weight)
{
	struct host *host = &model.host[model.hosts++];

	assert_true(model.hosts <= HOSTS_MAX);
	host->weight = weight;
	rnbdt_drr_init(&host->node, &model.root, &host->weight, false);
	return host;
}

static inline struct session *new_session(struct host *host)
{
	struct session *session = &model.session[model.sessions++];

	assert_true(model.sessions <= SESSIONS_MAX);
	session->host = host;
	rnbdt_drr_init(&session->node, &host->node, &equal, false);
	return session;
}

static inline struct disk *new_disk(struct session *session, u32 depth, u32 small, u32 large,
				    u32 per_mille)
{
	struct disk *disk = &model.disk[model.disks++];

	assert_true(model.disks <= DISKS_MAX && depth <= DEPTH_MAX);
	disk->session = session;
	disk->depth = depth;
	disk->small = small;
	disk->large = large;
	disk->per_mille = per_mille;
	rnbdt_drr_init(&disk->node, &session->node, &equal, true);
	return disk;
}

/* Create a host with one session and one disk. */
static inline struct disk *new_client(u32 weight, u32 depth, u32 small, u32 large, u32 per_mille)
{
	return new_disk(new_session(new_host(weight)), depth, small, large, per_mille);
}

static inline int setup(void **state)
{
	(void)state;
	memset(&model, 0, sizeof(model));
	rnbdt_drr_init_root(&model.root, OVERHEAD);
	INIT_LIST_HEAD(&model.storage);
	return 0;
}

static inline void to_storage(struct request *req)
{
	model.in_flight += req->item.cost;
	list_add_tail(&req->sent, &model.storage);
}

/* Model of rnbdt_sched_take() */
static inline void take(void)
{
	struct rnbdt_drr_item *item;

	if (model.in_flight > LOW)
		return;
	while (model.root.queued && model.in_flight < WINDOW) {
		item = rnbdt_drr_next(&model.root);
		struct request *req = list_entry(item, struct request, item);

		/* Requests of one disk keep their order. */
		assert_int_equal(req->order, req->disk->taken++);
		to_storage(req);
	}
}

static inline void enter(struct disk *disk, struct request *req, u32 bytes)
{
	req->disk = disk;
	req->bytes = bytes;
	req->item.ahead = false;
	req->item.cost = rnbdt_drr_cost(OVERHEAD, bytes);
	if (model.fifo || (!model.root.queued && model.in_flight < WINDOW)) {
		to_storage(req);
		return;
	}
	if (!bytes && rnbdt_drr_pass(&disk->node, &req->item)) {
		to_storage(req);
		return;
	}
	req->order = disk->added++;
	assert_true(rnbdt_drr_add(&disk->node, &req->item));
	take();
}

static inline void enter_next(struct disk *disk, struct request *req)
{
	bool large = unit_random_below(&rnd, 1000) < disk->per_mille;

	enter(disk, req, large ? disk->large : disk->small);
}

static inline void start(struct disk *disk)
{
	u32 i;

	disk->started = true;
	for (i = 0; i < disk->depth; i++)
		enter_next(disk, &disk->reqs[i]);
}

/* Complete the oldest request of the storage. The client of this request sends the next one. */
static inline struct request *complete(void)
{
	struct request *req = list_first_entry(&model.storage, struct request, sent);
	struct disk *disk = req->disk;

	/*
	 * The scheduler is work-conserving: while requests wait, the cost in flight is above
	 * LOW.
	 */
	assert_false(list_empty(&model.storage));
	assert_true(model.fifo || !model.root.queued || model.in_flight > LOW);
	list_del_init(&req->sent);
	model.now_us += OVERHEAD_US + req->bytes / BYTES_PER_US;
	model.in_flight -= req->item.cost;
	if (req->item.ahead)
		rnbdt_drr_passed(&disk->node);
	disk->bytes += req->bytes;
	disk->session->bytes += req->bytes;
	disk->session->host->bytes += req->bytes;
	model.bytes += req->bytes;
	if (model.root.queued)
		take();
	if (disk->started)
		enter_next(disk, req);
	return req;
}

static inline void run(u64 bytes)
{
	u64 end = model.bytes + bytes;

	while (model.bytes < end)
		complete();
}

static inline void forget(void)
{
	u32 i;

	for (i = 0; i < model.hosts; i++)
		model.host[i].bytes = 0;
	for (i = 0; i < model.sessions; i++)
		model.session[i].bytes = 0;
	for (i = 0; i < model.disks; i++)
		model.disk[i].bytes = 0;
	model.bytes = 0;
}

static inline double jain(void)
{
	double sum = 0, squares = 0;
	u32 i;

	for (i = 0; i < model.hosts; i++) {
		sum += model.host[i].bytes;
		squares += (double)model.host[i].bytes * model.host[i].bytes;
	}
	return sum * sum / (model.hosts * squares);
}

static inline void assert_within(double value, double wanted, double percent)
{
	if (value < wanted * (1 - percent / 100) || value > wanted * (1 + percent / 100))
		fail_msg("%g, wanted %g within %g %%", value, wanted, percent);
}

#endif /* UNIT_DRR_MODEL_H */
