// SPDX-License-Identifier: GPL-2.0-only
/*
 * Properties of an export.
 *
 * Operation: the backend of the target fills in struct rnbd_geometry, ATTACH_REPLY carries all
 * its members, and the client sets up its disk with them. A CAPACITY entry carries only a new
 * capacity; a list of exports carries capacity and logical block size.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: a function that checks returns false for properties that a disk cannot have.
 */
#include "check.h"
#include "geometry.h"

#define RNBD_LOGICAL_BLOCK_MIN	512u
/* Older kernels require a logical block to fit a page; the smallest pages have 4096 bytes. */
#define RNBD_LOGICAL_BLOCK_MAX	4096u
#define RNBD_PHYSICAL_BLOCK_MAX	0x100000u

/**
 * rnbd_block_ok - test whether a disk can have logical blocks of this size
 * @block: bytes of a logical block
 *
 * Context: any.
 * Return: true if so.
 */
bool rnbd_block_ok(u32 block)
{
	return is_power_of_2(block) && block >= RNBD_LOGICAL_BLOCK_MIN &&
	       block <= RNBD_LOGICAL_BLOCK_MAX;
}

/**
 * rnbd_capacity_ok - test whether an export can have this capacity
 * @capacity: bytes
 * @block: bytes of a logical block, a power of two
 *
 * A capacity is one or more whole blocks, and must fit loff_t, which is signed.
 *
 * Context: any.
 * Return: true if so.
 */
bool rnbd_capacity_ok(u64 capacity, u32 block)
{
	return capacity && capacity <= U64_MAX / 2 && rnbd_multiple(capacity, block);
}
EXPORT_SYMBOL_GPL(rnbd_capacity_ok);

/**
 * rnbd_geometry_ok - test whether a disk of the block layer can have these properties
 * @geo: properties; @geo->flags has no unknown bits
 *
 * Context: any.
 * Return: true if so.
 */
bool rnbd_geometry_ok(const struct rnbd_geometry *geo)
{
	u32 block = geo->logical_block;

	if (!rnbd_block_ok(block) || !rnbd_capacity_ok(geo->capacity, block))
		return false;
	if (!is_power_of_2(geo->physical_block) ||
	    geo->physical_block < block ||
	    geo->physical_block > RNBD_PHYSICAL_BLOCK_MAX)
		return false;
	/*
	 * Without FUA, the block layer would emulate FUA: when the disk completes a FUA write, the
	 * block layer would start a FLUSH, and end the write only after the FLUSH.
	 */
	if ((geo->flags & RNBD_EXPORT_VOLATILE_CACHE) &&
	    !(geo->flags & RNBD_EXPORT_FUA))
		return false;
	/* Limit the hints: the block layer reads ahead up to twice io_opt bytes. */
	if (geo->io_min > RNBD_IO_HINT_MAX || geo->io_opt > RNBD_IO_HINT_MAX)
		return false;
	/*
	 * The block layer splits a discard at multiples of discard_granularity or of
	 * physical_block, whichever is larger, so max_discard must not be less than that.
	 */
	if (geo->max_discard &&
	    (!geo->discard_granularity ||
	     geo->max_discard < geo->discard_granularity ||
	     geo->max_discard < geo->physical_block))
		return false;
	return geo->io_min >= block &&
	       rnbd_multiple(geo->io_min, block) &&
	       rnbd_multiple(geo->io_opt, block) &&
	       rnbd_multiple(geo->discard_granularity, block) &&
	       rnbd_multiple(geo->discard_alignment, block) &&
	       rnbd_multiple(geo->max_discard, block) &&
	       rnbd_multiple(geo->max_write_zeroes, block);
}

/**
 * rnbd_encode_geometry - encode the properties of an export
 * @wire: answer to a request to attach; other members stay untouched
 * @geo: properties
 *
 * Context: any.
 */
void rnbd_encode_geometry(struct rnbd_ctl_attach_reply *wire, const struct rnbd_geometry *geo)
{
	wire->capacity = cpu_to_le64(geo->capacity);
	wire->flags = cpu_to_le32(geo->flags);
	wire->logical_block = cpu_to_le32(geo->logical_block);
	wire->physical_block = cpu_to_le32(geo->physical_block);
	wire->io_min = cpu_to_le32(geo->io_min);
	wire->io_opt = cpu_to_le32(geo->io_opt);
	wire->discard_granularity = cpu_to_le32(geo->discard_granularity);
	wire->discard_alignment = cpu_to_le32(geo->discard_alignment);
	wire->max_discard = cpu_to_le32(geo->max_discard);
	wire->max_write_zeroes = cpu_to_le32(geo->max_write_zeroes);
}

/**
 * rnbd_decode_geometry - decode the properties of an export
 * @wire: copy of an answer to a request to attach
 * @geo: result; the caller checks it with rnbd_geometry_ok()
 *
 * Context: any.
 */
void rnbd_decode_geometry(const struct rnbd_ctl_attach_reply *wire, struct rnbd_geometry *geo)
{
	*geo = (struct rnbd_geometry) {
		.capacity = le64_to_cpu(wire->capacity),
		.flags = le32_to_cpu(wire->flags),
		.logical_block = le32_to_cpu(wire->logical_block),
		.physical_block = le32_to_cpu(wire->physical_block),
		.io_min = le32_to_cpu(wire->io_min),
		.io_opt = le32_to_cpu(wire->io_opt),
		.discard_granularity = le32_to_cpu(wire->discard_granularity),
		.discard_alignment = le32_to_cpu(wire->discard_alignment),
		.max_discard = le32_to_cpu(wire->max_discard),
		.max_write_zeroes = le32_to_cpu(wire->max_write_zeroes),
	};
}
