// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: registration, invalidation, translation.
 *
 * Operation: a key consists of the index of a region and a variant byte. map_mr_sg() stages a
 * list of memory pieces. The region consists of these pieces only when the REG_MR is executed, as
 * with adapters that fetch the list at that time. In a region that covers all memory
 * (get_dma_mr()), each address is a DMA address.
 *
 * Ownership: the model allocates regions, and frees them after an RCU grace period, because an
 * engine can still access a region that is being removed.
 *
 * Concurrency: the lock of a region protects the members that an engine reads and changes. The
 * ULP must serialise the calls of map_mr_sg() and the work requests for one region.
 *
 * Errors: functions for the engine return NULL for success, or a description of the error.
 */
#include <linux/slab.h>

#include "model.h"

#define MDL_KEY_SHIFT	8
#define MDL_VARIANT	GENMASK(7, 0)
#define MDL_MAX_INDEX	GENMASK(23, 0)
/* A key with a smaller index could be equal to MDL_LOCAL_DMA_LKEY. */
#define MDL_MIN_INDEX	0x10

static void mdl_mr_free(struct mdl_mr *mr)
{
	kvfree(mr->active);
	kvfree(mr->staged);
	kfree(mr);
}

static void mdl_mr_free_rcu(struct rcu_head *rcu)
{
	mdl_mr_free(container_of(rcu, struct mdl_mr, rcu));
}

static int mdl_mr_alloc_pieces(struct mdl_mr *mr, u32 max)
{
	mr->max = max;
	mr->active = kvcalloc(max, sizeof(*mr->active), GFP_KERNEL);
	mr->staged = kvcalloc(max, sizeof(*mr->staged), GFP_KERNEL);
	return mr->active && mr->staged ? 0 : -ENOMEM;
}

static struct mdl_mr *mdl_mr_create(struct ib_pd *ibpd, u32 max)
{
	struct mdl_dev *dev = mdl_dev_of(ibpd->device);
	u32 index;
	struct mdl_mr *mr;
	int ret = -ENOMEM;

	mdl_nasty_sleep(dev, MDL_NASTY_REGISTER);
	if (!mdl_object_add(dev, MDL_OBJECT_MR, dev->profile->max_mr))
		return ERR_PTR(-ENOMEM);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		goto err_object;
	spin_lock_init(&mr->lock);
	mr->ib.pd = ibpd;
	mr->ib.device = ibpd->device;
	if (max && mdl_mr_alloc_pieces(mr, max))
		goto err_mr;
	/* Allocate cyclically: a key is not reused soon, so that a stale key is detected. */
	ret = xa_alloc_cyclic_bh(&dev->mrs, &index, NULL,
				 XA_LIMIT(MDL_MIN_INDEX, MDL_MAX_INDEX), &dev->next_mr,
				 GFP_KERNEL);
	if (ret < 0)
		goto err_mr;
	mr->key = index << MDL_KEY_SHIFT;
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	return mr;

err_mr:
	mdl_mr_free(mr);
err_object:
	mdl_object_del(dev, MDL_OBJECT_MR);
	return ERR_PTR(ret);
}

/* Make a complete region visible to lookups. */
static struct ib_mr *mdl_mr_publish(struct mdl_dev *dev, struct mdl_mr *mr)
{
	xa_store_bh(&dev->mrs, mr->key >> MDL_KEY_SHIFT, mr, GFP_KERNEL);
	return &mr->ib;
}

/**
 * mdl_get_dma_mr - create a region that covers all memory
 * @ibpd: protection domain
 * @access: allowed access, enum ib_access_flags
 *
 * Context: process context, may sleep.
 * Return: the region or an error pointer.
 */
struct ib_mr *mdl_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct mdl_mr *mr = mdl_mr_create(ibpd, 0);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->is_dma = true;
	mr->valid = true;
	mr->access = access;
	mr->length = U64_MAX;
	return mdl_mr_publish(mdl_dev_of(ibpd->device), mr);
}

/*
 * Refuse to register memory of user space. The function exists because the RDMA core offers to
 * kernel ULPs only devices that have this operation.
 */
#ifdef MDL_HAVE_DMAH
struct ib_mr *mdl_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata)
#else
struct ib_mr *mdl_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
			      int access, struct ib_udata *udata)
#endif
{
	return ERR_PTR(-EOPNOTSUPP);
}

/**
 * mdl_alloc_mr - create a region for fast registration
 * @ibpd: protection domain
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg: capacity: pages for IB_MR_TYPE_MEM_REG, pieces for IB_MR_TYPE_SG_GAPS
 *
 * Context: process context, may sleep.
 * Return: the region or an error pointer.
 */
struct ib_mr *mdl_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg)
{
	const struct mdl_profile *p = mdl_dev_of(ibpd->device)->profile;
	struct mdl_mr *mr;

	if (!(p->features & MDL_F_MEM_MGT) ||
	    (type != IB_MR_TYPE_MEM_REG &&
	     !(type == IB_MR_TYPE_SG_GAPS && p->features & MDL_F_SG_GAPS)))
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > p->max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	mr = mdl_mr_create(ibpd, max_num_sg);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return mdl_mr_publish(mdl_dev_of(ibpd->device), mr);
}

/**
 * mdl_dereg_mr - destroy a region
 * @ibmr: region
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibmr->device);
	struct mdl_mr *mr = mdl_mr_of(ibmr);

	mdl_nasty_sleep(dev, MDL_NASTY_REGISTER);
	mdl_place_key(dev, mr->key);
	xa_erase_bh(&dev->mrs, mr->key >> MDL_KEY_SHIFT);
	call_rcu(&mr->rcu, mdl_mr_free_rcu);
	mdl_object_del(dev, MDL_OBJECT_MR);
	return 0;
}

static int mdl_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct mdl_mr *mr = mdl_mr_of(ibmr);

	if (mr->staged_nr == mr->max)
		return -ENOMEM;
	mr->staged[mr->staged_nr++] = (struct mdl_piece) { addr, ibmr->page_size };
	return 0;
}

/* Stage pieces of any length, for IB_MR_TYPE_SG_GAPS. */
static int mdl_set_gaps(struct mdl_mr *mr, struct scatterlist *sgl, int nents,
			unsigned int *offset)
{
	unsigned int skip = offset ? *offset : 0;
	struct scatterlist *sg;
	int i;

	mr->ib.iova = sg_dma_address(sgl) + skip;
	mr->ib.length = 0;
	for_each_sg(sgl, sg, nents, i) {
		if (mr->staged_nr == mr->max)
			break;
		mr->staged[mr->staged_nr++] = (struct mdl_piece) {
			sg_dma_address(sg) + skip, sg_dma_len(sg) - skip,
		};
		mr->ib.length += sg_dma_len(sg) - skip;
		skip = 0;
	}
	if (offset)
		*offset = 0;
	return i;
}

/**
 * mdl_map_mr_sg - stage memory for the next registration
 * @ibmr: region
 * @sgl: scatter list of mapped memory
 * @nents: number of DMA segments in the list
 * @offset: input, offset in the first segment; output, offset in the first segment that was not
 *	staged completely; NULL for an offset of 0
 *
 * Context: any.
 * Return: number of segments staged, or errno.
 */
int mdl_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents,
		  unsigned int *offset)
{
	struct mdl_dev *dev = mdl_dev_of(ibmr->device);
	struct mdl_mr *mr = mdl_mr_of(ibmr);

	mr->staged_nr = 0;
	if (!(ibmr->page_size & dev->profile->page_size_cap)) {
		mdl_violation(dev, NULL, 0, "pages of %u bytes in a region, not in page_size_cap",
			      ibmr->page_size);
		return -EINVAL;
	}
	if (ibmr->type == IB_MR_TYPE_SG_GAPS)
		return mdl_set_gaps(mr, sgl, nents, offset);
	return ib_sg_to_pages(ibmr, sgl, nents, offset, mdl_set_page);
}

/* Find the region of @key without comparing the variant; called in an RCU read section. */
static struct mdl_mr *mdl_mr_find(struct mdl_dev *dev, u32 key)
{
	return xa_load(&dev->mrs, key >> MDL_KEY_SHIFT);
}

/* Check a REG_MR against its region. */
static const char *mdl_mr_check_register(const struct mdl_mr *mr, const struct mdl_swqe *wqe)
{
	lockdep_assert_held(&mr->lock);
	if (mr->valid)
		return "REG_MR of a region that is still registered";
	if ((wqe->key ^ wqe->mr_key) >> MDL_KEY_SHIFT)
		return "REG_MR changes more of the key than its lowest byte";
	if (mr->used && wqe->key == mr->key)
		return "REG_MR with the key of the previous registration";
	if (wqe->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(wqe->access & IB_ACCESS_LOCAL_WRITE))
		return "REG_MR allows remote but not local write access";
	if (!mr->staged_nr)
		return "REG_MR without memory";
	return NULL;
}

/**
 * mdl_mr_register - execute a REG_MR
 * @dev: device
 * @pd: protection domain of the queue pair
 * @wqe: work request
 *
 * Context: engine.
 * Return: NULL, or a description of the error.
 */
const char *mdl_mr_register(struct mdl_dev *dev, struct ib_pd *pd,
			    const struct mdl_swqe *wqe)
{
	unsigned long flags;
	const char *wrong;
	struct mdl_mr *mr;
	u32 i;

	rcu_read_lock();
	mr = mdl_mr_find(dev, wqe->mr_key);
	if (!mr || mr->is_dma || mr->ib.pd != pd) {
		rcu_read_unlock();
		return "REG_MR of a region that the queue pair cannot use";
	}
	spin_lock_irqsave(&mr->lock, flags);
	wrong = mdl_mr_check_register(mr, wqe);
	if (!wrong) {
		for (i = 0; i < mr->staged_nr; i++)
			mr->active[i] = mr->staged[i];
		mr->nr = mr->staged_nr;
		mr->key = wqe->key;
		mr->access = wqe->access;
		mr->iova = mr->ib.iova;
		mr->length = mr->ib.length;
		mr->valid = true;
		mr->used = true;
	}
	spin_unlock_irqrestore(&mr->lock, flags);
	rcu_read_unlock();
	return wrong;
}

/**
 * mdl_mr_invalidate - execute a LOCAL_INV, or the invalidation by SEND_WITH_INV
 * @dev: device
 * @pd: protection domain of the queue pair
 * @key: key of the region
 *
 * Context: engine.
 * Return: NULL, or a description of the error.
 */
const char *mdl_mr_invalidate(struct mdl_dev *dev, struct ib_pd *pd, u32 key)
{
	const char *wrong = NULL;
	unsigned long flags;
	struct mdl_mr *mr;

	mdl_place_key(dev, key);
	rcu_read_lock();
	mr = mdl_mr_find(dev, key);
	if (!mr || mr->is_dma || mr->ib.pd != pd) {
		rcu_read_unlock();
		return "invalidation of a region that the queue pair cannot use";
	}
	spin_lock_irqsave(&mr->lock, flags);
	if (!mr->valid)
		wrong = "invalidation of a region that is not registered";
	else if (mr->key != key)
		wrong = "invalidation with a former key";
	else
		mr->valid = false;
	spin_unlock_irqrestore(&mr->lock, flags);
	rcu_read_unlock();
	return wrong;
}

/**
 * mdl_mr_is_dma - test whether a key covers all memory
 * @dev: device
 * @key: local key
 *
 * Context: any.
 * Return: true if an address with this key is a DMA address.
 */
bool mdl_mr_is_dma(struct mdl_dev *dev, u32 key)
{
	struct mdl_mr *mr;
	bool is_dma;

	if (key == MDL_LOCAL_DMA_LKEY && dev->profile->features & MDL_F_LOCAL_DMA_LKEY)
		return true;
	rcu_read_lock();
	mr = mdl_mr_find(dev, key);
	is_dma = mr && mr->is_dma;
	rcu_read_unlock();
	return is_dma;
}

/**
 * mdl_mr_check - check whether a queue pair may access memory by a key
 * @dev: device
 * @pd: protection domain of the queue pair
 * @key: local or remote key
 * @addr: first address
 * @len: number of bytes
 * @access: required access, enum ib_access_flags; 0 for a local read
 *
 * Context: engine.
 * Return: NULL, or a description of the error.
 */
const char *mdl_mr_check(struct mdl_dev *dev, struct ib_pd *pd, u32 key, u64 addr,
			 u64 len, int access)
{
	int remote = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	const char *wrong = NULL;
	unsigned long flags;
	struct mdl_mr *mr;

	if (key == MDL_LOCAL_DMA_LKEY && dev->profile->features & MDL_F_LOCAL_DMA_LKEY)
		return access & remote ? "remote access by the local key of all memory" : NULL;
	rcu_read_lock();
	mr = mdl_mr_find(dev, key);
	if (!mr) {
		rcu_read_unlock();
		return "unknown key";
	}
	spin_lock_irqsave(&mr->lock, flags);
	if (!mr->valid)
		wrong = "key of a region that is not registered";
	else if (mr->key != key)
		wrong = "former key of a region";
	else if (mr->ib.pd != pd)
		wrong = "key of another protection domain";
	else if (access & ~mr->access)
		wrong = "access that the region does not allow";
	else if (addr < mr->iova || len > mr->length || addr - mr->iova > mr->length - len)
		wrong = "address out of the bounds of the region";
	spin_unlock_irqrestore(&mr->lock, flags);
	rcu_read_unlock();
	return wrong;
}

/* Find the DMA address of @addr; @len stays 0 if no piece covers @addr. */
static void mdl_mr_find_piece(struct mdl_mr *mr, u64 addr, u32 all, u64 *dma, u32 *len)
{
	u64 offset = addr - mr->iova;
	u32 i = 0;

	if (mr->ib.type != IB_MR_TYPE_SG_GAPS) {
		/* All pages have the same length; the region can begin inside the first page. */
		offset += mr->iova & (mr->ib.page_size - 1);
		i = offset / mr->ib.page_size;
		offset %= mr->ib.page_size;
	} else {
		while (i < mr->nr && offset >= mr->active[i].len)
			offset -= mr->active[i++].len;
	}
	if (i >= mr->nr)
		return;
	*dma = mr->active[i].addr + offset;
	*len = min_t(u64, all, mr->active[i].len - offset);
}

/**
 * mdl_mr_translate - find the DMA address of memory that mdl_mr_check() has accepted
 * @dev: device
 * @key: local or remote key
 * @addr: address
 * @dma: output, DMA address
 * @len: input, number of bytes; output, number of these bytes that are consecutive at @dma
 *
 * Context: engine.
 * Return: NULL, or a description of the error.
 */
const char *mdl_mr_translate(struct mdl_dev *dev, u32 key, u64 addr, u64 *dma, u32 *len)
{
	const char *wrong = NULL;
	unsigned long flags;
	struct mdl_mr *mr;
	u32 all = *len;

	if (key == MDL_LOCAL_DMA_LKEY && dev->profile->features & MDL_F_LOCAL_DMA_LKEY) {
		*dma = addr;
		return NULL;
	}
	rcu_read_lock();
	mr = mdl_mr_find(dev, key);
	if (!mr) {
		rcu_read_unlock();
		return "region destroyed while in use";
	}
	*len = 0;
	spin_lock_irqsave(&mr->lock, flags);
	if (!mr->valid || mr->key != key) {
		wrong = "region invalidated while in use";
	} else if (mr->is_dma) {
		*dma = addr;
		*len = all;
	} else {
		mdl_mr_find_piece(mr, addr, all, dma, len);
		if (!*len)
			wrong = "region shorter than its length says";
	}
	spin_unlock_irqrestore(&mr->lock, flags);
	rcu_read_unlock();
	return wrong;
}
