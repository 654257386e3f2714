// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to the memory that a work request names.
 *
 * Operation: struct mdl_mem is a position in a list of scatter/gather entries. mdl_mem_check()
 * checks keys, bounds and access of all entries. mdl_mem_move() copies the next bytes between a
 * buffer and the memory, page by page through the mappings of the device.
 *
 * Ownership: nothing is allocated; the caller owns the list.
 *
 * Concurrency: one user per struct mdl_mem.
 *
 * Errors: an error is reported as a violation and returned as the status of a work completion.
 * For memory of the peer, the caller replaces IB_WC_LOC_PROT_ERR by IB_WC_REM_ACCESS_ERR or
 * IB_WC_REM_OP_ERR.
 */
#include "model.h"

#define MDL_REMOTE (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/**
 * mdl_mem_length - add up the lengths of scatter/gather entries
 * @sge: scatter/gather entries
 * @num_sge: number of entries
 *
 * Context: any.
 * Return: bytes.
 */
u64 mdl_mem_length(const struct ib_sge *sge, u32 num_sge)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < num_sge; i++)
		sum += sge[i].length;
	return sum;
}

static enum ib_wc_status mdl_mem_wrong(const struct mdl_mem *mem, const struct ib_sge *sge,
				       const char *wrong)
{
	mdl_violation(mdl_dev_of(mem->by->ib.device), mem->by, mem->wr_id,
		      "%s (%s %s, key %x, address %llx, length %x)", wrong,
		      mem->access & MDL_REMOTE ? "remote" : "local",
		      mem->access & ~IB_ACCESS_REMOTE_READ ? "write" : "read",
		      sge->lkey, sge->addr, sge->length);
	return IB_WC_LOC_PROT_ERR;
}

/**
 * mdl_mem_check - check keys, bounds and access of all scatter/gather entries
 * @mem: position at the beginning of the first entry
 *
 * Context: engine.
 * Return: IB_WC_SUCCESS or IB_WC_LOC_PROT_ERR.
 */
enum ib_wc_status mdl_mem_check(struct mdl_mem *mem)
{
	const char *wrong;
	u32 i;

	if (mem->data)
		return IB_WC_SUCCESS;
	for (i = 0; i < mem->num_sge; i++) {
		if (!mem->sge[i].length)
			continue;
		wrong = mdl_mr_check(mem->dev, mem->qp->ib.pd, mem->sge[i].lkey,
				     mem->sge[i].addr, mem->sge[i].length, mem->access);
		if (wrong)
			return mdl_mem_wrong(mem, &mem->sge[i], wrong);
	}
	return IB_WC_SUCCESS;
}

/* Copy at most @len bytes, up to the end of a page; set @len to the number of copied bytes. */
static enum ib_wc_status mdl_mem_move_piece(struct mdl_mem *mem, void *buf, u32 *len)
{
	bool write = mem->access & ~IB_ACCESS_REMOTE_READ;
	const struct ib_sge *sge = mem->sge;
	const char *wrong;
	u64 addr, dma;

	*len = min(*len, sge->length - mem->offset);
	addr = sge->addr + mem->offset;
	*len = min_t(u32, *len, PAGE_SIZE - (addr & ~PAGE_MASK));
	wrong = mdl_mr_translate(mem->dev, sge->lkey, addr, &dma, len);
	if (!wrong) {
		/* The address and the DMA address can have different offsets in their pages. */
		*len = min_t(u32, *len, PAGE_SIZE - (dma & ~PAGE_MASK));
		wrong = mdl_dma_access(mem->dev, dma, buf, *len, write);
	}
	if (wrong)
		return mdl_mem_wrong(mem, sge, wrong);
	mem->offset += *len;
	return IB_WC_SUCCESS;
}

/**
 * mdl_mem_skip - advance a position without copying
 * @mem: position, updated
 * @len: bytes, at most the rest of the list
 *
 * Context: engine.
 */
void mdl_mem_skip(struct mdl_mem *mem, u32 len)
{
	u32 n;

	if (mem->data) {
		mem->offset += len;
		return;
	}
	while (len) {
		n = min(len, mem->sge->length - mem->offset);
		mem->offset += n;
		len -= n;
		if (len) {
			mem->sge++;
			mem->num_sge--;
			mem->offset = 0;
		}
	}
}

/**
 * mdl_mem_move - copy the next bytes
 * @mem: position, updated
 * @buf: data to write, or output buffer
 * @len: bytes, at most the rest of the list
 *
 * Context: engine.
 * Return: IB_WC_SUCCESS or IB_WC_LOC_PROT_ERR.
 */
enum ib_wc_status mdl_mem_move(struct mdl_mem *mem, void *buf, u32 len)
{
	enum ib_wc_status status;
	u32 n;

	if (mem->data) {
		memcpy(buf, mem->data + mem->offset, len);
		mem->offset += len;
		return IB_WC_SUCCESS;
	}
	while (len) {
		if (WARN_ON_ONCE(!mem->num_sge))
			return IB_WC_GENERAL_ERR;
		if (mem->offset == mem->sge->length) {
			mem->sge++;
			mem->num_sge--;
			mem->offset = 0;
			continue;
		}
		n = len;
		status = mdl_mem_move_piece(mem, buf, &n);
		if (status)
			return status;
		buf += n;
		len -= n;
	}
	return IB_WC_SUCCESS;
}
