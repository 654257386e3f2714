// SPDX-License-Identifier: GPL-2.0-only
/*
 * The profiles of the modelled adapter: limits, features and timing.
 *
 * Operation: mdl_profile_find() looks a profile up by its name.
 * Ownership: constant data of the module.
 * Concurrency: never written, needs no lock.
 * Errors: NULL for an unknown name.
 */
#include <linux/kernel.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "profile.h"

static const struct mdl_profile mdl_profiles[] = {
	{
		.name = "mlx5",
		.features = MDL_F_LOCAL_DMA_LKEY | MDL_F_MEM_MGT | MDL_F_SG_GAPS |
			    MDL_F_CQ_MODERATION | MDL_F_SRQ | MDL_F_INLINE |
			    MDL_F_WRITE_IMM | MDL_F_RNR,
		.max_mr_size = U64_MAX,
		.page_size_cap = SZ_4K,
		.max_qp = 65536,
		.max_qp_wr = 32768,
		.max_send_sge = 30,
		.max_recv_sge = 32,
		.max_sge_rd = 30,
		.max_cq = 65536,
		.max_cqe = 4194303,
		.max_mr = 1 << 24,
		.max_pd = 1 << 24,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 1 << 20,
		.max_ah = INT_MAX,
		.max_srq = 1 << 20,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_fast_reg_page_list_len = 65535,
		.max_pkeys = 1,
		.local_ca_ack_delay = 16,
		.max_inline_data = 512,
		.cqe_slack = 1,
		.cqe_power_of_two = true,
		.wr_power_of_two = true,
		.num_comp_vectors = 64,
		.max_cq_moderation_count = U16_MAX,
		.max_cq_moderation_period = 4095,
		.gid_table_len = 255,
		.max_mtu = IB_MTU_4096,
		.max_msg_sz = SZ_1G,
		.dma_bits = 64,
		.max_segment_size = SZ_2G,
		.max_mapping_size = SZ_1M,
		.seg_boundary_mask = U32_MAX,
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
