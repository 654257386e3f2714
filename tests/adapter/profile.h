/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits, features and timing of the adapters that the model imitates.
 *
 * Operation: profile.c holds one constant table entry per adapter. A device keeps a pointer to
 * its entry and copies only the timing.
 * Ownership: constant data of the module.
 * Concurrency: the data are never written and need no lock.
 * Errors: a device with an unknown profile name is not created.
 */
#ifndef MDL_PROFILE_H
#define MDL_PROFILE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

/*
 * Features of a profile. The bits describe the adapter, not how strictly the model checks.
 * query_device() reports some of them as capabilities.
 */
/* The device has a local DMA key that covers all memory (IBK_LOCAL_DMA_LKEY). */
#define MDL_F_LOCAL_DMA_LKEY	BIT(0)
/* REG_MR, LOCAL_INV and SEND_WITH_INV (IB_DEVICE_MEM_MGT_EXTENSIONS). */
#define MDL_F_MEM_MGT		BIT(1)
/* alloc_mr() accepts IB_MR_TYPE_SG_GAPS. */
#define MDL_F_SG_GAPS		BIT(2)
/* modify_cq() sets the moderation of completions by count and period. */
#define MDL_F_CQ_MODERATION	BIT(3)
/* create_srq() and the limit event of shared receive queues. */
#define MDL_F_SRQ		BIT(4)
/* IB_SEND_INLINE, up to max_inline_data. */
#define MDL_F_INLINE		BIT(5)
/* RDMA_WRITE_WITH_IMM. */
#define MDL_F_WRITE_IMM		BIT(6)
/*
 * The adapter places the data of a READ in memory in any order. The bit documents the adapter; the
 * model does not use it.
 */
#define MDL_F_READ_UNORDERED	BIT(7)
/*
 * The adapter places the data of a WRITE in memory in any order before the completion of the
 * WRITE. The bit documents the adapter; the model does not use it.
 */
#define MDL_F_WRITE_UNORDERED	BIT(8)
/* The receiver answers with an RNR NAK if it has no receive work request. */
#define MDL_F_RNR		BIT(9)
/* Queue pairs always allow remote READs and WRITEs; modify_qp() cannot forbid them. */
#define MDL_F_ACCESS_STAYS	BIT(10)
/* The driver lets the RDMA core adapt the moderation of completion queues (use_cq_dim). */
#define MDL_F_CQ_DIM		BIT(11)

/**
 * struct mdl_timing - costs of operations on an adapter
 * @link_mbps: link rate for payload and headers, Mbit/s
 * @header_bytes: bytes of headers and gaps on the wire per packet
 * @round_trip_ns: time from a SEND on the wire until its acknowledgment arrives, without the
 *	serialisation of data, ns
 * @doorbell_ns: CPU time of the MMIO write of one post call on a send queue, ns
 * @recv_doorbell_ns: CPU time of the MMIO write of one post call on a receive queue, ns; 0 if
 *	the driver only writes to memory
 * @cq_doorbell_ns: CPU time of the MMIO write of one poll call that returns completions, ns; 0
 *	if the driver only writes to memory
 * @doorbell_to_fetch_ns: time from the doorbell until the adapter starts to fetch the work
 *	request, ns
 * @wqe_fetch_ns: time to fetch one block of work requests over PCIe, ns
 * @wqe_block_bytes: size of a block of the send queue, the unit of a fetch, bytes
 * @wqe_ns: shortest time between two work requests of one send queue, ns (message rate of a
 *	queue)
 * @device_wqe_ns: shortest time between two blocks of work requests on the whole adapter, ns
 *	(message rate of the adapter)
 * @cqe_write_ns: time from the end of an operation until its completion is in host memory, ns
 * @pcie_read_ns: round-trip time of a read of host memory, ns
 * @pcie_mbps: PCIe rate for data, Mbit/s
 * @reg_mr_ns: time of a REG_MR, without the time for its pages, ns
 * @reg_mr_page_ns: additional time of a REG_MR per page, ns
 * @local_inv_ns: time of a LOCAL_INV or of a remote invalidation, ns
 * @reg_mr_stalls: whether a REG_MR, a LOCAL_INV or a remote invalidation stops the whole
 *	adapter instead of its queue only
 * @interrupt_ns: time from the event until the interrupt handler starts, ns
 * @moderation_count: default number of completions per interrupt, 0 without moderation
 * @moderation_us: default moderation period, us
 */
struct mdl_timing {
	u32 link_mbps;
	u32 header_bytes;
	u32 round_trip_ns;
	u32 doorbell_ns;
	u32 recv_doorbell_ns;
	u32 cq_doorbell_ns;
	u32 doorbell_to_fetch_ns;
	u32 wqe_fetch_ns;
	u32 wqe_block_bytes;
	u32 wqe_ns;
	u32 device_wqe_ns;
	u32 cqe_write_ns;
	u32 pcie_read_ns;
	u32 pcie_mbps;
	u32 reg_mr_ns;
	u32 reg_mr_page_ns;
	u32 local_inv_ns;
	bool reg_mr_stalls;
	u32 interrupt_ns;
	u32 moderation_count;
	u32 moderation_us;
};

/**
 * struct mdl_profile - limits and features of one kind of adapter
 * @name: name of the profile, the value of the module parameter "profile"
 * @features: bits MDL_F_*
 * @device_cap_flags: enum ib_device_cap_flags that do not follow from @features
 * @kernel_cap_flags: enum ib_kernel_cap_flags that do not follow from @features
 * @max_mr_size: largest length of a memory region, bytes
 * @page_size_cap: bitmap of the page sizes of memory regions
 * @max_qp: number of queue pairs
 * @max_qp_wr: work requests of one send or receive queue
 * @max_send_sge: scatter/gather entries of a send work request
 * @max_recv_sge: scatter/gather entries of a receive work request
 * @max_sge_rd: scatter/gather entries of an RDMA READ
 * @max_sgl_rd: scatter/gather entries of an RDMA READ beyond which the RDMA core prefers a
 *	registration (rdma_rw), 0 if the adapter sets no such number
 * @max_cq: number of completion queues
 * @max_cqe: entries of one completion queue
 * @max_mr: number of memory regions
 * @max_pd: number of protection domains
 * @max_qp_rd_atom: RDMA READs that a queue pair serves concurrently, as responder
 * @max_qp_init_rd_atom: RDMA READs that a queue pair issues concurrently, as requester
 * @max_res_rd_atom: RDMA READs that the device serves concurrently
 * @atomic_cap: level of atomic operations that the adapter reports; the model executes none
 * @max_ah: number of address handles
 * @max_srq: number of shared receive queues
 * @max_srq_wr: work requests of one shared receive queue
 * @max_srq_sge: scatter/gather entries of a work request of a shared receive queue
 * @max_fast_reg_page_list_len: pages of one fast registration (REG_MR)
 * @max_pi_fast_reg_page_list_len: pages of one registration with integrity data
 * @max_pkeys: entries of the partition key table
 * @local_ca_ack_delay: acknowledgment delay that the adapter reports: 4.096 us times 2 to this
 *	power
 * @max_inline_data: bytes of inline data in a work request
 * @cqe_slack: entries that the adapter adds to the requested size of a completion queue. The model
 *	uses the number only with @cqe_power_of_two: it adds the entries before it rounds up, and
 *	subtracts them after that
 * @cqe_power_of_two: whether the size of a completion queue is rounded up to a power of 2
 * @wr_power_of_two: whether the size of a send, receive or shared receive queue is rounded up
 *	to a power of 2; for a send queue with @sq_bytes set, its size in bytes
 * @sq_bytes: size of the largest send queue, bytes; 0 if only the number of its work requests
 *	is limited
 * @sq_overhead: bytes of a send work request without its scatter/gather entries
 * @sq_align: alignment of a send work request, bytes
 * @num_comp_vectors: number of completion vectors; a device has at most one per online
 *	processor
 * @max_cq_moderation_count: largest count that modify_cq() accepts
 * @max_cq_moderation_period: longest period that modify_cq() accepts, us
 * @gid_table_len: entries of the GID table of a port
 * @max_mtu: largest path MTU, enum ib_mtu
 * @max_msg_sz: length of the longest message, bytes
 * @dma_bits: width of a DMA address, bits
 * @max_segment_size: length of the longest DMA segment, bytes
 * @max_mapping_size: length of the longest DMA mapping with bounce buffers (dma=model), bytes;
 *	0 if unlimited
 * @seg_boundary_mask: a DMA segment must not cross a multiple of this mask plus 1
 * @timing: costs of operations, for timed devices
 */
struct mdl_profile {
	const char *name;
	u32 features;
	u64 device_cap_flags;
	u64 kernel_cap_flags;
	u64 max_mr_size;
	u64 page_size_cap;
	u32 max_qp;
	u32 max_qp_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_sge_rd;
	u32 max_sgl_rd;
	u32 max_cq;
	u32 max_cqe;
	u32 max_mr;
	u32 max_pd;
	u32 max_qp_rd_atom;
	u32 max_qp_init_rd_atom;
	u32 max_res_rd_atom;
	enum ib_atomic_cap atomic_cap;
	u32 max_ah;
	u32 max_srq;
	u32 max_srq_wr;
	u32 max_srq_sge;
	u32 max_fast_reg_page_list_len;
	u32 max_pi_fast_reg_page_list_len;
	u16 max_pkeys;
	u8 local_ca_ack_delay;
	u32 max_inline_data;
	u32 cqe_slack;
	bool cqe_power_of_two;
	bool wr_power_of_two;
	u32 sq_bytes;
	u32 sq_overhead;
	u32 sq_align;
	u32 num_comp_vectors;
	u16 max_cq_moderation_count;
	u16 max_cq_moderation_period;
	u32 gid_table_len;
	enum ib_mtu max_mtu;
	u32 max_msg_sz;
	u32 dma_bits;
	u32 max_segment_size;
	u32 max_mapping_size;
	u64 seg_boundary_mask;
	struct mdl_timing timing;
};

const struct mdl_profile *mdl_profile_find(const char *name);

#endif
