// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA operations on scatter lists, whose entries can be joined to segments as by an IOMMU.
 *
 * Operation: consecutive entries of a list get consecutive addresses, and become one segment,
 * if they meet at a page boundary and the limits of a segment allow it. A list can thus have
 * fewer segments than entries. A random number decides for each pair of entries, because a ULP
 * must handle both cases.
 *
 * Ownership: each entry is a separate mapping; see dma.c.
 *
 * Concurrency: callable in any context.
 *
 * Errors: -ENOMEM. An entry that is too long for a segment is a violation. An unmap with
 * another number of entries than the map is a violation, too.
 */
#include <linux/dma-map-ops.h>

#include "model.h"

static struct mdl_dev *mdl_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/*
 * Decide whether @next joins the segment that consists of @first to @prev and has @size bytes.
 */
static bool mdl_sg_joins(struct device *dev, struct scatterlist *first,
			 struct scatterlist *prev, struct scatterlist *next, u64 size)
{
	u64 begin = offset_in_page(sg_phys(first));

	return IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH) &&
	       PAGE_ALIGNED(sg_phys(prev) + prev->length) && PAGE_ALIGNED(sg_phys(next)) &&
	       size + next->length <= dma_get_max_seg_size(dev) &&
	       begin + size + next->length - 1 <= dma_get_seg_boundary(dev) &&
	       mdl_random(mdl_of(dev), 2);
}

/* Return the number of entries of the next segment, at most @max; set @size to its bytes. */
static int mdl_sg_segment(struct device *dev, struct scatterlist *first, int max, u64 *size)
{
	struct scatterlist *prev = first, *next;
	int n;

	*size = first->length;
	for (n = 1; n < max; n++, prev = next) {
		next = sg_next(prev);
		if (!mdl_sg_joins(dev, first, prev, next, *size))
			break;
		*size += next->length;
	}
	return n;
}

/* Map the @n entries of a segment of @size bytes. */
static dma_addr_t mdl_sg_map(struct device *dev, struct scatterlist *first, int n, u64 size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	u32 how = attrs & DMA_ATTR_SKIP_CPU_SYNC ? 0 : MDL_MAP_COPY;
	dma_addr_t addr, begin = 0, last = 0;
	struct mdl_dev *mdl = mdl_of(dev);
	struct scatterlist *sg;
	size_t done = 0;
	u64 room;
	int i;

	room = mdl_dma_reserve(mdl, PFN_UP(offset_in_page(sg_phys(first)) + size));
	if (!room)
		return DMA_MAPPING_ERROR;
	for_each_sg(first, sg, n, i) {
		if (sg->length > dma_get_max_seg_size(dev))
			mdl_violation(mdl, NULL, 0,
				      "maps a segment of %u bytes, beyond dma_get_max_seg_size() of %u",
				      sg->length, dma_get_max_seg_size(dev));
		addr = mdl_dma_map(mdl, sg_phys(sg), sg->length, dir, how, room);
		if (addr == DMA_MAPPING_ERROR) {
			if (done)
				mdl_dma_unmap(mdl, begin, done, dir, false);
			return DMA_MAPPING_ERROR;
		}
		if (i)
			mdl_dma_join(mdl, last);
		else
			begin = addr;
		last = addr;
		done += sg->length;
		room = addr + sg->length;
	}
	return begin;
}

/* Unmap the first @n segments of a list. */
static void mdl_sg_unmap(struct device *dev, struct scatterlist *sgl, int n,
			 enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, n, i) {
		if (!sg_dma_len(sg))
			break;
		mdl_dma_unmap(mdl_of(dev), sg_dma_address(sg), sg_dma_len(sg), dir,
			      !(attrs & DMA_ATTR_SKIP_CPU_SYNC));
	}
}

/**
 * mdl_op_map_sg - map a scatter list
 * @dev: parent device
 * @sgl: scatter list
 * @nents: number of entries
 * @dir: direction of the transfer
 * @attrs: DMA_ATTR_* flags
 *
 * Context: any.
 * Return: number of segments, or -ENOMEM.
 */
int mdl_op_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
		  enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *from = sgl, *to = sgl;
	int left, n, segments = 0;
	dma_addr_t addr;
	u64 size;

	for (left = nents; left;) {
		n = mdl_sg_segment(dev, from, left, &size);
		addr = mdl_sg_map(dev, from, n, size, dir, attrs);
		if (addr == DMA_MAPPING_ERROR) {
			mdl_sg_unmap(dev, sgl, segments, dir, attrs | DMA_ATTR_SKIP_CPU_SYNC);
			return -ENOMEM;
		}
		/*
		 * The loop has read the length of the entry @to before. Writing sg_dma_len() does
		 * not change that length.
		 */
		sg_dma_address(to) = addr;
		sg_dma_len(to) = size;
		to = sg_next(to);
		segments++;
		left -= n;
		while (n--)
			from = sg_next(from);
	}
	if (segments < nents)
		sg_dma_len(to) = 0;
	mdl_dma_set_nents(mdl_of(dev), sg_dma_address(sgl), nents);
	return segments;
}

/**
 * mdl_op_unmap_sg - unmap a scatter list
 * @dev: parent device
 * @sgl: scatter list
 * @nents: number of entries that was passed to mdl_op_map_sg()
 * @dir: direction of the transfer
 * @attrs: DMA_ATTR_* flags
 *
 * Context: any.
 */
void mdl_op_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
		     enum dma_data_direction dir, unsigned long attrs)
{
	u32 mapped = mdl_dma_set_nents(mdl_of(dev), sg_dma_address(sgl), 0);

	if (mapped && mapped != nents)
		mdl_violation(mdl_of(dev), NULL, 0,
			      "unmaps a list of %d entries that was mapped with %u entries",
			      nents, mapped);
	/* Use the recorded number: a wrong @nents can lead beyond the end of the list. */
	mdl_sg_unmap(dev, sgl, mapped ?: nents, dir, attrs);
}

static void mdl_sg_sync(struct device *dev, struct scatterlist *sgl, int nents,
			enum dma_data_direction dir, bool to_device)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(sgl, sg, nents, i) {
		if (!sg_dma_len(sg))
			break;
		mdl_dma_sync(mdl_of(dev), sg_dma_address(sg), sg_dma_len(sg), dir, to_device);
	}
}

/**
 * mdl_op_sync_sg_for_cpu - synchronise a scatter list before the processor accesses it
 * @dev: parent device
 * @sgl: scatter list
 * @nents: number of entries that was passed to mdl_op_map_sg()
 * @dir: direction of the transfer
 *
 * Context: any.
 */
void mdl_op_sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
			    enum dma_data_direction dir)
{
	mdl_sg_sync(dev, sgl, nents, dir, false);
}

/**
 * mdl_op_sync_sg_for_device - synchronise a scatter list before the device accesses it
 * @dev: parent device
 * @sgl: scatter list
 * @nents: number of entries that was passed to mdl_op_map_sg()
 * @dir: direction of the transfer
 *
 * Context: any.
 */
void mdl_op_sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
			       enum dma_data_direction dir)
{
	mdl_sg_sync(dev, sgl, nents, dir, true);
}
