// SPDX-License-Identifier: GPL-2.0-only
/*
 * Draw a random state on which both ends have agreed (struct world). The functions that build and
 * damage messages use the same generator of random numbers.
 */
#include "hostile_assert.h"
#include "hostile.h"

struct unit_random rnd;
struct world world;

u32 below(u32 n)
{
	return unit_random_below(&rnd, n);
}

bool one_in(u32 n)
{
	return below(n) == 0;
}

void draw_bytes(void *bytes, u32 len)
{
	u8 *p = bytes;

	while (len--)
		*p++ = below(256);
}

u64 draw_number(void)
{
	static const u64 numbers[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
		0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffff000,
		0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		0xfffffffffffff000, 0xffffffffffffffff,
	};

	switch (below(4)) {
	case 0:
		return unit_random64(&rnd);
	case 1:
		return below(64);
	case 2:
		return 1ull << below(64);
	default:
		return numbers[below(ARRAY_SIZE(numbers))];
	}
}

/* Make a pool; half of the time parts of it are in use, so that a request gets several extents. */
void draw_pool(void)
{
	const struct rnbd_limits *lim = &world.lim;
	struct rnbd_extent runs[RNBD_EXTENTS_MAX];
	u32 i;

	rnbd_pool_exit(&world.pool);
	assert_int_equal(rnbd_pool_init(&world.pool, 0, lim->pool_units,
					lim->segment_units), 0);
	if (one_in(2))
		return;
	for (i = 0; i < min(lim->pool_units, 20000u); i++) {
		if (rnbd_pool_alloc(&world.pool, 1, runs, 1) != 1)
			break;
		if (one_in(2))
			i++;
	}
	for (i = 0; i < world.pool.used; i += 1 + below(4)) {
		runs[0] = (struct rnbd_extent) { i, 1 };
		rnbd_pool_free(&world.pool, runs, 1);
	}
}

/* Draw a valid name of an export, padded with zeros. */
void draw_name(char *name)
{
	u32 i, len = 1 + below(63);

	memset(name, 0, RNBD_EXPORT_NAME_SIZE);
	for (i = 0; i < len; i++)
		name[i] = "abzAZ059_:-."[below(i ? 12 : 11)];
}

/* Draw an attempt number: the epoch for connection 0, a higher number for other connections. */
static void draw_attempt(void)
{
	struct rnbd_conn_req *conn = &world.conn;

	if (!conn->epoch || conn->epoch == U32_MAX)
		conn->epoch = 1;
	conn->attempt = conn->conn ? conn->epoch + 1 + below(U32_MAX - conn->epoch) : conn->epoch;
}

/* Draw the ids, the connection and path numbers, and the requested pool and keep-alive time. */
void draw_identities(void)
{
	world.conn.conn = one_in(4) ? 0 : 1 + below(RNBD_CONNS_MAX - 1);
	world.conn.path = below(RNBD_PATHS_MAX);
	draw_attempt();
	draw_bytes(world.conn.host_id, 16);
	draw_bytes(world.conn.session_id, 16);
	draw_bytes(world.asked.boot_id, 16);
	world.asked.pool_bytes = 4096 + unit_random64(&rnd) / 2;
	world.asked.pool_min = one_in(2) ? 0 : unit_random64(&rnd);
	world.asked.pool_min = min(world.asked.pool_min, world.asked.pool_bytes / 4096);
	world.asked.keepalive_ms = 100 + below(59901);
}

const struct rnbd_grant *hostile_grant(void)
{
	static struct rnbd_grant grant;

	grant.pool_units = world.lim.pool_units;
	grant.segment_units = world.lim.segment_units;
	grant.nr_segments = DIV_ROUND_UP(grant.pool_units, grant.segment_units);
	grant.max_units = grant.pool_units;
	grant.nr_slots = grant.nr_segments + 5;
	return &grant;
}

void draw_world(void)
{
	struct rnbd_export_limits *exp = &world.exp;
	struct rnbd_limits *lim = &world.lim;
	u32 block = 512u << below(4);

	exp->block_mask = block - 1;
	switch (below(3)) {
	case 0: /* the largest valid capacity */
		exp->capacity = (U64_MAX / 2) & ~(u64)exp->block_mask;
		break;
	case 1:
		exp->capacity = block * (1ull + below(64));
		break;
	default:
		exp->capacity = (u64)block * (1 + below(1u << 31));
	}
	exp->max_io = 4096 * (1 + below(one_in(4) ? 4096 : 64));
	exp->max_discard = one_in(3) ? 0 : ~0u & ~exp->block_mask;
	exp->max_write_zeroes = one_in(3) ? 0 : block * (1 + below(1000));
	lim->pool_units = 1 + below(one_in(4) ? 20000 : 300);
	lim->segment_units = 1u << below(12);
	lim->depth = 1 + below(RNBD_DEPTH_MAX);
	lim->inline_read = one_in(2) ? 0 : 1 + below(INLINE_MAX);
	lim->inline_write = one_in(2) ? 0 : 1 + below(INLINE_MAX);

	draw_pool();

	world.conn.ring_slots = RNBD_RING_SLOTS_MIN +
		below(RNBD_RING_SLOTS_MAX - RNBD_RING_SLOTS_MIN + 1);
	world.conn.slot_size = RNBD_SLOT_SIZE_MIN + 64 * below(1009);
	world.conn.epoch = 1 + below(1000);
	world.nr_segments = below(2 + DIV_ROUND_UP(lim->pool_units, lim->segment_units));
	world.is_target = one_in(2);
	world.slots = world.conn.ring_slots;
	world.seq = unit_random64(&rnd);

	memset(&world.asked, 0, sizeof(world.asked));
	draw_identities();
	world.attempt = world.conn.attempt;
	world.asked.features = unit_random64(&rnd);
	world.asked.max_io = 4096 * (1 + below(4096));
	world.asked.nr_queues = 1 + below(RNBD_CONNS_MAX);
	world.asked.queue_depth = 1 + below(RNBD_DEPTH_MAX);
	if (world.asked.features & RNBD_FEATURE_INLINE) {
		world.asked.inline_read = draw_number();
		world.asked.inline_write = draw_number();
	}
}
