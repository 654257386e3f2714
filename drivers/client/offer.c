// SPDX-License-Identifier: GPL-2.0-only
/*
 * Offer of a target: comparison of the offered export with the disk.
 *
 * Operation: The offer is the target's positive reply to an ATTACH. When a disk attaches
 * again, rnbdc_check_attach() compares the offer with the disk: the UUID, the logical block
 * size and the flags of the export must be the same, and the limits of DISCARD and
 * WRITE_ZEROES must not be smaller. An export with another incarnation, for example after a
 * restart of the target, has possibly lost writes that were acknowledged but not flushed.
 *
 * Ownership: The functions allocate nothing and keep no pointer.
 *
 * Concurrency: recovery.lock serialises the comparisons. rnbdc_accept_attach() needs no lock,
 * because no request of the disk is in queue_rq.
 *
 * Errors: Each error has a message for the user.
 */

#include <linux/errno.h>
#include <linux/string.h>

#include "../core/geometry.h"
#include "disk.h"
#include "errmsg.h"
#include "offer.h"

/* Test for acknowledged writes that are not flushed: a restart of the target can lose them. */
static bool rnbdc_unflushed(const struct rnbdc_disk *disk)
{
	const struct rnbdc_hwq *hwq = NULL;

	while ((hwq = rnbdc_next_hwq(disk, hwq)))
		if (hwq->last_write_ns > READ_ONCE(disk->flushed_ns))
			return true;
	return false;
}

/**
 * rnbdc_restarted - test whether the offer has another incarnation of the export
 * @disk: disk with a gendisk and an offer
 *
 * Context: any; recovery.lock held.
 * Return: true if the incarnation has changed since the disk was last attached, for example
 * because the target has restarted.
 */
bool rnbdc_restarted(const struct rnbdc_disk *disk)
{
	return memcmp(disk->incarnation, disk->offer.incarnation, sizeof(disk->incarnation));
}

/**
 * rnbdc_check_attach - compare an offer with the current properties of the disk
 * @disk: disk with a gendisk and an offer, without a request in flight
 * @errmsg: message for the user, set on error
 *
 * Context: any; recovery.lock held.
 * Return: 0, -EMEDIUMTYPE if the offer does not suit the disk, or -EUCLEAN if the export has
 * possibly lost acknowledged writes of the disk.
 */
int rnbdc_check_attach(struct rnbdc_disk *disk, struct rnbdc_errmsg *errmsg)
{
	const struct rnbd_geometry *old = &disk->geo, *new = &disk->offer.geo;

	if (memcmp(disk->export_uuid, disk->offer.export_uuid, sizeof(disk->export_uuid))) {
		rnbdc_errmsg_set(errmsg, "another export has this name now");
		return -EMEDIUMTYPE;
	}
	if (old->logical_block != new->logical_block || old->flags != new->flags) {
		rnbdc_errmsg_set(errmsg,
				 "the export has other properties now; detach it and attach it again");
		return -EMEDIUMTYPE;
	}
	if (new->max_discard < old->max_discard ||
	    new->max_write_zeroes < old->max_write_zeroes) {
		rnbdc_errmsg_set(errmsg, "the target grants less than before");
		return -EMEDIUMTYPE;
	}
	if (rnbdc_restarted(disk) && rnbdc_unflushed(disk)) {
		rnbdc_errmsg_set(errmsg,
				 "the target restarted and may have lost acknowledged writes");
		return -EUCLEAN;
	}
	return 0;
}

/**
 * rnbdc_accept_attach - copy the handle and the properties of the offer to the disk
 * @disk: disk with a checked offer
 *
 * Context: any; no request of the disk is in queue_rq.
 */
void rnbdc_accept_attach(struct rnbdc_disk *disk)
{
	const struct rnbd_attach_grant *offer = &disk->offer;

	disk->handle = offer->handle;
	disk->geo = offer->geo;
	memcpy(disk->incarnation, offer->incarnation, sizeof(disk->incarnation));
	memcpy(disk->export_uuid, offer->export_uuid, sizeof(disk->export_uuid));
	disk->fence_generation = offer->fence_generation;
	disk->owner_generation = offer->owner_generation;
}
