/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an RDMA device maps at once.
 *
 * Operation: the client limits the pieces of requests by it, the target those of its pool.
 * Ownership: nothing is allocated or kept.
 * Concurrency: any context.
 * Errors: none.
 */
#ifndef RNBD_CORE_DMA_H
#define RNBD_CORE_DMA_H

#include <linux/dma-mapping.h>
#include <rdma/ib_verbs.h>

/**
 * rnbd_max_segment_size - get the largest piece of memory that a device maps at once
 * @dev: device
 *
 * Context: any.
 * Return: bytes. DMA bounce buffers (swiotlb) may hold less than the device accepts.
 */
static inline size_t rnbd_max_segment_size(struct ib_device *dev)
{
	size_t bytes = ib_dma_max_seg_size(dev);

	if (!ib_uses_virt_dma(dev))
		bytes = min(bytes, dma_max_mapping_size(dev->dma_device));
	return bytes;
}

#endif /* RNBD_CORE_DMA_H */
