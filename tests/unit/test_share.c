// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the share of a disk in the pool of its session (drivers/client/share.h). In the
 * model, disks whose storage hangs take as much space as they may and never free it. They
 * must not block the other disks of the session, so the other disks must still get space.
 */
#include "unit.h"
#include "portable.h"

#include "../../drivers/client/share.h"

#define FACTOR		8	/* default of disk_share */
#define DISKS_MAX	600
#define QUEUES_MAX	8
#define LARGEST		256	/* units of 1 MiB */

static struct model {
	u32 all;		/* units of the pool */
	u32 free;
	u32 disks;
	u32 queues;
	u32 units[DISKS_MAX][QUEUES_MAX];
} m;

static void model_init(u32 all, u32 disks, u32 queues)
{
	m = (struct model) { .all = all, .free = all, .disks = disks, .queues = queues };
}

static u32 idle_others(u32 disk, u32 queue)
{
	u32 i, j, idle = 0;

	for (i = 0; i < m.disks; i++)
		for (j = 0; j < m.queues; j++)
			idle += !m.units[i][j] && (i != disk || j != queue);
	return idle;
}

static bool may(u32 disk, u32 queue, u32 more)
{
	struct rnbdc_units units = {
		.free = m.free,
		.all = m.all,
		.idle = idle_others(disk, queue),
		.largest = LARGEST,
	};
	u32 i;

	for (i = 0; i < m.queues; i++)
		units.held += m.units[disk][i];
	return more <= m.free && rnbdc_units_allowed(&units, more, m.all / 8, FACTOR);
}

/* Let each disk with a number below @hung send requests of @size units as long as it may. */
static void hang(u32 hung, u32 size)
{
	bool progress = true;
	u32 disk, queue;

	while (progress) {
		progress = false;
		for (disk = 0; disk < hung; disk++) {
			for (queue = 0; queue < m.queues; queue++) {
				if (!may(disk, queue, size))
					continue;
				m.units[disk][queue] += size;
				m.free -= size;
				progress = true;
			}
		}
	}
}

/*
 * Get the largest size that the first request of an idle disk may have: a power of two, in
 * units.
 */
static u32 largest_first(void)
{
	u32 size = LARGEST;

	while (size && !may(m.disks - 1, 0, size))
		size /= 2;
	return size;
}

/*
 * While other disks hang, the first request of an idle disk may have at least the number of
 * units in the column "first". This holds even if there are more idle hardware queues than
 * reserved units.
 */
static void test_hung(void **state)
{
	static const struct {
		u32 all, disks, queues, hung, size, first;
	} cases[] = {
		/* Pool of 8 MiB; requests of 256 KiB or 1 MiB hang. */
		{ 2048, 37, 8, 4, 64, 128 },
		{ 2048, 37, 8, 5, 64, 128 },
		{ 2048, 40, 8, 1, 256, 256 },
		/* Pools of 64 MiB, and one of 16 MiB. */
		{ 16384, 270, 8, 8, 256, 256 },
		{ 16384, 284, 8, 28, 64, 256 },
		{ 16384, 300, 8, 30, 64, 256 },
		{ 16384, 600, 8, 40, 64, 256 },
		{ 4096, 300, 2, 15, 128, 256 },
		/* So many disks hang that their first requests use most of the reserve. */
		{ 2048, 300, 8, 40, 64, 32 },
		{ 16384, 300, 8, 100, 64, 32 },
		{ 2048, 300, 8, 130, 1, 128 },
		{ 256, 10, 8, 2, 64, 32 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		model_init(cases[i].all, cases[i].disks, cases[i].queues);
		hang(cases[i].hung, cases[i].size);
		assert_in_range(largest_first(), cases[i].first, LARGEST);
	}
}

/* While the first request of a disk is in flight, the disk must not use the reserve again. */
static void test_one_first(void **state)
{
	u32 queue;

	(void)state;
	model_init(2048, 40, 8);
	hang(2, 64);
	assert_in_range(m.free, 256, 256 + 2 * 64);
	/* The free space is reserved for the first requests of other disks. */
	for (queue = 0; queue < m.queues; queue++)
		assert_false(may(0, queue, 64));
	assert_true(may(2, 0, 64));
	m.units[2][0] = 64;
	m.free -= 64;
	for (queue = 0; queue < m.queues; queue++)
		assert_false(may(2, queue, 64));
	assert_true(may(3, 0, 64));
}

/*
 * The largest request proceeds when nothing else is in flight, however many disks are
 * idle.
 */
static void test_alone(void **state)
{
	(void)state;
	model_init(LARGEST, DISKS_MAX, QUEUES_MAX);
	assert_true(may(0, 0, LARGEST));
	/* For the only disk of a session, nothing is reserved. */
	model_init(2048, 1, 1);
	hang(1, 1);
	assert_in_range(m.free, 0, 2048 / (FACTOR + 1) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hung),
		cmocka_unit_test(test_one_first),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
