// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deficit round robin over hosts, sessions and disks: which request is next.
 *
 * Operation
 *
 * M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin",
 * SIGCOMM 1995. The storage is a node whose children are hosts; the children of a host are
 * its sessions, those of a session its disks, and those of a disk its requests. A node
 * below which requests wait is in the list of its parent. In each round a child gets a
 * quantum of cost in proportion to its weight. It is served until the quantum is used up,
 * and then moves to the end of the list. A request costs a constant plus its bytes, which
 * is charged to its disk, its session and its host: shares divide by host, then by session,
 * then by disk.
 *
 * The code differs from the paper in three points. It serves a child while the deficit of
 * the child is positive, so the deficit can become negative, and the cost of the next
 * request is not needed in advance. The heaviest child gets the whole quantum and the
 * others a part of it, so that a turn is short whatever the weights are. Rounds that would
 * pass without service are skipped: a node may have thousands of children. A child without
 * requests keeps its debt, because a host that sends one large request at a time would
 * otherwise get more than its share. Rounds that pass without the child pay the debt, and
 * the parent forgets it when it has no other child.
 *
 * A FLUSH costs the constant and passes ahead of the order, because it moves no data and
 * the client waits for it. It waits in order if its host has RNBDT_DRR_AHEAD_MAX of them in
 * flight, or if its disk, its session or its host owes more than RNBDT_DRR_AHEAD_DEBT and
 * two quanta: FLUSHes must not use up the turns of other disks, nor the time of others.
 *
 * Ownership: the caller owns nodes and requests. A node must outlive its children.
 *
 * Concurrency: the caller holds one lock per storage. The weight of a node and the number
 * of requests that wait at the storage are accessed without it.
 *
 * Errors: none. A weight must not be 0. This file uses no kernel interface except lists;
 * tests/unit/test_drr*.c run it against a model of the storage.
 */

#include "drr.h"

/* Deficits have fractions of a byte: the quantum of a light host is a few bytes. */
#define RNBDT_DRR_FRACTION	64

/*
 * Cost per round of the heaviest child, beyond the constant of one request. A request of 4 KiB
 * of a child that has few waits for at most three such requests of each other child.
 */
#define RNBDT_DRR_QUANTUM	(32u << 10)

/*
 * Debt beyond two quanta up to which FLUSHes pass ahead of the order. It is that of a large
 * request and some FLUSHes, so that a host need not wait for its FLUSH because of one.
 */
#define RNBDT_DRR_AHEAD_DEBT	(1536u << 10)

/*
 * Rounds after which no debt is left: the smallest quantum, that of RNBDT_WEIGHT_MIN beside
 * RNBDT_WEIGHT_MAX, has paid 16 MiB. No debt is larger: that of a request is not, and FLUSHes
 * add to it only up to RNBDT_DRR_AHEAD_DEBT.
 */
#define RNBDT_DRR_FORGIVEN	8000000ull

/**
 * rnbdt_drr_init_root - initialise the node of a storage
 * @root: node
 * @overhead: constant part of the cost of a request, at most 4 MiB
 *
 * Context: any.
 */
void rnbdt_drr_init_root(struct rnbdt_drr_node *root, u32 overhead)
{
	*root = (struct rnbdt_drr_node) {
		.quantum = overhead + RNBDT_DRR_QUANTUM,
		.overhead = overhead,
	};
	INIT_LIST_HEAD(&root->entry);
	INIT_LIST_HEAD(&root->active);
}

/**
 * rnbdt_drr_init - initialise the node of a host, a session or a disk
 * @node: node
 * @parent: node of the floor above
 * @weight: share among the children of @parent; read at each turn
 * @leaf: the node is a disk
 *
 * Context: any.
 */
void rnbdt_drr_init(struct rnbdt_drr_node *node, struct rnbdt_drr_node *parent,
		    const u32 *weight, bool leaf)
{
	*node = (struct rnbdt_drr_node) {
		.parent = parent,
		.weight = weight,
		.leaf = leaf,
		.quantum = parent->quantum,
		.overhead = parent->overhead,
	};
	INIT_LIST_HEAD(&node->entry);
	INIT_LIST_HEAD(&node->active);
}

/* Return the quantum of a node, as a deficit. */
static s64 rnbdt_drr_quantum(const struct rnbdt_drr_node *node)
{
	const struct rnbdt_drr_node *parent = node->parent;
	u32 weight = READ_ONCE(*node->weight);

	/* The weight may have been raised since the round began. */
	weight = min(weight, parent->top);
	return div_u64((u64)parent->quantum * RNBDT_DRR_FRACTION * weight, parent->top);
}

/* Pay the debt of a node that has no requests waiting by the rounds that it has missed. */
static void rnbdt_drr_catch_up(struct rnbdt_drr_node *node)
{
	u64 missed = node->parent->round - node->granted;

	if (missed < 2)
		return;
	/* The node gets the quantum of the present round when its turn comes. */
	missed--;
	node->granted += missed;
	if (missed < RNBDT_DRR_FORGIVEN)
		node->deficit += (s64)missed * rnbdt_drr_quantum(node);
	if (missed >= RNBDT_DRR_FORGIVEN || node->deficit > 0)
		node->deficit = 0;
}

/* Put a node whose first request has come at the end of the list of its parent. */
static void rnbdt_drr_activate(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *parent = node->parent;
	u32 weight = READ_ONCE(*node->weight);

	parent->top = max(parent->top, weight);
	parent->next_top = max(parent->next_top, weight);
	list_add_tail(&node->entry, &parent->active);
	rnbdt_drr_catch_up(node);
}

/* Take a node without requests that wait out of the list of its parent. */
static void rnbdt_drr_deactivate(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *parent = node->parent;

	list_del_init(&node->entry);
	/* An idle node saves no quantum. */
	if (node->deficit > 0)
		node->deficit = 0;
	/* The parent has no other child that the debts could harm. */
	if (list_empty(&parent->active)) {
		parent->round += RNBDT_DRR_FORGIVEN + 2;
		parent->top = 0;
		parent->next_top = 0;
	}
}

/* Charge the cost of a request to its disk, session and host. */
static void rnbdt_drr_charge(struct rnbdt_drr_node *disk, u32 cost)
{
	struct rnbdt_drr_node *node;

	for (node = disk; node->parent; node = node->parent) {
		/* A node that waits for its turn keeps its place. */
		bool turn = node->deficit > 0;

		node->deficit -= (s64)cost * RNBDT_DRR_FRACTION;
		if (turn && node->queued && node->deficit <= 0)
			list_move_tail(&node->entry, &node->parent->active);
	}
}

/* Count that @nr requests of a disk no longer wait. */
static void rnbdt_drr_uncount(struct rnbdt_drr_node *disk, u32 nr)
{
	struct rnbdt_drr_node *node;

	for (node = disk; node; node = node->parent) {
		WRITE_ONCE(node->queued, node->queued - nr);
		if (!node->queued && node->parent)
			rnbdt_drr_deactivate(node);
	}
}

/* All children have had their turn. @child is the first of the next round. */
static void rnbdt_drr_next_round(struct rnbdt_drr_node *node, const struct rnbdt_drr_node *child)
{
	u32 weight = READ_ONCE(*child->weight);

	node->round++;
	node->top = max(node->next_top, weight);
	node->next_top = 0;
}

/* Let the rounds pass in which each child pays its debt and none is served. */
static void rnbdt_drr_skip(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *child;
	u64 first = U64_MAX, rounds;

	list_for_each_entry(child, &node->active, entry) {
		rounds = div64_u64(-child->deficit, rnbdt_drr_quantum(child)) + 1;
		first = min(first, child->granted + rounds);
	}
	node->round = max(node->round, first);
}

/* Return the child of a node whose turn it is. */
static struct rnbdt_drr_node *rnbdt_drr_turn(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *child;
	bool fruitless = false;
	u32 weight;

	for (;;) {
		child = list_first_entry(&node->active, struct rnbdt_drr_node, entry);
		if (child->deficit > 0)
			return child;
		if (child->granted == node->round) {
			rnbdt_drr_next_round(node, child);
			if (fruitless)
				rnbdt_drr_skip(node);
			fruitless = true;
		}
		weight = READ_ONCE(*child->weight);
		node->next_top = max(node->next_top, weight);
		child->deficit += (s64)(node->round - child->granted) * rnbdt_drr_quantum(child);
		child->granted = node->round;
		if (child->deficit > 0)
			return child;
		list_move_tail(&child->entry, &node->active);
	}
}

/**
 * rnbdt_drr_add - let a request wait
 * @disk: node of its disk
 * @item: request; its cost is set
 *
 * Context: any, with the lock of the storage.
 * Return: true, or false if the disk is closed; then the request need not wait.
 */
bool rnbdt_drr_add(struct rnbdt_drr_node *disk, struct rnbdt_drr_item *item)
{
	struct rnbdt_drr_node *node;

	if (disk->closed)
		return false;
	list_add_tail(&item->entry, &disk->active);
	for (node = disk; node; node = node->parent) {
		WRITE_ONCE(node->queued, node->queued + 1);
		if (node->queued == 1 && node->parent)
			rnbdt_drr_activate(node);
	}
	return true;
}

/**
 * rnbdt_drr_next - take the next request
 * @root: node of the storage
 *
 * Context: any, with the lock of the storage.
 * Return: the request, which is in no list and no longer waits, or NULL if none waits.
 */
struct rnbdt_drr_item *rnbdt_drr_next(struct rnbdt_drr_node *root)
{
	struct rnbdt_drr_node *node = root;
	struct rnbdt_drr_item *item;

	if (!root->queued)
		return NULL;
	while (!node->leaf)
		node = rnbdt_drr_turn(node);
	item = list_first_entry(&node->active, struct rnbdt_drr_item, entry);
	list_del_init(&item->entry);
	rnbdt_drr_charge(node, item->cost);
	rnbdt_drr_uncount(node, 1);
	return item;
}

/* Does a node owe so little that a FLUSH below it may pass? */
static bool rnbdt_drr_may_pass(struct rnbdt_drr_node *node)
{
	if (node->ahead >= RNBDT_DRR_AHEAD_MAX)
		return false;
	/* The debt of a node without requests was not paid as yet. */
	if (!node->parent->queued)
		node->deficit = 0;
	else if (!node->queued)
		rnbdt_drr_catch_up(node);
	return node->deficit + (2 * (s64)node->quantum + RNBDT_DRR_AHEAD_DEBT) *
			       RNBDT_DRR_FRACTION >= 0;
}

/**
 * rnbdt_drr_pass - let a FLUSH pass ahead of the order
 * @disk: node of its disk
 * @item: FLUSH; its cost is set
 *
 * The client of the disk pays for it with its later requests.
 *
 * Context: any, with the lock of the storage.
 * Return: true if it passes; rnbdt_drr_passed() must follow when it has ended. False if too
 * many of them are in flight or the debt is too high: it must wait like other requests.
 */
bool rnbdt_drr_pass(struct rnbdt_drr_node *disk, struct rnbdt_drr_item *item)
{
	struct rnbdt_drr_node *node;

	for (node = disk; node->parent; node = node->parent)
		if (!rnbdt_drr_may_pass(node))
			return false;
	for (node = disk; node->parent; node = node->parent)
		node->ahead++;
	item->ahead = true;
	rnbdt_drr_charge(disk, item->cost);
	return true;
}

/**
 * rnbdt_drr_passed - note that a request which has passed ahead of the order has ended
 * @disk: node of its disk
 *
 * Context: any, with the lock of the storage.
 */
void rnbdt_drr_passed(struct rnbdt_drr_node *disk)
{
	struct rnbdt_drr_node *node;

	for (node = disk; node->parent; node = node->parent)
		node->ahead--;
}

/**
 * rnbdt_drr_close - let no request of a disk wait any more
 * @disk: node of the disk
 * @items: result: the requests that have waited, oldest first, are added at its end
 *
 * Context: any, with the lock of the storage.
 */
void rnbdt_drr_close(struct rnbdt_drr_node *disk, struct list_head *items)
{
	disk->closed = true;
	list_splice_tail_init(&disk->active, items);
	if (disk->queued)
		rnbdt_drr_uncount(disk, disk->queued);
}
