// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deficit round robin over hosts, sessions and disks: selection of the next request.
 *
 * Operation
 *
 * The algorithm is that of M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit
 * Round Robin", SIGCOMM 1995. Nodes form a tree: the root is the storage, and below it are
 * hosts, sessions and disks. Requests wait at disks. A node below which requests wait is in the
 * list of its parent. In each round a child gets a quantum of cost in proportion to its weight.
 * The child is served until the quantum is used up, and then moves to the end of the list. The
 * cost of a request is a constant plus the length of the request in bytes. The cost is charged
 * to the disk, the session and the host of the request. So the storage is divided among the
 * hosts, the part of a host among its sessions, and the part of a session among its disks.
 *
 * The code differs from the paper in four points:
 * - A child is served while its deficit is positive. The cost of the next request need not be
 *   known in advance, and the deficit can become negative: the child then has a debt.
 * - The child of the largest weight gets the whole quantum, and each other child a part of it.
 *   So no weight makes a turn longer than the quantum.
 * - Rounds in which no child would be served are skipped, because visiting each child in each
 *   round takes long: a node can have thousands of children.
 * - A child without requests keeps its debt. Otherwise a host that sends one large request at a
 *   time would get more than its share. The quanta of the rounds that the child misses reduce
 *   the debt. When no child of the parent has requests, the debts of all children are dropped.
 *
 * A FLUSH costs only the constant, and passes ahead of all requests that wait, because it moves
 * no data and the client waits for it. This must not take the share of other disks and hosts. So
 * a FLUSH waits in order if RNBDT_DRR_AHEAD_MAX FLUSHes of its disk, its session or its host
 * have passed ahead and are in flight, or if one of the three has a debt of more than two quanta
 * plus RNBDT_DRR_AHEAD_DEBT.
 *
 * Ownership: the caller owns nodes and requests. A node must outlive its children.
 *
 * Concurrency: the caller holds the lock of the storage. Weights may be changed without this
 * lock, and the number of requests that wait at the storage may be read without it.
 *
 * Errors: none. A weight must not be 0. The code also compiles in user space, where
 * tests/unit/test_drr*.c run it against a model of the storage.
 */

#include "drr.h"

/* Units of a deficit per byte of cost: a quantum can be so few bytes that it needs fractions. */
#define RNBDT_DRR_FRACTION	64

/*
 * The quantum of the child of the largest weight is this number of bytes plus the constant cost
 * of one request. With a constant of 16 KiB a turn serves at most three requests of 4 KiB.
 */
#define RNBDT_DRR_QUANTUM	(32u << 10)

/*
 * A FLUSH passes ahead of the order if the debt is at most two quanta plus this number of bytes.
 * The debt after one request of 1 MiB and a few FLUSHes is below this limit.
 */
#define RNBDT_DRR_AHEAD_DEBT	(1536u << 10)

/*
 * Number of rounds whose quanta pay any debt: even the smallest quantum, that of a child of
 * RNBDT_WEIGHT_MIN beside a child of RNBDT_WEIGHT_MAX, pays 16 MiB in so many rounds. No debt is
 * larger than 16 MiB, because a child with a debt is not served, and a FLUSH passes ahead only
 * below the limit of RNBDT_DRR_AHEAD_DEBT.
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
 * @parent: node of the storage, host or session above @node
 * @weight: weight of @node among the children of @parent; read at each turn
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

/* Return the quantum of a node in units of a deficit. */
static s64 rnbdt_drr_quantum(const struct rnbdt_drr_node *node)
{
	const struct rnbdt_drr_node *parent = node->parent;
	u32 weight = READ_ONCE(*node->weight);

	/*
	 * Limit a weight that was raised since the round began to the largest weight of the
	 * round.
	 */
	weight = min(weight, parent->top);
	return div_u64((u64)parent->quantum * RNBDT_DRR_FRACTION * weight, parent->top);
}

/* Reduce the debt of a node by the quanta of the rounds that have passed while it was idle. */
static void rnbdt_drr_catch_up(struct rnbdt_drr_node *node)
{
	u64 missed = node->parent->round - node->granted;

	if (missed < 2)
		return;
	/* rnbdt_drr_turn() adds the quantum of the current round. */
	missed--;
	node->granted += missed;
	if (missed < RNBDT_DRR_FORGIVEN)
		node->deficit += (s64)missed * rnbdt_drr_quantum(node);
	if (missed >= RNBDT_DRR_FORGIVEN || node->deficit > 0)
		node->deficit = 0;
}

/* Add a node to the end of the list of its parent when a first request waits below the node. */
static void rnbdt_drr_activate(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *parent = node->parent;
	u32 weight = READ_ONCE(*node->weight);

	parent->top = max(parent->top, weight);
	parent->next_top = max(parent->next_top, weight);
	list_add_tail(&node->entry, &parent->active);
	rnbdt_drr_catch_up(node);
}

/* Remove a node from the list of its parent when no request waits below it. */
static void rnbdt_drr_deactivate(struct rnbdt_drr_node *node)
{
	struct rnbdt_drr_node *parent = node->parent;

	list_del_init(&node->entry);
	/* A node without requests must not save a part of its quantum for later. */
	if (node->deficit > 0)
		node->deficit = 0;
	/* No child has requests now: drop all debts by skipping the rounds that would pay them. */
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
		/* A FLUSH also charges nodes that wait for their turn: these keep their place. */
		bool turn = node->deficit > 0;

		node->deficit -= (s64)cost * RNBDT_DRR_FRACTION;
		if (turn && node->queued && node->deficit <= 0)
			list_move_tail(&node->entry, &node->parent->active);
	}
}

/* Subtract @nr from the number of waiting requests of a disk and of all nodes above it. */
static void rnbdt_drr_uncount(struct rnbdt_drr_node *disk, u32 nr)
{
	struct rnbdt_drr_node *node;

	for (node = disk; node; node = node->parent) {
		WRITE_ONCE(node->queued, node->queued - nr);
		if (!node->queued && node->parent)
			rnbdt_drr_deactivate(node);
	}
}

/* Begin the next round, because all children of @node have had a turn; @child is its first. */
static void rnbdt_drr_next_round(struct rnbdt_drr_node *node, const struct rnbdt_drr_node *child)
{
	u32 weight = READ_ONCE(*child->weight);

	node->round++;
	node->top = max(node->next_top, weight);
	node->next_top = 0;
}

/* Skip the rounds in which no child would be served, because every child still has a debt. */
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

/* Return the child of @node whose turn it is. */
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
 * rnbdt_drr_add - add a request to those that wait
 * @disk: node of the disk of the request
 * @item: request with its cost
 *
 * Context: any, with the lock of the storage.
 * Return: true if the request waits now; false if the disk is closed: the request was not added,
 * and the caller must submit it at once.
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
 * rnbdt_drr_next - remove the next request from those that wait
 * @root: node of the storage
 *
 * Context: any, with the lock of the storage.
 * Return: the request, or NULL if none waits.
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

/* Test whether a node has so few FLUSHes ahead, and so little debt, that one more may pass. */
static bool rnbdt_drr_may_pass(struct rnbdt_drr_node *node)
{
	if (node->ahead >= RNBDT_DRR_AHEAD_MAX)
		return false;
	/* First reduce the debt of an idle node by the rounds that the node has missed. */
	if (!node->parent->queued)
		node->deficit = 0;
	else if (!node->queued)
		rnbdt_drr_catch_up(node);
	return node->deficit + (2 * (s64)node->quantum + RNBDT_DRR_AHEAD_DEBT) *
			       RNBDT_DRR_FRACTION >= 0;
}

/**
 * rnbdt_drr_pass - let a FLUSH pass ahead of the order
 * @disk: node of the disk of the FLUSH
 * @item: FLUSH with its cost
 *
 * The cost is charged to the disk, its session and its host, and delays their later requests.
 *
 * Context: any, with the lock of the storage.
 * Return: true if the FLUSH passes; the caller must call rnbdt_drr_passed() when the FLUSH has
 * ended. False if too many FLUSHes are in flight or the debt is too high; the FLUSH must then
 * wait like other requests.
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
 * rnbdt_drr_passed - record the end of a FLUSH that has passed ahead of the order
 * @disk: node of the disk of the FLUSH
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
 * rnbdt_drr_close - close a disk, at which no request waits from now on
 * @disk: node of the disk
 * @items: list to which the waiting requests of the disk are moved, oldest first
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
