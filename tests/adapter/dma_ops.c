// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA operations of the parent device, called by the DMA API of the kernel.
 *
 * Operation: each operation calls a function of dma.c. A device without bounce buffers has no
 * operations to synchronise, so that dma_need_sync() returns false. With dma=direct the parent
 * has no operations; the kernel then maps memory directly, or by swiotlb if a boot parameter
 * forces that.
 *
 * Ownership: the caller of mdl_op_alloc() owns the coherent memory until mdl_op_free().
 *
 * Concurrency: callable in any context.
 *
 * Errors: DMA_MAPPING_ERROR, -ENOMEM.
 */
#include <linux/dma-map-ops.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "model.h"

bool mdl_dma_direct;

static int mdl_dma_set(const char *val, const struct kernel_param *kp)
{
	if (sysfs_streq(val, "direct"))
		mdl_dma_direct = true;
	else if (sysfs_streq(val, "model"))
		mdl_dma_direct = false;
	else
		return -EINVAL;
	return 0;
}

static int mdl_dma_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", mdl_dma_direct ? "direct" : "model");
}

static const struct kernel_param_ops mdl_dma_param = {
	.set = mdl_dma_set,
	.get = mdl_dma_get,
};

module_param_cb(dma, &mdl_dma_param, NULL, 0444);
MODULE_PARM_DESC(dma, "model: checked mappings of the model; direct: mappings of the kernel");

static bool mdl_bounce = true;
module_param_named(bounce, mdl_bounce, bool, 0644);
MODULE_PARM_DESC(bounce, "with dma=model: bounce buffers for new devices (default: Y)");

static struct mdl_dev *mdl_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static void *mdl_op_alloc(struct device *dev, size_t size, dma_addr_t *handle, gfp_t gfp,
			  unsigned long attrs)
{
	void *virt = alloc_pages_exact(size, gfp | __GFP_ZERO);

	if (!virt)
		return NULL;
	*handle = mdl_dma_map(mdl_of(dev), virt_to_phys(virt), size, DMA_BIDIRECTIONAL,
			      MDL_MAP_COHERENT, 0);
	if (*handle == DMA_MAPPING_ERROR) {
		free_pages_exact(virt, size);
		return NULL;
	}
	return virt;
}

static void mdl_op_free(struct device *dev, size_t size, void *virt, dma_addr_t handle,
			unsigned long attrs)
{
	mdl_dma_unmap(mdl_of(dev), handle, size, DMA_BIDIRECTIONAL, false);
	free_pages_exact(virt, size);
}

static dma_addr_t mdl_op_map_page(struct device *dev, struct page *page,
				  unsigned long offset, size_t size,
				  enum dma_data_direction dir, unsigned long attrs)
{
	return mdl_dma_map(mdl_of(dev), page_to_phys(page) + offset, size, dir,
			   attrs & DMA_ATTR_SKIP_CPU_SYNC ? 0 : MDL_MAP_COPY, 0);
}

static void mdl_op_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
			      enum dma_data_direction dir, unsigned long attrs)
{
	mdl_dma_unmap(mdl_of(dev), addr, size, dir, !(attrs & DMA_ATTR_SKIP_CPU_SYNC));
}

#ifdef MDL_HAVE_MAP_PHYS
static dma_addr_t mdl_op_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				  enum dma_data_direction dir, unsigned long attrs)
{
	/* MMIO of other devices is not supported; no test maps it. */
	if (!pfn_valid(PHYS_PFN(phys)))
		return DMA_MAPPING_ERROR;
	return mdl_op_map_page(dev, phys_to_page(phys), offset_in_page(phys), size, dir,
			       attrs);
}

#define MDL_DMA_OPS_PIECE				\
	.map_phys = mdl_op_map_phys,			\
	.unmap_phys = mdl_op_unmap_page
#else
#define MDL_DMA_OPS_PIECE				\
	.map_page = mdl_op_map_page,			\
	.unmap_page = mdl_op_unmap_page
#endif

static void mdl_op_sync_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
				enum dma_data_direction dir)
{
	mdl_dma_sync(mdl_of(dev), addr, size, dir, false);
}

static void mdl_op_sync_for_device(struct device *dev, dma_addr_t addr, size_t size,
				   enum dma_data_direction dir)
{
	mdl_dma_sync(mdl_of(dev), addr, size, dir, true);
}

static size_t mdl_op_max_mapping_size(struct device *dev)
{
	return mdl_of(dev)->profile->max_mapping_size ?: SIZE_MAX;
}

#define MDL_DMA_OPS_COMMON				\
	.alloc = mdl_op_alloc,				\
	.free = mdl_op_free,				\
	MDL_DMA_OPS_PIECE,				\
	.map_sg = mdl_op_map_sg,			\
	.unmap_sg = mdl_op_unmap_sg

static const struct dma_map_ops mdl_dma_ops = {
	MDL_DMA_OPS_COMMON,
};

static const struct dma_map_ops mdl_bounce_ops = {
	MDL_DMA_OPS_COMMON,
	.sync_single_for_cpu = mdl_op_sync_for_cpu,
	.sync_single_for_device = mdl_op_sync_for_device,
	.sync_sg_for_cpu = mdl_op_sync_sg_for_cpu,
	.sync_sg_for_device = mdl_op_sync_sg_for_device,
	.max_mapping_size = mdl_op_max_mapping_size,
};

/**
 * mdl_dma_ops_set - set the DMA operations and limits of the parent of a device
 * @dev: device with parent and profile
 *
 * Context: process context.
 * Return: 0 or errno.
 */
int mdl_dma_ops_set(struct mdl_dev *dev)
{
	struct device *parent = &dev->pdev->dev;
	int ret;

	dev_set_drvdata(parent, dev);
	dev->bounce = READ_ONCE(mdl_bounce) && !mdl_dma_direct;
	if (!mdl_dma_direct)
		set_dma_ops(parent, dev->bounce ? &mdl_bounce_ops : &mdl_dma_ops);
	ret = dma_set_mask_and_coherent(parent, DMA_BIT_MASK(dev->profile->dma_bits));
	if (ret)
		return ret;
	dma_set_max_seg_size(parent, dev->profile->max_segment_size);
	if (dev->profile->seg_boundary_mask)
		dma_set_seg_boundary(parent, dev->profile->seg_boundary_mask);
	return 0;
}
