/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deficit round robin over hosts, sessions and disks. See drr.c.
 *
 * In user space, the file that includes this one must define struct list_head.
 */
#ifndef RNBDT_DRR_H
#define RNBDT_DRR_H

#ifdef __KERNEL__
#include <linux/list.h>
#include <linux/math64.h>
#endif

#include "../core/portable.h"

/* Default, lowest and highest weight of a host */
#define RNBDT_WEIGHT_DEFAULT	100
#define RNBDT_WEIGHT_MIN	1
#define RNBDT_WEIGHT_MAX	10000

/*
 * Largest number of bytes for which a request is charged: the length of the largest READ or
 * WRITE. A longer DISCARD or WRITE ZEROES costs no more, because it carries no data.
 */
#define RNBDT_DRR_BYTES_MAX	(4u << 20)

/* Largest number of FLUSHes of a host in flight that have passed ahead of the order */
#define RNBDT_DRR_AHEAD_MAX	64

/**
 * struct rnbdt_drr_item - a request in the scheduler
 * @entry: in rnbdt_drr_node.active of its disk while it waits
 * @cost: constant of the storage plus the bytes of the request
 * @ahead: the request is a FLUSH that has passed ahead of the order
 */
struct rnbdt_drr_item {
	struct list_head entry;
	u32 cost;
	bool ahead;
};

/**
 * struct rnbdt_drr_node - the storage, a host, a session or a disk
 * @parent: node above this one, NULL for the storage; constant
 * @weight: weight of this node among the children of @parent, not 0; may change at any time
 * @leaf: the node is a disk, whose children are requests; constant
 * @closed: the node is a disk at which no request may wait
 * @entry: in @active of @parent while requests wait below this node
 * @active: children with requests that wait, in the order of their turns; for a disk its
 *	requests, oldest first
 * @queued: number of requests that wait below this node; the number of the storage is also read
 *	without a lock
 * @deficit: cost for which the node may still be served in this round, in fractions of a
 *	byte, see RNBDT_DRR_FRACTION; a negative value is a debt
 * @granted: number of the round of @parent in which the node got its latest quantum
 * @round: number of the current round of the children
 * @top: largest weight of the children in this round; a child of this weight gets the whole
 *	@quantum
 * @next_top: largest weight of the children seen so far for the next round
 * @quantum: cost per round for the heaviest child, in bytes; constant
 * @overhead: constant part of the cost of a request, in bytes; constant
 * @ahead: number of FLUSHes below this node that have passed ahead and have not ended
 *
 * The lock of the storage protects all members that are not constant.
 */
struct rnbdt_drr_node {
	struct rnbdt_drr_node *parent;
	const u32 *weight;
	bool leaf;
	bool closed;
	struct list_head entry;
	struct list_head active;
	u32 queued;
	s64 deficit;
	u64 granted;
	u64 round;
	u32 top;
	u32 next_top;
	u32 quantum;
	u32 overhead;
	u32 ahead;
};

/**
 * rnbdt_drr_cost - compute the cost of a request
 * @overhead: constant part of the cost, in bytes
 * @bytes: length of the request in bytes, 0 for a FLUSH
 *
 * Context: any.
 * Return: the cost, in bytes.
 */
static inline u32 rnbdt_drr_cost(u32 overhead, u32 bytes)
{
	return overhead + min(bytes, RNBDT_DRR_BYTES_MAX);
}

void rnbdt_drr_init_root(struct rnbdt_drr_node *root, u32 overhead);
void rnbdt_drr_init(struct rnbdt_drr_node *node, struct rnbdt_drr_node *parent,
		    const u32 *weight, bool leaf);
bool rnbdt_drr_add(struct rnbdt_drr_node *disk, struct rnbdt_drr_item *item);
struct rnbdt_drr_item *rnbdt_drr_next(struct rnbdt_drr_node *root);
bool rnbdt_drr_pass(struct rnbdt_drr_node *disk, struct rnbdt_drr_item *item);
void rnbdt_drr_passed(struct rnbdt_drr_node *disk);
void rnbdt_drr_close(struct rnbdt_drr_node *disk, struct list_head *items);

#endif /* RNBDT_DRR_H */
