/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Size limit of a piece of memory that is mapped for an RDMA device.
 *
 * Operation: the client limits each piece of the data of a request to this size. The target
 * limits each piece of a pool segment to it.
 * Ownership: nothing is allocated or kept.
 * Concurrency: any context.
 * Errors: none.
 */
#ifndef RNBD_CORE_DMA_H
#define RNBD_CORE_DMA_H

#include <linux/dma-mapping.h>
#include <rdma/ib_verbs.h>

/**
 * rnbd_max_segment_size - get the size limit of one piece of a mapping
 * @dev: device
 *
 * Context: any.
 * Return: bytes; can be less than the device accepts, for example if DMA bounce buffers (swiotlb)
 * are in use.
 */
static inline size_t rnbd_max_segment_size(struct ib_device *dev)
{
	size_t bytes = ib_dma_max_seg_size(dev);

	if (!ib_uses_virt_dma(dev))
		bytes = min(bytes, dma_max_mapping_size(dev->dma_device));
	return bytes;
}

#endif /* RNBD_CORE_DMA_H */
