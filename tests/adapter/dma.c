// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA mappings of a device: an address is valid exactly while it is mapped.
 *
 * Operation: each mapping gets shadow pages and addresses that were not in use recently. A gap
 * of one page follows the mapping, unless the next mapping belongs to the same segment. The device
 * accesses the shadow pages. Data are copied between memory and shadow pages when memory is
 * mapped, unmapped and synchronised, so that a missing synchronisation shows as wrong data.
 * Coherent memory has no shadow pages, nor has any memory of a device without bounce buffers.
 * With dma=direct, an address is a physical address, and nothing is checked.
 *
 * Ownership: a mapping owns its shadow pages until it is unmapped.
 *
 * Concurrency: all functions take the lock of the mappings and may be called in any context.
 *
 * Errors: DMA_MAPPING_ERROR if memory or addresses are exhausted. Wrong calls are reported as
 * violations.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "model.h"

/* Lower addresses are never valid, because small numbers are a common mistake. */
#define MDL_DMA_FIRST	SZ_1G

/**
 * struct mdl_mapping - memory that a device may access
 * @node: node of mdl_dma.root
 * @addr: first DMA address
 * @size: bytes
 * @page: first page of the memory
 * @offset: offset of the memory in @page, bytes
 * @dir: direction of the transfer
 * @joined: whether the mapping at the next address belongs to the same segment
 * @nents: number of entries of the list that begins with this mapping, otherwise 0
 * @pins: number of scatter/gather entries of posted work requests that refer to the mapping;
 *	see retire.c
 * @pin_qpn: queue pair of the last of these work requests
 * @pin_wr_id: identifier of the last of these work requests
 * @nr: number of shadow pages, 0 if the device accesses the memory itself
 * @shadow: shadow pages
 */
struct mdl_mapping {
	struct rb_node node;
	u64 addr;
	size_t size;
	struct page *page;
	size_t offset;
	enum dma_data_direction dir;
	bool joined;
	u32 nents;
	u32 pins;
	u32 pin_qpn;
	u64 pin_wr_id;
	u32 nr;
	struct page *shadow[] __counted_by(nr);
};

/* Find the mapping that contains @addr. */
static struct mdl_mapping *mdl_dma_find(struct mdl_dma *dma, u64 addr)
{
	struct rb_node *node = dma->root.rb_node;
	struct mdl_mapping *m;

	lockdep_assert_held(&dma->lock);
	while (node) {
		m = rb_entry(node, struct mdl_mapping, node);
		if (addr < m->addr)
			node = node->rb_left;
		else if (addr - m->addr >= m->size)
			node = node->rb_right;
		else
			return m;
	}
	return NULL;
}

static void mdl_dma_insert(struct mdl_dma *dma, struct mdl_mapping *new)
{
	struct rb_node **link = &dma->root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = new->addr < rb_entry(parent, struct mdl_mapping, node)->addr ?
		       &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &dma->root);
}

/* Find the first mapping that ends behind @addr. */
static struct mdl_mapping *mdl_dma_after(struct mdl_dma *dma, u64 addr)
{
	struct rb_node *node = dma->root.rb_node;
	struct mdl_mapping *m, *best = NULL;

	while (node) {
		m = rb_entry(node, struct mdl_mapping, node);
		if (m->addr + m->size > addr) {
			best = m;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return best;
}

/*
 * Find addresses for @pages pages and a gap. The search continues after the latest result, so that
 * an address is reused as late as possible. The addresses are aligned to the size, as by an IOMMU,
 * because some ULPs register a mapped chunk as one large page.
 */
static u64 mdl_dma_find_room(struct mdl_dma *dma, u64 pages)
{
	u64 bytes = (pages + 1) << PAGE_SHIFT, align = roundup_pow_of_two(pages) << PAGE_SHIFT;
	struct mdl_mapping *m;
	bool wrapped = false;
	u64 addr;

	lockdep_assert_held(&dma->lock);
	for (addr = dma->next; ; addr = m->addr + m->size + PAGE_SIZE) {
		addr = round_up(addr, align);
		if (addr + bytes < addr || addr + bytes > dma->end) {
			if (wrapped)
				return 0;
			wrapped = true;
			addr = round_up(MDL_DMA_FIRST, align);
		}
		m = mdl_dma_after(dma, addr);
		if (!m || m->addr >= addr + bytes)
			break;
	}
	dma->next = addr + bytes;
	return addr;
}

/* Copy @len bytes at offset @from of a mapping between its memory and its shadow pages. */
static void mdl_dma_copy(struct mdl_mapping *m, size_t from, size_t len, bool to_device)
{
	size_t at = (m->addr & ~PAGE_MASK) + from, mem = m->offset + from, n;

	if (!m->nr)
		return;
	while (len) {
		n = min3(len, PAGE_SIZE - (at & ~PAGE_MASK), PAGE_SIZE - (mem & ~PAGE_MASK));
		if (to_device)
			memcpy_page(m->shadow[at >> PAGE_SHIFT], at & ~PAGE_MASK,
				    m->page + (mem >> PAGE_SHIFT), mem & ~PAGE_MASK, n);
		else
			memcpy_page(m->page + (mem >> PAGE_SHIFT), mem & ~PAGE_MASK,
				    m->shadow[at >> PAGE_SHIFT], at & ~PAGE_MASK, n);
		at += n;
		mem += n;
		len -= n;
	}
}

static void mdl_dma_free(struct mdl_mapping *m)
{
	u32 i;

	for (i = 0; i < m->nr; i++)
		if (m->shadow[i])
			__free_page(m->shadow[i]);
	kfree(m);
}

static struct mdl_mapping *mdl_dma_alloc(size_t pages)
{
	struct mdl_mapping *m;
	u32 i;

	m = kzalloc(struct_size(m, shadow, pages), GFP_ATOMIC | __GFP_NOWARN);
	if (!m)
		return NULL;
	m->nr = pages;
	for (i = 0; i < pages; i++) {
		m->shadow[i] = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (!m->shadow[i]) {
			mdl_dma_free(m);
			return NULL;
		}
	}
	return m;
}

/**
 * mdl_dma_reserve - reserve addresses for consecutive mappings
 * @dev: device
 * @pages: number of pages
 *
 * The function reuses addresses only after it has returned all other free addresses.
 *
 * Context: any.
 * Return: address of the first page, or 0.
 */
u64 mdl_dma_reserve(struct mdl_dev *dev, u64 pages)
{
	struct mdl_dma *dma = &dev->dma;
	unsigned long flags;
	u64 addr;

	spin_lock_irqsave(&dma->lock, flags);
	addr = mdl_dma_find_room(dma, pages);
	spin_unlock_irqrestore(&dma->lock, flags);
	return addr;
}

/**
 * mdl_dma_map - map memory
 * @dev: device
 * @phys: physical address
 * @size: bytes
 * @dir: direction of the transfer
 * @how: MDL_MAP_* flags
 * @room: page address from a reservation by mdl_dma_reserve(), or 0
 *
 * Context: any.
 * Return: DMA address, or DMA_MAPPING_ERROR.
 */
dma_addr_t mdl_dma_map(struct mdl_dev *dev, phys_addr_t phys, size_t size,
		       enum dma_data_direction dir, u32 how, u64 room)
{
	bool shadow = dev->bounce && !(how & MDL_MAP_COHERENT);
	size_t in_page = offset_in_page(phys);
	size_t pages = PFN_UP(in_page + size);
	struct mdl_dma *dma = &dev->dma;
	struct mdl_mapping *m;
	unsigned long flags;
	u64 addr;

	if (!size || (shadow && dev->profile->max_mapping_size &&
		      size > dev->profile->max_mapping_size)) {
		mdl_violation(dev, NULL, 0, "a mapping of %zu bytes, beyond dma_max_mapping_size()",
			      size);
		return DMA_MAPPING_ERROR;
	}
	m = mdl_dma_alloc(shadow ? pages : 0);
	if (!m)
		return DMA_MAPPING_ERROR;
	m->size = size;
	m->page = pfn_to_page(PHYS_PFN(phys));
	m->offset = in_page;
	m->dir = dir;
	spin_lock_irqsave(&dma->lock, flags);
	addr = room ?: mdl_dma_find_room(dma, pages);
	if (addr) {
		m->addr = addr + in_page;
		/*
		 * Copy also for DMA_FROM_DEVICE: the unmapping copies all bytes back, and those
		 * that the device has not written must be unchanged.
		 */
		if (how & MDL_MAP_COPY)
			mdl_dma_copy(m, 0, size, true);
		mdl_dma_insert(dma, m);
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	if (!addr) {
		mdl_dma_free(m);
		return DMA_MAPPING_ERROR;
	}
	mdl_count(dev, MDL_STAT_MAP);
	mdl_add(dev, MDL_STAT_MAPPED, size);
	return m->addr;
}

/**
 * mdl_dma_join - join a mapping with the one at the next address into one segment
 * @dev: device
 * @addr: first address of the mapping
 *
 * Context: any.
 */
void mdl_dma_join(struct mdl_dev *dev, u64 addr)
{
	struct mdl_dma *dma = &dev->dma;
	struct mdl_mapping *m;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (m)
		m->joined = true;
	spin_unlock_irqrestore(&dma->lock, flags);
	mdl_count(dev, MDL_STAT_JOINED);
}

/**
 * mdl_dma_set_nents - record the number of entries of the list that begins with a mapping
 * @dev: device
 * @addr: address of the mapping
 * @nents: number of entries of the list, or 0 to query only
 *
 * Context: any.
 * Return: previous number, 0 if no list begins with the mapping.
 */
u32 mdl_dma_set_nents(struct mdl_dev *dev, u64 addr, u32 nents)
{
	struct mdl_dma *dma = &dev->dma;
	struct mdl_mapping *m;
	unsigned long flags;
	u32 before = 0;

	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (m) {
		before = m->nents;
		m->nents = nents ?: before;
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	return before;
}

/**
 * mdl_dma_pin - record that a posted work request refers to a mapping
 * @dev: device
 * @addr: address inside the mapping; ignored if it is not mapped
 * @qpn: number of the queue pair, for a violation report
 * @wr_id: identifier of the work request, for a violation report
 *
 * Context: any.
 */
void mdl_dma_pin(struct mdl_dev *dev, u64 addr, u32 qpn, u64 wr_id)
{
	struct mdl_dma *dma = &dev->dma;
	struct mdl_mapping *m;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (m) {
		m->pins++;
		m->pin_qpn = qpn;
		m->pin_wr_id = wr_id;
	}
	spin_unlock_irqrestore(&dma->lock, flags);
}

/**
 * mdl_dma_unpin - undo mdl_dma_pin()
 * @dev: device
 * @addr: address that was passed to mdl_dma_pin()
 *
 * Context: any.
 */
void mdl_dma_unpin(struct mdl_dev *dev, u64 addr)
{
	struct mdl_dma *dma = &dev->dma;
	struct mdl_mapping *m;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (m && m->pins)
		m->pins--;
	spin_unlock_irqrestore(&dma->lock, flags);
}

static void mdl_dma_report_pin(struct mdl_dev *dev, const struct mdl_mapping *m)
{
	struct mdl_qp *qp;

	rcu_read_lock();
	qp = mdl_qp_get(dev, m->pin_qpn);
	mdl_violation(dev, qp, m->pin_wr_id,
		      "address %llx is unmapped before %u work requests that name it are retired, the last one posted is this",
		      m->addr, m->pins);
	if (qp)
		mdl_qp_put(qp);
	rcu_read_unlock();
}

/* Remove the mapping that begins at @addr; the caller frees it. */
static struct mdl_mapping *mdl_dma_remove(struct mdl_dma *dma, u64 addr, bool copy)
{
	struct mdl_mapping *m;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (m && m->addr != addr)
		m = NULL;
	if (m) {
		rb_erase(&m->node, &dma->root);
		if (copy && m->dir != DMA_TO_DEVICE)
			mdl_dma_copy(m, 0, m->size, false);
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	return m;
}

/**
 * mdl_dma_unmap - unmap a mapping, or all mappings of a segment
 * @dev: device
 * @addr: first address
 * @size: bytes of the mapping or of the whole segment
 * @dir: direction of the transfer
 * @copy: whether to copy the data from the shadow pages to memory
 *
 * Context: any.
 */
void mdl_dma_unmap(struct mdl_dev *dev, dma_addr_t addr, size_t size,
		   enum dma_data_direction dir, bool copy)
{
	enum dma_data_direction mapped_dir;
	struct mdl_mapping *m;
	size_t mapped = 0;
	bool joined;

	do {
		m = mdl_dma_remove(&dev->dma, addr + mapped, copy);
		if (!m) {
			mdl_violation(dev, NULL, 0, "unmaps address %llx, which is not mapped",
				      (u64)addr + mapped);
			return;
		}
		if (m->pins)
			mdl_dma_report_pin(dev, m);
		joined = m->joined;
		mapped += m->size;
		mapped_dir = m->dir;
		mdl_count(dev, MDL_STAT_UNMAP);
		mdl_add(dev, MDL_STAT_MAPPED, -(s64)m->size);
		mdl_dma_free(m);
	} while (joined);
	if (mapped != size || mapped_dir != dir)
		mdl_violation(dev, NULL, 0,
			      "unmaps address %llx with size %zx and direction %d, mapped with %zx and %d",
			      (u64)addr, size, dir, mapped, mapped_dir);
}

/* Synchronise the part of @size bytes that lies in one mapping; set @size to its length. */
static const char *mdl_dma_sync_one(struct mdl_mapping *m, u64 addr, size_t *size,
				    enum dma_data_direction dir, bool to_device)
{
	size_t left;

	if (!m)
		return "which is not mapped";
	left = m->size - (addr - m->addr);
	if (*size > left && !m->joined)
		return "beyond its end";
	if (dir != m->dir && m->dir != DMA_BIDIRECTIONAL)
		return "with another direction";
	*size = min(*size, left);
	if (m->dir != (to_device ? DMA_FROM_DEVICE : DMA_TO_DEVICE))
		mdl_dma_copy(m, addr - m->addr, *size, to_device);
	return NULL;
}

/**
 * mdl_dma_sync - synchronise memory and shadow pages
 * @dev: device
 * @addr: address inside a mapping
 * @size: bytes
 * @dir: direction of the transfer
 * @to_device: true if the device accesses the memory next, false if the processor does
 *
 * Context: any.
 */
void mdl_dma_sync(struct mdl_dev *dev, dma_addr_t addr, size_t size,
		  enum dma_data_direction dir, bool to_device)
{
	struct mdl_dma *dma = &dev->dma;
	const char *wrong = NULL;
	size_t done, n;
	unsigned long flags;

	mdl_count(dev, MDL_STAT_SYNC);
	spin_lock_irqsave(&dma->lock, flags);
	for (done = 0; done < size && !wrong; done += n) {
		n = size - done;
		wrong = mdl_dma_sync_one(mdl_dma_find(dma, addr + done), addr + done, &n, dir,
					 to_device);
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	if (wrong)
		mdl_violation(dev, NULL, 0, "synchronises address %llx, size %zx, %s",
			      (u64)addr, size, wrong);
}

static const char *mdl_dma_access_direct(u64 addr, void *buf, u32 len, bool write)
{
	struct page *page;

	if (!pfn_valid(PHYS_PFN(addr)))
		return "address that is no memory";
	page = pfn_to_page(PHYS_PFN(addr));
	if (write)
		memcpy_to_page(page, offset_in_page(addr), buf, len);
	else
		memcpy_from_page(buf, page, offset_in_page(addr), len);
	return NULL;
}

/**
 * mdl_dma_access - access memory as the device does
 * @dev: device
 * @addr: DMA address
 * @buf: data to write, or output buffer
 * @len: bytes; must not cross the end of the page of @addr
 * @write: true if the device writes to memory
 *
 * Context: engine.
 * Return: NULL, or a description of the error.
 */
const char *mdl_dma_access(struct mdl_dev *dev, u64 addr, void *buf, u32 len, bool write)
{
	struct mdl_dma *dma = &dev->dma;
	const char *wrong = NULL;
	struct mdl_mapping *m;
	unsigned long flags;
	struct page *page;
	u64 at;

	if (mdl_dma_direct)
		return mdl_dma_access_direct(addr, buf, len, write);
	spin_lock_irqsave(&dma->lock, flags);
	m = mdl_dma_find(dma, addr);
	if (!m) {
		wrong = "address that is not mapped";
	} else if (len > m->size - (addr - m->addr)) {
		wrong = "access beyond the end of a mapping";
	} else if (m->dir == (write ? DMA_TO_DEVICE : DMA_FROM_DEVICE)) {
		wrong = "access against the direction of a mapping";
	} else {
		at = addr - (m->addr & PAGE_MASK);
		page = m->nr ? m->shadow[at >> PAGE_SHIFT] :
			       m->page + ((m->offset + (addr - m->addr)) >> PAGE_SHIFT);
		if (write)
			memcpy_to_page(page, offset_in_page(addr), buf, len);
		else
			memcpy_from_page(buf, page, offset_in_page(addr), len);
	}
	spin_unlock_irqrestore(&dma->lock, flags);
	return wrong;
}

/**
 * mdl_dma_init - prepare the mappings of a device
 * @dev: device with its profile
 *
 * Context: process context.
 */
void mdl_dma_init(struct mdl_dev *dev)
{
	struct mdl_dma *dma = &dev->dma;

	spin_lock_init(&dma->lock);
	dma->root = RB_ROOT;
	dma->next = MDL_DMA_FIRST;
	/* Exclude the highest addresses: they contain DMA_MAPPING_ERROR. */
	dma->end = (DMA_BIT_MASK(dev->profile->dma_bits) & PAGE_MASK) - PAGE_SIZE;
}

/**
 * mdl_dma_exit - report and free the mappings that are left
 * @dev: device
 *
 * Context: process context.
 */
void mdl_dma_exit(struct mdl_dev *dev)
{
	struct mdl_mapping *m, *next;
	u32 left = 0;

	rbtree_postorder_for_each_entry_safe(m, next, &dev->dma.root, node) {
		if (!left++)
			pr_err("rdma-model: %s: still mapped: %llx, size %zx, direction %d\n",
			       dev_name(&dev->ib.dev), m->addr, m->size, m->dir);
		mdl_dma_free(m);
	}
	if (left)
		mdl_violation(dev, NULL, 0, "%u mappings are left at removal", left);
}
