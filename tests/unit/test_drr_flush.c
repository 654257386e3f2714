// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the scheduler in front of the storage: FLUSHes that pass ahead of waiting requests.
 */
#include "drr_model.h"

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

	/* The FLUSH reaches the storage at once, and its cost is charged to its host. */
	before = disk->session->host->node.deficit;
	enter(disk, &flush[0], 0);
	assert_ptr_equal(model.storage.prev, &flush[0].sent);
	assert_int_equal(flush[0].item.cost, OVERHEAD);
	assert_int_equal(disk->session->host->node.deficit, before - OVERHEAD * RNBDT_DRR_FRACTION);
	/* Further FLUSHes pass too, up to a limit. The next FLUSH waits like other requests. */
	for (i = 1; flush[i - 1].item.ahead; i++) {
		assert_true(i < ARRAY_SIZE(flush));
		before = disk->node.queued;
		enter(disk, &flush[i], 0);
	}
	printf("FLUSHes that pass at once: %u\n", i - 1);
	assert_true(i > 16);
	assert_ptr_not_equal(model.storage.prev, &flush[i - 1].sent);
	assert_int_equal(disk->node.queued, before + 1);
	/* The clients stop, and the waiting requests are served. */
	for (i = 0; i < model.disks; i++)
		model.disk[i].started = false;
	while (!list_empty(&model.storage))
		complete();
	assert_int_equal(model.root.queued, 0);
	assert_int_equal(disk->node.ahead, 0);
	assert_int_equal(disk->session->host->node.ahead, 0);
	assert_int_equal(model.in_flight, 0);
}

/* At most RNBDT_DRR_AHEAD_MAX FLUSHes of all disks of a host together are ahead at a time. */
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
	/*
	 * The FLUSHes do not complete, so they stay ahead. Each round of the scheduler reduces the
	 * debt that the FLUSHes cause, so only the number of FLUSHes reaches its limit.
	 */
	for (i = 0; i < 10000; i++) {
		complete();
		if (!(i % 20))
			nr += rnbdt_drr_pass(&disk[nr % ARRAY_SIZE(disk)]->node, &flush);
	}
	assert_int_equal(nr, RNBDT_DRR_AHEAD_MAX);
	rnbdt_drr_passed(&disk[0]->node);
	assert_true(rnbdt_drr_pass(&disk[1]->node, &flush));
	assert_false(rnbdt_drr_pass(&disk[2]->node, &flush));
	/* The limit does not affect other hosts. */
	assert_true(rnbdt_drr_pass(&model.disk[0].node, &flush));
}

/* A disk without competitors has no debt, however many FLUSHes it has sent. */
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
	/*
	 * Beside other hosts, each round of the scheduler in which the host has no waiting request
	 * reduces the debt of the host.
	 */
	for (i = 0; i < 3; i++)
		start(new_client(RNBDT_WEIGHT_DEFAULT, 256, 64 * KIB, 0, 0));
	for (i = 0; i < 100; i++) {
		run(8 * MIB);
		assert_true(rnbdt_drr_pass(&disk->node, &flush));
		rnbdt_drr_passed(&disk->node);
	}
}

/*
 * Let 15 hosts compete with a host that has two disks: one disk reads, the other one sends a
 * FLUSH after each @every completions of the storage. The FLUSHes complete at once. Return the
 * bytes of the reader as a fraction of the fair share of its host.
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

/*
 * Like beside_flushes(), with @others competing hosts. The second disk always has @depth
 * FLUSHes at the target. The storage executes them in the order in which it receives them.
 */
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

/* A flood of FLUSHes of one disk leaves the other disk at least 0.45 of the host's share. */
static void test_flush_flood(void **state)
{
	u32 others, depth;

	(void)state;
	for (others = 1; others <= 15; others += 7)
		for (depth = 32; depth <= 256; depth *= 2) {
			double share = beside_flush_depth(others, depth);

			printf("%u FLUSHes, %u other hosts: the other disk gets %.3f of a share\n",
			       depth, others, share);
			assert_true(share >= 0.45);
		}
}

/* Less frequent FLUSHes of one disk leave the other disk at least 0.8 of the host's share. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_flush, setup),
		cmocka_unit_test_setup(test_flush_limit, setup),
		cmocka_unit_test_setup(test_flush_alone, setup),
		cmocka_unit_test_setup(test_flush_beside_reads, setup),
		cmocka_unit_test_setup(test_flush_flood, setup),
	};

	rnd = unit_random_seeded("drr");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
