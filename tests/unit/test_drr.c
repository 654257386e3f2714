// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scheduler in front of the storage, against a model of hosts and storage.
 *
 * The storage completes requests in the order in which it gets them, BYTES_PER_US each
 * microsecond, and takes OVERHEAD_US for each. The scheduler lets requests pass while what
 * is in flight is below the window, as drivers/target/sched.h does. A client keeps as many
 * requests at the target as its depth says, and sends the next one when one has ended.
 */
#include "list.h"
#include "unit.h"

/* Counts the children that the scheduler looks at. */
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
	struct list_head sent;		/* in model.storage */
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
	u32 small, large, per_mille;	/* bytes of requests, and how many are large */
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
	bool fifo;			/* no scheduler: how things are without it */
};

static struct model model;
static struct unit_random rnd;
static const u32 equal = RNBDT_WEIGHT_DEFAULT;

static struct host *new_host(u32 weight)
{
	struct host *host = &model.host[model.hosts++];

	assert_true(model.hosts <= HOSTS_MAX);
	host->weight = weight;
	rnbdt_drr_init(&host->node, &model.root, &host->weight, false);
	return host;
}

static struct session *new_session(struct host *host)
{
	struct session *session = &model.session[model.sessions++];

	assert_true(model.sessions <= SESSIONS_MAX);
	session->host = host;
	rnbdt_drr_init(&session->node, &host->node, &equal, false);
	return session;
}

static struct disk *new_disk(struct session *session, u32 depth, u32 small, u32 large,
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

/* A host with one session and one disk */
static struct disk *new_client(u32 weight, u32 depth, u32 small, u32 large, u32 per_mille)
{
	return new_disk(new_session(new_host(weight)), depth, small, large, per_mille);
}

static int setup(void **state)
{
	(void)state;
	memset(&model, 0, sizeof(model));
	rnbdt_drr_init_root(&model.root, OVERHEAD);
	INIT_LIST_HEAD(&model.storage);
	return 0;
}

static void to_storage(struct request *req)
{
	model.in_flight += req->item.cost;
	list_add_tail(&req->sent, &model.storage);
}

/* As rnbdt_sched_take() */
static void take(void)
{
	struct rnbdt_drr_item *item;

	if (model.in_flight > LOW)
		return;
	while (model.root.queued && model.in_flight < WINDOW) {
		item = rnbdt_drr_next(&model.root);
		struct request *req = list_entry(item, struct request, item);

		/* first in, first out for one disk */
		assert_int_equal(req->order, req->disk->taken++);
		to_storage(req);
	}
}

static void enter(struct disk *disk, struct request *req, u32 bytes)
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

static void enter_next(struct disk *disk, struct request *req)
{
	bool large = unit_random_below(&rnd, 1000) < disk->per_mille;

	enter(disk, req, large ? disk->large : disk->small);
}

static void start(struct disk *disk)
{
	u32 i;

	disk->started = true;
	for (i = 0; i < disk->depth; i++)
		enter_next(disk, &disk->reqs[i]);
}

/* The storage completes its oldest request, and the client sends the next one. */
static struct request *complete(void)
{
	struct request *req = list_first_entry(&model.storage, struct request, sent);
	struct disk *disk = req->disk;

	/* work-conserving: nothing waits while the storage has room */
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

static void run(u64 bytes)
{
	u64 end = model.bytes + bytes;

	while (model.bytes < end)
		complete();
}

static void forget(void)
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

static double jain(void)
{
	double sum = 0, squares = 0;
	u32 i;

	for (i = 0; i < model.hosts; i++) {
		sum += model.host[i].bytes;
		squares += (double)model.host[i].bytes * model.host[i].bytes;
	}
	return sum * sum / (model.hosts * squares);
}

static void assert_within(double value, double wanted, double percent)
{
	if (value < wanted * (1 - percent / 100) || value > wanted * (1 + percent / 100))
		fail_msg("%g, wanted %g within %g %%", value, wanted, percent);
}

/* 16 hosts, each with half 4 KiB and half 1 MiB requests, some 64 times as deep as others */
static double mixed_hosts(bool fifo)
{
	u32 i;

	setup(NULL);
	model.fifo = fifo;
	for (i = 0; i < 16; i++)
		new_client(RNBDT_WEIGHT_DEFAULT, 8u << i % 7, 4 * KIB, MIB, 500);
	for (i = 0; i < model.disks; i++)
		start(&model.disk[i]);
	run(1024ull * MIB);
	forget();
	run(16384ull * MIB);
	return jain();
}

static void test_same_mix(void **state)
{
	double without, with;

	(void)state;
	without = mixed_hosts(true);
	with = mixed_hosts(false);
	printf("16 hosts, same mix, depths 8 to 512: Jain index %.4f, %.4f without scheduler\n",
	       with, without);
	assert_true(with >= 0.95);
	assert_true(without < 0.6);
}

static void test_weights(void **state)
{
	static const u32 weights[] = { 100, 200, 50, 1000, 10000, 1, 100, 300 };
	u64 sum = 0;
	u32 i, depth;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		sum += weights[i];
		/* As deep as the share needs: only a host whose requests wait gets it all. */
		depth = weights[i] >= 1000 ? DEPTH_MAX : 64;
		start(new_client(weights[i], depth, 4 * KIB, MIB, 500));
	}
	run(1024ull * MIB);
	forget();
	run(1024 * 1024ull * MIB);
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		double wanted = (double)model.bytes * weights[i] / sum;

		printf("weight %5u: %.4f of the share by weight\n", weights[i],
		       model.host[i].bytes / wanted);
		assert_within(model.host[i].bytes, wanted, 5);
	}
}

/* A weight that changes takes effect at once. */
static void test_weight_changes(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 128, 4 * KIB, MIB, 500));
	run(512ull * MIB);
	model.host[2].weight = 300;
	forget();
	run(4096ull * MIB);
	assert_within(model.host[2].bytes, model.bytes / 2.0, 5);
	model.host[2].weight = 1;
	forget();
	run(4096ull * MIB);
	assert_within(model.host[2].bytes, model.bytes / 301.0, 20);
}

/* 1 MiB requests against 4 KiB: by cost, so the constant counts too */
static void test_sizes(void **state)
{
	struct disk *small = new_client(RNBDT_WEIGHT_DEFAULT, 512, 4 * KIB, 0, 0);
	struct disk *large = new_client(RNBDT_WEIGHT_DEFAULT, 64, 0, MIB, 1000);

	(void)state;
	start(small);
	start(large);
	run(4096ull * MIB);
	assert_within(small->bytes * (double)(OVERHEAD + 4 * KIB) / (4 * KIB),
		      large->bytes * (double)(OVERHEAD + MIB) / MIB, 5);
}

/* The depth of a host does not help it, nor does sending one large request at a time. */
static void test_one_at_a_time(void **state)
{
	struct disk *single;
	u32 i;

	(void)state;
	for (i = 0; i < 7; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	single = new_client(RNBDT_WEIGHT_DEFAULT, 1, 4 * MIB, 0, 0);
	start(single);
	run(8192ull * MIB);
	printf("one 4 MiB request at a time: %.3f of a share\n",
	       single->bytes * 8.0 / model.bytes);
	assert_true(single->bytes <= model.bytes / 8 * 1.3);
	assert_true(single->bytes >= model.bytes / 8 * 0.5);
}

static void test_newcomer(void **state)
{
	struct disk *newcomer;
	u64 begun_us;
	u32 i;

	(void)state;
	for (i = 0; i < 15; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 4 * KIB, MIB, 500));
	run(4096ull * MIB);
	forget();
	newcomer = new_client(RNBDT_WEIGHT_DEFAULT, 256, 4 * KIB, MIB, 500);
	begun_us = model.now_us;
	start(newcomer);
	while (!newcomer->bytes)
		complete();
	printf("newcomer among 15: first request served after %.1f ms, %.1f MiB of others\n",
	       (model.now_us - begun_us) / 1000.0, (double)model.bytes / MIB);
	/* what is in flight, and a turn of each other host */
	assert_true(model.bytes <= WINDOW + MIB + 15 * (2 * MIB));
	run(512ull * MIB);
	assert_within(newcomer->bytes, model.bytes / 16.0, 10);
	printf("newcomer among 15: %.3f of its share in the first 512 MiB\n",
	       newcomer->bytes * 16.0 / model.bytes);
}

static void test_no_starvation(void **state)
{
	struct disk *least = new_client(RNBDT_WEIGHT_MIN, 4, 4 * KIB, 4 * MIB, 500);
	u32 i;

	(void)state;
	for (i = 0; i < 8; i++)
		start(new_client(RNBDT_WEIGHT_MAX, 64, 64 * KIB, 0, 0));
	start(least);
	run(8 * 10000ull * 16 * MIB);
	assert_true(least->bytes >= 8 * MIB);
	/* The others go: it no longer waits, whatever it owes. */
	for (i = 1; i < model.disks; i++)
		model.disk[i].started = false;
	while (model.disk[1].node.queued || model.root.queued > least->depth)
		complete();
	forget();
	run(64 * MIB);
	assert_true(least->bytes >= 32 * MIB);
}

static void test_hierarchy(void **state)
{
	struct host *one, *many;
	struct session *session;
	u32 i, j;

	(void)state;
	one = new_host(RNBDT_WEIGHT_DEFAULT);
	start(new_disk(new_session(one), 128, 4 * KIB, MIB, 500));
	many = new_host(RNBDT_WEIGHT_DEFAULT);
	for (i = 0; i < 4; i++) {
		session = new_session(many);
		/* The first session has one disk, and each of the others has eight. */
		for (j = 0; j < (i ? 8 : 1); j++)
			start(new_disk(session, 64, 4 * KIB, MIB, 500));
	}
	run(512ull * MIB);
	forget();
	run(16384ull * MIB);
	printf("1 disk against 4 sessions with 25 disks: %.4f of the same\n",
	       (double)one->bytes / many->bytes);
	assert_within(one->bytes, many->bytes, 2);
	for (i = 1; i < model.sessions; i++)
		assert_within(model.session[i].bytes, many->bytes / 4.0, 5);
	for (i = 2; i < model.disks; i++)
		assert_within(model.disk[i].bytes, many->bytes / 32.0, 5);
}

/* All of many disks owe for a large request: the next one is found nevertheless at once. */
static void test_many_debts(void **state)
{
	static struct rnbdt_drr_item items[3 * DISKS_MAX];
	struct session *session = new_session(new_host(RNBDT_WEIGHT_DEFAULT));
	unsigned long before, most = 0;
	u32 i;

	(void)state;
	for (i = 0; i < DISKS_MAX; i++)
		new_disk(session, 0, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].cost = rnbdt_drr_cost(OVERHEAD, 4 * MIB);
		assert_true(rnbdt_drr_add(&model.disk[i % DISKS_MAX].node, &items[i]));
	}
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		before = moves;
		assert_ptr_equal(rnbdt_drr_next(&model.root), &items[i]);
		most = max(most, moves - before);
	}
	printf("%u disks in debt: at most %lu moves for one request\n", DISKS_MAX, most);
	assert_true(most <= 3 * DISKS_MAX);
}

static void test_flush(void **state)
{
	static struct request flush[RNBDT_DRR_AHEAD_MAX + 2];
	struct disk *disk;
	u64 before;
	u32 i;

	(void)state;
	for (i = 0; i < 8; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, MIB, 0, 0));
	disk = &model.disk[3];
	run(1024ull * MIB);
	assert_true(model.root.queued > 0);

	/* It is in the storage at once, and its host pays for it. */
	before = disk->session->host->node.deficit;
	enter(disk, &flush[0], 0);
	assert_ptr_equal(model.storage.prev, &flush[0].sent);
	assert_int_equal(flush[0].item.cost, OVERHEAD);
	assert_int_equal(disk->session->host->node.deficit, before - OVERHEAD * RNBDT_DRR_FRACTION);
	/* Others pass with it, but a flood of them waits in turn. */
	for (i = 1; flush[i - 1].item.ahead; i++) {
		assert_true(i < ARRAY_SIZE(flush));
		before = disk->node.queued;
		enter(disk, &flush[i], 0);
	}
	printf("FLUSHes that pass at once: %u\n", i - 1);
	assert_true(i > 16);
	assert_ptr_not_equal(model.storage.prev, &flush[i - 1].sent);
	assert_int_equal(disk->node.queued, before + 1);
	/* The clients end; what waits is served. */
	for (i = 0; i < model.disks; i++)
		model.disk[i].started = false;
	while (!list_empty(&model.storage))
		complete();
	assert_int_equal(model.root.queued, 0);
	assert_int_equal(disk->node.ahead, 0);
	assert_int_equal(disk->session->host->node.ahead, 0);
	assert_int_equal(model.in_flight, 0);
}

/* A host has a number of FLUSHes in flight ahead of the order, with all its disks. */
static void test_flush_limit(void **state)
{
	struct rnbdt_drr_item flush = { .cost = OVERHEAD };
	struct disk *disk[3];
	struct session *session;
	u32 i, nr = 0;

	(void)state;
	for (i = 0; i < 3; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	session = new_session(new_host(RNBDT_WEIGHT_DEFAULT));
	for (i = 0; i < ARRAY_SIZE(disk); i++)
		disk[i] = new_disk(session, 1, 0, 0, 0);
	/* The storage takes long for them, and rounds pass that pay for them. */
	for (i = 0; i < 10000; i++) {
		complete();
		if (!(i % 20))
			nr += rnbdt_drr_pass(&disk[nr % ARRAY_SIZE(disk)]->node, &flush);
	}
	assert_int_equal(nr, RNBDT_DRR_AHEAD_MAX);
	rnbdt_drr_passed(&disk[0]->node);
	assert_true(rnbdt_drr_pass(&disk[1]->node, &flush));
	assert_false(rnbdt_drr_pass(&disk[2]->node, &flush));
	/* Others are not concerned. */
	assert_true(rnbdt_drr_pass(&model.disk[0].node, &flush));
}

/* A disk that nobody competes with has no debt, however many FLUSHes it has sent. */
static void test_flush_alone(void **state)
{
	struct rnbdt_drr_item flush = { .cost = OVERHEAD };
	struct disk *disk;
	u32 i;

	(void)state;
	disk = new_client(RNBDT_WEIGHT_DEFAULT, 1, 0, 0, 0);
	for (i = 0; i < 10000; i++) {
		assert_true(rnbdt_drr_pass(&disk->node, &flush));
		rnbdt_drr_passed(&disk->node);
	}
	/* What it owes is forgotten while others are served. */
	for (i = 0; i < 3; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	for (i = 0; i < 100; i++) {
		run(8 * MIB);
		assert_true(rnbdt_drr_pass(&disk->node, &flush));
		rnbdt_drr_passed(&disk->node);
	}
}

/*
 * 15 hosts and a host with two disks compete. One of its disks reads, and the other one gets
 * a FLUSH at every @every completions of the storage, which ends at once. Returns what the
 * reader gets of the share of its host.
 */
static double beside_flushes(u32 every)
{
	struct rnbdt_drr_item flush = { .cost = OVERHEAD };
	struct disk *reader, *flushed;
	struct session *session;
	u64 end;
	u32 i;

	setup(NULL);
	for (i = 0; i < 15; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	session = new_session(new_host(RNBDT_WEIGHT_DEFAULT));
	reader = new_disk(session, 64, 64 * KIB, 0, 0);
	flushed = new_disk(session, 1, 0, 0, 0);
	start(reader);
	run(512ull * MIB);
	forget();
	end = model.bytes + 2048ull * MIB;
	for (i = 1; model.bytes < end; i++) {
		complete();
		if (!(i % every) && rnbdt_drr_pass(&flushed->node, &flush))
			rnbdt_drr_passed(&flushed->node);
	}
	return reader->bytes * 16.0 / model.bytes;
}

/* The same with @depth FLUSHes that the storage executes */
static double beside_flush_depth(u32 others, u32 depth)
{
	struct session *session;
	struct disk *reader;
	u32 i;

	setup(NULL);
	for (i = 0; i < others; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	session = new_session(new_host(RNBDT_WEIGHT_DEFAULT));
	reader = new_disk(session, 64, 64 * KIB, 0, 0);
	start(reader);
	start(new_disk(session, depth, 0, 0, 0));
	run(512ull * MIB);
	forget();
	run(2048ull * MIB);
	return reader->bytes * (others + 1.0) / model.bytes;
}

/* A disk that floods the storage with FLUSHes gets its half of the host, not more. */
static void test_flush_flood(void **state)
{
	u32 others, depth;

	(void)state;
	for (others = 1; others <= 15; others += 7)
		for (depth = 32; depth <= 256; depth *= 2) {
			double share = beside_flush_depth(others, depth);

			printf("%u FLUSHes in flight, %u other hosts: the other disk gets %.3f of a share\n",
			       depth, others, share);
			assert_true(share >= 0.45);
		}
}

/* FLUSHes of a disk do not starve the other disks of its host. */
static void test_flush_beside_reads(void **state)
{
	static const u32 every[] = { 100, 50, 40, 20 };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(every); i++) {
		double share = beside_flushes(every[i]);

		printf("a FLUSH at every %u completions: the other disk gets %.3f of a share\n",
		       every[i], share);
		assert_true(share >= 0.8);
	}
}

static void test_close(void **state)
{
	struct list_head items;
	struct request late = { };
	struct disk *disk;
	u32 i, queued;

	(void)state;
	for (i = 0; i < 3; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	run(64 * MIB);
	disk = &model.disk[1];
	queued = disk->node.queued;
	assert_true(queued > 0);
	i = model.root.queued;
	INIT_LIST_HEAD(&items);
	rnbdt_drr_close(&disk->node, &items);
	assert_int_equal(model.root.queued, i - queued);
	assert_int_equal(disk->session->host->node.queued, 0);
	for (; !list_empty(&items); queued--) {
		struct request *req = list_entry(items.next, struct request, item.entry);

		/* all of them, in their order */
		assert_int_equal(req->order, disk->taken++);
		list_del_init(items.next);
	}
	assert_int_equal(queued, 0);
	disk->started = false;
	late.item.cost = OVERHEAD;
	assert_false(rnbdt_drr_add(&disk->node, &late.item));
	/* The others share what is left. */
	run(64 * MIB);
	forget();
	run(1024ull * MIB);
	assert_int_equal(disk->bytes, 0);
	assert_within(model.host[0].bytes, model.host[2].bytes, 2);
	/* Closing twice, and a disk without requests, is nothing. */
	rnbdt_drr_close(&disk->node, &items);
	assert_true(list_empty(&items));
	/* All close. */
	rnbdt_drr_close(&model.disk[0].node, &items);
	rnbdt_drr_close(&model.disk[2].node, &items);
	assert_int_equal(model.root.queued, 0);
	assert_null(rnbdt_drr_next(&model.root));
}

/* Clients come and go at random; complete(), take() and enter() check at each step. */
static void test_random(void **state)
{
	u32 i, step;

	(void)state;
	for (i = 0; i < 24; i++) {
		struct session *session = new_session(new_host(1 + unit_random_below(&rnd, 10000)));
		u32 disks = 1 + unit_random_below(&rnd, 4);

		while (disks--)
			new_disk(session, 1 + unit_random_below(&rnd, 64), 512, 4 * MIB,
				 unit_random_below(&rnd, 1000));
	}
	for (step = 0; step < unit_environment("RNBD_TEST_ROUNDS", 300000); step++) {
		struct disk *disk = &model.disk[unit_random_below(&rnd, model.disks)];

		if (!unit_random_below(&rnd, 200)) {
			bool idle = !disk->started && !disk->node.queued;

			for (i = 0; idle && i < disk->depth; i++)
				idle = !disk->reqs[i].sent.next ||
				       list_empty(&disk->reqs[i].sent);
			if (idle)
				start(disk);
			else
				disk->started = false;
		}
		if (!list_empty(&model.storage))
			complete();
	}
	for (i = 0; i < model.disks; i++)
		model.disk[i].started = false;
	while (!list_empty(&model.storage))
		complete();
	for (i = 0; i < model.disks; i++)
		assert_int_equal(model.disk[i].added, model.disk[i].taken);
	assert_int_equal(model.root.queued, 0);
	assert_int_equal(model.in_flight, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_same_mix, setup),
		cmocka_unit_test_setup(test_weights, setup),
		cmocka_unit_test_setup(test_weight_changes, setup),
		cmocka_unit_test_setup(test_sizes, setup),
		cmocka_unit_test_setup(test_one_at_a_time, setup),
		cmocka_unit_test_setup(test_newcomer, setup),
		cmocka_unit_test_setup(test_no_starvation, setup),
		cmocka_unit_test_setup(test_hierarchy, setup),
		cmocka_unit_test_setup(test_many_debts, setup),
		cmocka_unit_test_setup(test_flush, setup),
		cmocka_unit_test_setup(test_flush_limit, setup),
		cmocka_unit_test_setup(test_flush_alone, setup),
		cmocka_unit_test_setup(test_flush_beside_reads, setup),
		cmocka_unit_test_setup(test_flush_flood, setup),
		cmocka_unit_test_setup(test_close, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	rnd = unit_random_seeded("drr");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
