// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the scheduler in front of the storage: shares of hosts, sessions and disks.
 */
#include "drr_model.h"

/*
 * Get Jain's fairness index of the bytes that 16 hosts have transferred. Half of the requests
 * of each host have 4 KiB, the others 1 MiB. The depths of the hosts range from 8 to 512.
 * @fifo: without the scheduler
 */
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
		/* A host gets its share only while its requests wait: large shares need depth. */
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

/* A change of a weight takes effect while requests wait. */
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

/*
 * A host with small requests and a host with large ones get the same service, measured by cost:
 * the cost of a request is a constant plus its bytes.
 */
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

/*
 * Beside hosts of depth 256, a host that sends one large request at a time gets at least half
 * of its fair share and at most 1.3 times the share.
 */
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
	/*
	 * Before the first request of the newcomer, the storage serves at most the requests in
	 * flight and one turn of each other host.
	 */
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
	/*
	 * When the other hosts have stopped, the host of the least weight no longer waits,
	 * whatever its debt.
	 */
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

/* If many disks are all in debt, finding the next request takes at most 3 moves per disk. */
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

		/* rnbdt_drr_close() returns the waiting requests in their order. */
		assert_int_equal(req->order, disk->taken++);
		list_del_init(items.next);
	}
	assert_int_equal(queued, 0);
	disk->started = false;
	late.item.cost = OVERHEAD;
	assert_false(rnbdt_drr_add(&disk->node, &late.item));
	/* The two other hosts share the storage equally. */
	run(64 * MIB);
	forget();
	run(1024ull * MIB);
	assert_int_equal(disk->bytes, 0);
	assert_within(model.host[0].bytes, model.host[2].bytes, 2);
	/* Closing a closed disk, which has no requests, has no effect. */
	rnbdt_drr_close(&disk->node, &items);
	assert_true(list_empty(&items));
	/* No request waits when all disks are closed. */
	rnbdt_drr_close(&model.disk[0].node, &items);
	rnbdt_drr_close(&model.disk[2].node, &items);
	assert_int_equal(model.root.queued, 0);
	assert_null(rnbdt_drr_next(&model.root));
}

/* Clients start and stop at random; complete(), take() and enter() check each step. */
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
		cmocka_unit_test_setup(test_close, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	rnd = unit_random_seeded("drr");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
