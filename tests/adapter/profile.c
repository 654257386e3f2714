// SPDX-License-Identifier: GPL-2.0-only
/*
 * The profiles of the modelled adapter: limits, features and timing.
 *
 * Operation: mdl_profile_find() looks up a profile by its name. A limit is a constant of the Linux
 * driver of the adapter or, where the driver asks the firmware, a value that users of the adapter
 * have published. The comments say "guess" if neither was found.
 *
 * The comments use these names for sources:
 * - "driver": torvalds/linux, drivers/infiniband/hw/, the query_device function of the
 *   adapter's directory; compared with the modules of Debian's kernel 6.12.
 * - "ibv_devinfo": output of that tool in openucx/ucx issues 10317 and 10430 and in
 *   open-mpi/ompi pull request 6137 (mlx5), deepseek-ai/3FS issue 192 (irdma), and
 *   uccl-project/uccl issue 250 (bnxt_re).
 * - "REG_MR commit": the nvme-rdma IOPS in the message of kernel commit 064e52624707
 *   (ConnectX-5, PCIe Gen3 x16, null_blk). The figures were checked against the message.
 * - "papers": Neugebauer et al., SIGCOMM 2018 (PCIe), and Zambre et al., ICPP 2019 (breakdown
 *   of a message). The figures were not checked against the papers.
 *
 * All profiles have a link of 100 Gb/s and a round trip of 2.5 us; the module parameter
 * round_trip_ns replaces the latter. Each packet carries 82 bytes in addition to its payload:
 * preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12.
 *
 * max_mapping_size is a choice of the model: no driver limits it.
 *
 * Ownership: constant data of the module.
 * Concurrency: the data are never written and need no lock.
 * Errors: NULL for an unknown name.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "profile.h"

static const struct mdl_profile mdl_profiles[] = {
	/*
	 * ConnectX-6 and -7, RoCE. The driver has no device-wide DMA key: local_dma_lkey is
	 * 0, and the core calls get_dma_mr() for every protection domain.
	 */
	{
		.name = "mlx5",
		/*
		 * The driver enables relaxed ordering of PCIe writes for kernel ULPs (default
		 * since Linux 5.14). So the data of a request reach memory in any order, but before
		 * the completion.
		 */
		.features = MDL_F_MEM_MGT | MDL_F_SG_GAPS | MDL_F_CQ_MODERATION | MDL_F_SRQ |
			    MDL_F_INLINE | MDL_F_WRITE_IMM | MDL_F_RNR |
			    MDL_F_READ_UNORDERED | MDL_F_WRITE_UNORDERED | MDL_F_CQ_DIM,
		/* Driver and ibv_devinfo (0x25321c36), without the flags for raw Ethernet. */
		.device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
				    IB_DEVICE_AUTO_PATH_MIG | IB_DEVICE_CHANGE_PHY_PORT |
				    IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_XRC |
				    IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B,
		/*
		 * The adapter also reports IBK_INTEGRITY_HANDOVER. The model must not report
		 * it, because nvme-rdma would then call alloc_mr_integrity(), which the model
		 * lacks.
		 */
		.kernel_cap_flags = 0,
		.max_mr_size = U64_MAX,
		.page_size_cap = ~(u64)(SZ_4K - 1),
		.max_qp = 131072,
		/*
		 * The limit counts blocks of 64 bytes. A work request takes ALIGN(132 + 16 *
		 * max_send_sge, 64) bytes (calc_sq_size(), sq_overhead()), so a send queue
		 * holds 3276 work requests of 30 entries.
		 */
		.max_qp_wr = 32768,
		/* max_send_sge: (512 - 16 - 16) / 16. max_sge_rd: MLX5_MAX_SGE_RD. */
		.max_send_sge = 30,
		.max_recv_sge = 32,
		.max_sge_rd = 30,
		/*
		 * The firmware reports a limit (max_sgl_for_optimized_performance), but no
		 * source gives its value. 0 (no limit) favours nvmet-rdma, which then registers
		 * memory less often.
		 */
		.max_sgl_rd = 0,
		.max_cq = 1 << 24,
		.max_cqe = 4194303,
		.max_mr = 1 << 24,
		.max_pd = 1 << 23,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 2097152,
		.atomic_cap = IB_ATOMIC_HCA,
		.max_ah = INT_MAX,
		.max_srq = 1 << 23,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		/* 1 << log_max_klm_list_size; the exponent 16 is a guess. */
		.max_fast_reg_page_list_len = 65536,
		.max_pi_fast_reg_page_list_len = 32768,
		/* Size of the table of a RoCE port; the device attribute is 128. */
		.max_pkeys = 1,
		.local_ca_ack_delay = 16,
		/* 1024 bytes of a work request (firmware), minus 132 (overhead) and 4 (length). */
		.max_inline_data = 888,
		.cqe_slack = 1,
		.cqe_power_of_two = true,
		.wr_power_of_two = true,
		/* calc_sq_size() with calc_send_wqe() for RC: 2^15 blocks of 64 bytes. */
		.sq_bytes = SZ_2M,
		.sq_overhead = 132,
		.sq_align = 64,
		/* The number of processors, at most 63 in ibv_devinfo. */
		.num_comp_vectors = 63,
		.max_cq_moderation_count = U16_MAX,
		.max_cq_moderation_period = 4095,
		/* Guess; the firmware reports it. */
		.gid_table_len = 255,
		.max_mtu = IB_MTU_4096,
		.max_msg_sz = SZ_1G,
		.dma_bits = 64,
		.max_segment_size = SZ_2G,
		.max_mapping_size = SZ_1M,
		.seg_boundary_mask = U32_MAX,
		.timing = {
			.link_mbps = 100000,
			.header_bytes = 82,
			.round_trip_ns = 2500,
			/* An 8-byte doorbell per post: 50 to 250 in papers. */
			.doorbell_ns = 100,
			/* Doorbell records in memory (mlx5_ib_post_recv(), mlx5_cq_set_ci()). */
			.recv_doorbell_ns = 0,
			.cq_doorbell_ns = 0,
			/* PCIe one way (140, papers) plus a guess for the time of the adapter. */
			.doorbell_to_fetch_ns = 250,
			.wqe_fetch_ns = 550,
			.wqe_block_bytes = 64,
			/* Guess, 50 to 270. 3.7 or 7.5 million messages/s in perftest issue 273. */
			.wqe_ns = 80,
			/* 215 million messages/s, product brief of ConnectX-6. */
			.device_wqe_ns = 5,
			/* PCIe one way plus root complex to memory (papers: 378 for both). */
			.cqe_write_ns = 350,
			/*
			 * Papers: 547 on a Xeon E5, 1213 on a Xeon E3. The change of the REG_MR
			 * commit saves 565 ns per I/O, possibly one PCIe read by the adapter.
			 */
			.pcie_read_ns = 550,
			/* 16 lanes at 16 GT/s, minus packet headers (computed). */
			.pcie_mbps = 200000,
			/*
			 * REG_MR commit: 4952K IOPS with the change, so at most 202 ns per I/O
			 * for REG_MR and invalidation. A REG_MR of more than 8 pages needs a
			 * further PCIe read (set_reg_wr()), which is not modelled.
			 */
			.reg_mr_ns = 145,
			.reg_mr_page_ns = 5,
			.local_inv_ns = 50,
			.reg_mr_stalls = true,
			/* Guess, 800 to 5000. */
			.interrupt_ns = 1500,
			/* No moderation until the RDMA core calls modify_cq() (MDL_F_CQ_DIM). */
			.moderation_count = 0,
			.moderation_us = 0,
		},
	},
	/*
	 * Intel E810 in RoCE mode. The numbers of objects are those of ibv_devinfo with an
	 * out-of-tree driver; the in-tree driver computes them from the adapter's memory.
	 */
	{
		.name = "irdma",
		.features = MDL_F_LOCAL_DMA_LKEY | MDL_F_MEM_MGT | MDL_F_INLINE |
			    MDL_F_WRITE_IMM | MDL_F_RNR | MDL_F_ACCESS_STAYS,
		/* Driver: 0x221000, including the flag that MDL_F_MEM_MGT adds. */
		.device_cap_flags = IB_DEVICE_MEM_WINDOW | IB_DEVICE_RC_RNR_NAK_GEN,
		/* IRDMA_MAX_MR_SIZE; pages of 4 KiB, 2 MiB and 1 GiB. */
		.max_mr_size = 0x200000000000ULL,
		.page_size_cap = SZ_4K | SZ_2M | SZ_1G,
		.max_qp = 4092,
		/* (32768 - 258) / 8, IRDMA_MAX_QP_WRS(). */
		.max_qp_wr = 4063,
		/* IRDMA_MAX_WQ_FRAGMENT_COUNT, IRDMA_MAX_SGE_RD; 6 in ibv_devinfo. */
		.max_send_sge = 13,
		.max_recv_sge = 13,
		.max_sge_rd = 13,
		.max_sgl_rd = 0,
		.max_cq = 8189,
		.max_cqe = 1048574,
		.max_mr = 4194301,
		.max_pd = 262141,
		/* ICRDMA_MAX_IRD_SIZE and ICRDMA_MAX_ORD_SIZE; 8 and 8 in ibv_devinfo. */
		.max_qp_rd_atom = 127,
		.max_qp_init_rd_atom = 255,
		/* The driver leaves it 0, which means no limit. */
		.max_res_rd_atom = 0,
		.atomic_cap = IB_ATOMIC_NONE,
		.max_ah = 131072,
		/* IRDMA_MAX_PAGES_PER_FMR. */
		.max_fast_reg_page_list_len = 262144,
		.max_pkeys = 1,
		.local_ca_ack_delay = 0,
		/* IRDMA_MAX_INLINE_DATA_SIZE. */
		.max_inline_data = 101,
		/* The ring has (n + 1) * 2 entries, of which a completion takes up to 2. */
		.cqe_slack = 1,
		.cqe_power_of_two = false,
		.wr_power_of_two = true,
		/* Guess: the number of processors, if the adapter has enough interrupts. */
		.num_comp_vectors = 63,
		.gid_table_len = 32,
		.max_mtu = IB_MTU_4096,
		.max_msg_sz = S32_MAX,
		.dma_bits = 64,
		.max_segment_size = U32_MAX,
		.max_mapping_size = SZ_1M,
		.seg_boundary_mask = U32_MAX,
		/* PCIe as for mlx5; all other times are guesses. */
		.timing = {
			.link_mbps = 100000,
			.header_bytes = 82,
			.round_trip_ns = 2500,
			.doorbell_ns = 100,
			/*
			 * Driver: the receive queue has a valid bit, and the completion queue a
			 * shadow area in memory (irdma_uk_post_receive(),
			 * irdma_uk_cq_poll_cmpl()).
			 */
			.recv_doorbell_ns = 0,
			.cq_doorbell_ns = 0,
			.doorbell_to_fetch_ns = 300,
			.wqe_fetch_ns = 550,
			/* struct irdma_qp_quanta. */
			.wqe_block_bytes = 32,
			.wqe_ns = 150,
			.device_wqe_ns = 20,
			.cqe_write_ns = 350,
			.pcie_read_ns = 550,
			.pcie_mbps = 200000,
			.reg_mr_ns = 700,
			.reg_mr_page_ns = 1,
			.local_inv_ns = 150,
			.reg_mr_stalls = false,
			.interrupt_ns = 1500,
			.moderation_count = 0,
			.moderation_us = 0,
		},
	},
	/*
	 * Broadcom P5 (BCM57508) with work requests of fixed size. P7 (BCM57608) instead has 13
	 * scatter/gather entries, 4351 work requests and 208 bytes of inline data (driver).
	 */
	{
		.name = "bnxt_re",
		.features = MDL_F_LOCAL_DMA_LKEY | MDL_F_MEM_MGT | MDL_F_SRQ | MDL_F_INLINE |
			    MDL_F_WRITE_IMM | MDL_F_RNR | MDL_F_ACCESS_STAYS,
		/* Driver: 0x1225d81, including the flag that MDL_F_MEM_MGT adds. */
		.device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_RC_RNR_NAK_GEN |
				    IB_DEVICE_SHUTDOWN_PORT | IB_DEVICE_SYS_IMAGE_GUID |
				    IB_DEVICE_RESIZE_MAX_WR | IB_DEVICE_PORT_ACTIVE_EVENT |
				    IB_DEVICE_N_NOTIFY_CQ | IB_DEVICE_MEM_WINDOW |
				    IB_DEVICE_MEM_WINDOW_TYPE_2B,
		/* BNXT_RE_MAX_MR_SIZE; BNXT_RE_PAGE_SIZE_SUPPORTED, 4 KiB to 1 GiB. */
		.max_mr_size = BIT_ULL(39),
		.page_size_cap = 0x7ffff000,
		/* BNXT_RE_MAX_QPC_COUNT plus QP1; the firmware can report another number. */
		.max_qp = 65537,
		/*
		 * The firmware reports a 16-bit number; the driver subtracts 1. 65535 is a
		 * guess.
		 */
		.max_qp_wr = 65534,
		/* bnxt_qplib_get_dev_attr(). */
		.max_send_sge = 6,
		.max_recv_sge = 6,
		.max_sge_rd = 6,
		.max_sgl_rd = 0,
		.max_cq = 65536,
		/* BNXT_QPLIB_MAX_CQ_WQES. */
		.max_cqe = 0xfffff,
		/* BNXT_RE_MAX_MRW_COUNT_256K; the firmware can report another number. */
		.max_mr = 262144,
		.max_pd = 65536,
		/* BNXT_QPLIB_MAX_OUT_RD_ATOM; ibv_devinfo has the same on P7. */
		.max_qp_rd_atom = 126,
		.max_qp_init_rd_atom = 126,
		/* The driver sets 0, which means no limit. */
		.max_res_rd_atom = 0,
		/* IB_ATOMIC_GLOB if PCIe atomics are enabled. */
		.atomic_cap = IB_ATOMIC_NONE,
		/* The firmware reports the following four limits; the values are guesses. */
		.max_ah = 65536,
		.max_srq = 4096,
		.max_srq_wr = 65534,
		.max_srq_sge = 6,
		/* MAX_PBL_LVL_1_PGS. */
		.max_fast_reg_page_list_len = 512,
		.max_pkeys = 1,
		/* BNXT_RE_DEFAULT_ACK_DELAY. */
		.local_ca_ack_delay = 16,
		/* 6 entries of 16 bytes. */
		.max_inline_data = 96,
		.cqe_slack = 1,
		.cqe_power_of_two = true,
		.wr_power_of_two = true,
		/* BNXT_RE_MAX_MSIX (9) minus the control queue's vector; 63 in newer kernels. */
		.num_comp_vectors = 8,
		/* BNXT_QPLIB_NUM_GIDS_SUPPORTED. */
		.gid_table_len = 256,
		.max_mtu = IB_MTU_4096,
		.max_msg_sz = SZ_1G,
		.dma_bits = 64,
		.max_segment_size = U32_MAX,
		.max_mapping_size = SZ_1M,
		.seg_boundary_mask = U32_MAX,
		.timing = {
			.link_mbps = 100000,
			.header_bytes = 82,
			.round_trip_ns = 2500,
			/* As for mlx5: it depends on PCIe and the host, not on the adapter. */
			.doorbell_ns = 100,
			/*
			 * Driver: one doorbell per 32 requests and one at the end
			 * (bnxt_re_post_recv()).
			 */
			.recv_doorbell_ns = 100,
			/*
			 * Driver: one doorbell if any completion was polled
			 * (bnxt_qplib_poll_cq()).
			 */
			.cq_doorbell_ns = 100,
			.doorbell_to_fetch_ns = 300,
			.wqe_fetch_ns = 550,
			/* 32 bytes plus 6 entries of 16. */
			.wqe_block_bytes = 128,
			/* Guesses: no published message rate was found. */
			.wqe_ns = 100,
			.device_wqe_ns = 10,
			.cqe_write_ns = 350,
			.pcie_read_ns = 550,
			.pcie_mbps = 200000,
			/*
			 * A REG_MR names its page list by a DMA address
			 * (bnxt_re_build_reg_wqe()), so it costs a PCIe read (550); the other
			 * 150 are a guess.
			 */
			.reg_mr_ns = 700,
			.reg_mr_page_ns = 1,
			.local_inv_ns = 150,
			.reg_mr_stalls = false,
			/* Guess, 800 to 5000. */
			.interrupt_ns = 1500,
			/* BNXT_QPLIB_CQ_COAL_DEF_*_P5 of newer kernels; on P7 the count is 8. */
			.moderation_count = 1,
			.moderation_us = 1,
		},
	},
	/*
	 * AMD Pensando. The driver reports no device-wide DMA key, and get_dma_mr() returns key
	 * 0. The numbers of objects are guesses, taken from an emulated device.
	 */
	{
		.name = "ionic",
		.features = MDL_F_MEM_MGT | MDL_F_INLINE | MDL_F_WRITE_IMM | MDL_F_RNR,
		.device_cap_flags = IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B,
		/* Half of the page table entries (npts_per_lif, guess), 4 KiB for each. */
		.max_mr_size = SZ_2G,
		/* IONIC_PAGE_SIZE_SUPPORTED. */
		.page_size_cap = SZ_4K | SZ_2M | SZ_1G,
		.max_qp = 32768,
		/* IONIC_MAX_DEPTH. */
		.max_qp_wr = 65535,
		/* IONIC_SPEC_HIGH. */
		.max_send_sge = 8,
		.max_recv_sge = 8,
		.max_sge_rd = 8,
		.max_sgl_rd = 0,
		.max_cq = 32768,
		/* IONIC_MAX_CQ_DEPTH - IONIC_CQ_GRACE. */
		.max_cqe = 65435,
		.max_mr = 131072,
		/* IONIC_MAX_PD. */
		.max_pd = 1024,
		/* IONIC_MAX_RD_ATOM; max_res_rd_atom is no limit of the device. */
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 16,
		.atomic_cap = IB_ATOMIC_GLOB,
		.max_ah = 32768,
		/* npts_per_lif / 2, guess. */
		.max_fast_reg_page_list_len = 524288,
		.max_pkeys = 1,
		.local_ca_ack_delay = 0,
		/* Stride (512, guess) minus 32: ionic_v1_send_wqe_max_data(). */
		.max_inline_data = 480,
		/* IONIC_CQ_GRACE plus the entry that distinguishes full from empty. */
		.cqe_slack = 101,
		.cqe_power_of_two = true,
		.wr_power_of_two = true,
		/* IONIC_EQ_COUNT - 2. */
		.num_comp_vectors = 30,
		/* IONIC_GID_TBL_LEN. */
		.gid_table_len = 256,
		.max_mtu = IB_MTU_4096,
		.max_msg_sz = SZ_2G,
		/* IONIC_ADDR_LEN. */
		.dma_bits = 52,
		/* The driver sets no max_segment_size, so the default of the PCI core applies. */
		.max_segment_size = SZ_64K,
		.max_mapping_size = SZ_1M,
		.seg_boundary_mask = U32_MAX,
		/* PCIe as for mlx5; all other times are guesses. */
		.timing = {
			.link_mbps = 100000,
			.header_bytes = 82,
			.round_trip_ns = 2500,
			.doorbell_ns = 100,
			/* Driver: ionic_post_recv_common(). */
			.recv_doorbell_ns = 100,
			/*
			 * Driver: a post rings this doorbell when the credits of the completion
			 * queue are used up, which is too rare to count (ionic_reserve_cq()).
			 */
			.cq_doorbell_ns = 0,
			.doorbell_to_fetch_ns = 300,
			.wqe_fetch_ns = 550,
			/* struct ionic_v1_wqe. */
			.wqe_block_bytes = 64,
			.wqe_ns = 150,
			.device_wqe_ns = 20,
			.cqe_write_ns = 350,
			.pcie_read_ns = 550,
			.pcie_mbps = 200000,
			/*
			 * struct ionic_v1_reg_mr_bdy names the page list by a DMA address, as
			 * with bnxt_re: the time is that of bnxt_re.
			 */
			.reg_mr_ns = 700,
			.reg_mr_page_ns = 1,
			.local_inv_ns = 150,
			.reg_mr_stalls = false,
			.interrupt_ns = 1500,
			.moderation_count = 0,
			.moderation_us = 0,
		},
	},
	/*
	 * The lowest limits that the InfiniBand specification, the MAD layer of the kernel and
	 * rnbd accept. No adapter is known to be that small. The numbers of objects are not
	 * reduced, because tests use many.
	 */
	{
		.name = "minimal",
		/* No MDL_F_RNR: RNR NAKs are optional, and rnbd never sends without a credit. */
		.features = MDL_F_MEM_MGT | MDL_F_WRITE_IMM |
			    MDL_F_READ_UNORDERED | MDL_F_WRITE_UNORDERED,
		.device_cap_flags = 0,
		.max_mr_size = SZ_1M,
		.page_size_cap = SZ_4K,
		.max_qp = 4096,
		/* ib_mad.c requests 512 receive work requests for QP1. */
		.max_qp_wr = 512,
		/*
		 * With one scatter/gather entry, rnbd works without inline data. The limit does not
		 * apply to QP1, because ib_mad.c requests two entries from any device.
		 */
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_sge_rd = 1,
		.max_sgl_rd = 0,
		.max_cq = 4096,
		/* ib_mad.c requests 640 entries. */
		.max_cqe = 1024,
		.max_mr = 65536,
		.max_pd = 1024,
		/* rnbd needs one RDMA READ in flight. */
		.max_qp_rd_atom = 1,
		.max_qp_init_rd_atom = 1,
		.max_res_rd_atom = 4096,
		.atomic_cap = IB_ATOMIC_NONE,
		.max_ah = 4096,
		/*
		 * rnbd accepts 1 page. With 16 pages, the default pool of rnbd needs more segments
		 * than a login reply can name, and nvme-rdma still works.
		 */
		.max_fast_reg_page_list_len = 16,
		.max_pkeys = 1,
		.local_ca_ack_delay = 0,
		.cqe_slack = 0,
		.cqe_power_of_two = false,
		.wr_power_of_two = false,
		.num_comp_vectors = 1,
		.gid_table_len = 4,
		.max_mtu = IB_MTU_256,
		/* Length of the largest request of rnbd (RNBD_MAX_IO_MAX). */
		.max_msg_sz = SZ_16M,
		.dma_bits = 32,
		/* The default of the PCI core. */
		.max_segment_size = SZ_64K,
		/* The limit of the kernel's bounce buffers (swiotlb). */
		.max_mapping_size = SZ_256K,
		.seg_boundary_mask = U32_MAX,
		/* The slowest value of each known range. */
		.timing = {
			.link_mbps = 100000,
			.header_bytes = 82,
			.round_trip_ns = 2500,
			.doorbell_ns = 250,
			.recv_doorbell_ns = 250,
			.cq_doorbell_ns = 250,
			.doorbell_to_fetch_ns = 400,
			.wqe_fetch_ns = 1250,
			.wqe_block_bytes = 64,
			.wqe_ns = 270,
			.device_wqe_ns = 20,
			.cqe_write_ns = 450,
			.pcie_read_ns = 1250,
			.pcie_mbps = 100000,
			/* REG_MR commit: 1303K IOPS without its change, 767 ns per I/O. */
			.reg_mr_ns = 765,
			.reg_mr_page_ns = 20,
			.local_inv_ns = 200,
			.reg_mr_stalls = true,
			.interrupt_ns = 5000,
			.moderation_count = 0,
			.moderation_us = 0,
		},
	},
};

/**
 * mdl_profile_find - look up a profile
 * @name: name of the profile
 *
 * Context: any.
 * Return: the profile, or NULL if @name is unknown.
 */
const struct mdl_profile *mdl_profile_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(mdl_profiles); i++)
		if (!strcmp(mdl_profiles[i].name, name))
			return &mdl_profiles[i];
	return NULL;
}
