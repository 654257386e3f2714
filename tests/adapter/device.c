// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: creation, attributes, ports, removal.
 *
 * Operation: a device uses the port state and the addresses of an Ethernet device, and takes its
 * limits from the profile that the parameter "profile" names when the device is created. The
 * parent of a device is a platform device, because the DMA API maps memory for the parent.
 *
 * Ownership: the RDMA core frees a device after mdl_dealloc_driver(). A device owns its parent
 * and a reference to its network device.
 *
 * Concurrency: the RDMA core serialises registration and removal. A device is in mdl_devices
 * while it is registered; readers use RCU.
 *
 * Errors: errno. A device that is removed while mappings, queue pairs or regions still exist
 * reports a violation.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/rculist.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "model.h"

static char mdl_profile_name[16] = "mlx5";
module_param_string(profile, mdl_profile_name, sizeof(mdl_profile_name), 0644);
MODULE_PARM_DESC(profile, "limits of new devices (default: mlx5)");

static int mdl_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	const struct mdl_profile *p = mdl_dev_of(ibdev)->profile;

	*attr = (struct ib_device_attr) {
		.sys_image_guid = ibdev->node_guid,
		.max_mr_size = p->max_mr_size,
		.page_size_cap = p->page_size_cap,
		.max_qp = p->max_qp,
		.max_qp_wr = p->max_qp_wr,
		.device_cap_flags = p->device_cap_flags,
		.kernel_cap_flags = p->kernel_cap_flags | IBK_ALLOW_USER_UNREG,
		.max_send_sge = p->max_send_sge,
		.max_recv_sge = p->max_recv_sge,
		.max_sge_rd = p->max_sge_rd,
		.max_sgl_rd = p->max_sgl_rd,
		.max_cq = p->max_cq,
		.max_cqe = p->max_cqe,
		.max_mr = p->max_mr,
		.max_pd = p->max_pd,
		.max_qp_rd_atom = p->max_qp_rd_atom,
		.max_qp_init_rd_atom = p->max_qp_init_rd_atom,
		.max_res_rd_atom = p->max_res_rd_atom,
		.atomic_cap = p->atomic_cap,
		.max_ah = p->max_ah,
		.max_fast_reg_page_list_len = p->max_fast_reg_page_list_len,
		.max_pi_fast_reg_page_list_len = p->max_pi_fast_reg_page_list_len,
		.max_pkeys = p->max_pkeys,
		.local_ca_ack_delay = p->local_ca_ack_delay,
	};
	if (p->features & MDL_F_LOCAL_DMA_LKEY)
		attr->kernel_cap_flags |= IBK_LOCAL_DMA_LKEY;
	if (p->features & MDL_F_SG_GAPS)
		attr->kernel_cap_flags |= IBK_SG_GAPS_REG;
	if (p->features & MDL_F_MEM_MGT)
		attr->device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (p->features & MDL_F_RNR)
		attr->device_cap_flags |= IB_DEVICE_RC_RNR_NAK_GEN;
	if (p->features & MDL_F_SRQ) {
		attr->max_srq = p->max_srq;
		attr->max_srq_wr = p->max_srq_wr;
		attr->max_srq_sge = p->max_srq_sge;
	}
	if (p->features & MDL_F_CQ_MODERATION) {
		attr->cq_caps.max_cq_moderation_count = p->max_cq_moderation_count;
		attr->cq_caps.max_cq_moderation_period = p->max_cq_moderation_period;
	}
	return 0;
}

static bool mdl_port_active(struct mdl_dev *dev)
{
	return netif_running(dev->ndev) && netif_carrier_ok(dev->ndev) &&
	       !READ_ONCE(dev->port_down);
}

static int mdl_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct mdl_dev *dev = mdl_dev_of(ibdev);
	bool active = mdl_port_active(dev);

	attr->state = active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = active ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = dev->profile->max_mtu;
	attr->active_mtu = min(iboe_get_mtu(dev->ndev->mtu), attr->max_mtu);
	attr->phys_mtu = dev->ndev->mtu;
	attr->gid_tbl_len = dev->profile->gid_table_len;
	attr->ip_gids = true;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = dev->profile->max_msg_sz;
	attr->pkey_tbl_len = dev->profile->max_pkeys;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

static int mdl_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= mdl_dev_of(ibdev)->profile->max_pkeys)
		return -EINVAL;
	*pkey = index ? 0 : IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer mdl_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int mdl_get_port_immutable(struct ib_device *ibdev, u32 port,
				  struct ib_port_immutable *immutable)
{
	const struct mdl_profile *p = mdl_dev_of(ibdev)->profile;

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = p->max_pkeys;
	immutable->gid_tbl_len = p->gid_table_len;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

/**
 * mdl_port_changed - report the state of the port to the RDMA core if it changed
 * @dev: device
 *
 * Context: process context, RTNL held, which serialises the calls.
 */
void mdl_port_changed(struct mdl_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
	};
	bool active = mdl_port_active(dev);

	if (active == dev->active)
		return;
	dev->active = active;
	event.event = active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
	ib_dispatch_event(&event);
}

static int mdl_enable_driver(struct ib_device *ibdev)
{
	struct mdl_dev *dev = mdl_dev_of(ibdev);

	mdl_stats_add(dev);
	spin_lock_bh(&mdl_devices_lock);
	list_add_tail_rcu(&dev->link, &mdl_devices);
	spin_unlock_bh(&mdl_devices_lock);
	mdl_nasty_events_start(dev);
	return 0;
}

/* Undo mdl_newlink(), also after a registration that failed. */
static void mdl_dealloc_driver(struct ib_device *ibdev)
{
	struct mdl_dev *dev = mdl_dev_of(ibdev);

	mdl_nasty_events_stop(dev);
	if (dev->link.next) {
		spin_lock_bh(&mdl_devices_lock);
		list_del_rcu(&dev->link);
		spin_unlock_bh(&mdl_devices_lock);
		mdl_stats_remove(dev);
	}
	/* Wait for engines of other devices, which can still access this device. */
	synchronize_rcu();
	mdl_engine_exit(dev);
	mdl_vectors_exit(dev);
	if (dev->events)
		destroy_workqueue(dev->events);
	if (!xa_empty(&dev->qps) || !xa_empty(&dev->mrs))
		mdl_violation(dev, NULL, 0, "queue pairs or regions are left at removal");
	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	mdl_dma_exit(dev);
	if (dev->pdev)
		platform_device_unregister(dev->pdev);
	dev_put(dev->ndev);
}

static const struct ib_device_ops mdl_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.add_gid = mdl_add_gid,
	.alloc_mr = mdl_alloc_mr,
	.alloc_pd = mdl_alloc_pd,
	.create_ah = mdl_create_ah,
	.create_cq = mdl_create_cq,
	.create_qp = mdl_create_qp,
	.dealloc_driver = mdl_dealloc_driver,
	.dealloc_pd = mdl_dealloc_pd,
	.del_gid = mdl_del_gid,
	.dereg_mr = mdl_dereg_mr,
	.destroy_ah = mdl_destroy_ah,
	.destroy_cq = mdl_destroy_cq,
	.destroy_qp = mdl_destroy_qp,
	.enable_driver = mdl_enable_driver,
	.get_dma_mr = mdl_get_dma_mr,
	.get_link_layer = mdl_get_link_layer,
	.get_port_immutable = mdl_get_port_immutable,
	.map_mr_sg = mdl_map_mr_sg,
	.modify_qp = mdl_modify_qp,
	.poll_cq = mdl_poll_cq,
	.post_recv = mdl_post_recv,
	.post_send = mdl_post_send,
	.query_device = mdl_query_device,
	.query_pkey = mdl_query_pkey,
	.query_port = mdl_query_port,
	.query_qp = mdl_query_qp,
	.reg_user_mr = mdl_reg_user_mr,
	.req_notify_cq = mdl_req_notify_cq,
	INIT_RDMA_OBJ_SIZE(ib_ah, mdl_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, mdl_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, mdl_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, mdl_qp, ib),
};

static const struct ib_device_ops mdl_srq_ops = {
	.create_srq = mdl_create_srq,
	.destroy_srq = mdl_destroy_srq,
	.modify_srq = mdl_modify_srq,
	.post_srq_recv = mdl_post_srq_recv,
	.query_srq = mdl_query_srq,
	INIT_RDMA_OBJ_SIZE(ib_srq, mdl_srq, ib),
};

static const struct ib_device_ops mdl_moderation_ops = {
	.modify_cq = mdl_modify_cq,
};

static int mdl_setup(struct mdl_dev *dev)
{
	struct ib_device *ibdev = &dev->ib;
	int ret;

	if (mdl_timed && dev->dice.kinds) {
		pr_err("rdma-model: timed devices do not support nasty behaviour; load with timed=N\n");
		return -EINVAL;
	}
	dev->pdev = platform_device_register_simple("rdma-model", PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(dev->pdev)) {
		ret = PTR_ERR(dev->pdev);
		dev->pdev = NULL;
		return ret;
	}
	ret = mdl_dma_ops_set(dev);
	if (ret)
		return ret;
	dev->events = alloc_ordered_workqueue("rdma-model-events", 0);
	if (!dev->events)
		return -ENOMEM;
	ret = mdl_engine_init(dev);
	if (ret)
		return ret;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = min(dev->profile->num_comp_vectors, num_online_cpus());
	/* DIM counts completions per millisecond: with a slowdown above 2 it would see too few. */
	ibdev->use_cq_dim = dev->profile->features & MDL_F_CQ_DIM &&
			    !(mdl_timed && dev->busy.slowdown > 2);
	ibdev->dev.parent = &dev->pdev->dev;
	if (dev->profile->features & MDL_F_LOCAL_DMA_LKEY)
		ibdev->local_dma_lkey = MDL_LOCAL_DMA_LKEY;
	strscpy(ibdev->node_desc, "modelled adapter", sizeof(ibdev->node_desc));
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->ndev->dev_addr);
	ret = mdl_vectors_init(dev);
	if (ret)
		return ret;
	ib_set_device_ops(ibdev, &mdl_ops);
	if (dev->profile->features & MDL_F_SRQ)
		ib_set_device_ops(ibdev, &mdl_srq_ops);
	if (dev->profile->features & MDL_F_CQ_MODERATION)
		ib_set_device_ops(ibdev, &mdl_moderation_ops);
	return ib_device_set_netdev(ibdev, dev->ndev, 1);
}

/**
 * mdl_newlink - create a device
 * @name: name of the device
 * @ndev: network device under the new device
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_newlink(const char *name, struct net_device *ndev)
{
	const struct mdl_profile *profile = mdl_profile_find(mdl_profile_name);
	struct mdl_dev *dev;
	int ret;

	if (!profile) {
		pr_err("rdma-model: no profile '%s'\n", mdl_profile_name);
		return -EINVAL;
	}
	if (ndev->type != ARPHRD_ETHER)
		return -EINVAL;
	/* rdma_cm derives the path MTU from the network device alone, so max_mtu must suffice. */
	if (iboe_get_mtu(ndev->mtu) > profile->max_mtu) {
		pr_err("rdma-model: the MTU of %s is too large for profile '%s'\n",
		       ndev->name, profile->name);
		return -EINVAL;
	}
	dev = ib_alloc_device(mdl_dev, ib);
	if (!dev)
		return -ENOMEM;
	dev_hold(ndev);
	dev->ndev = ndev;
	dev->profile = profile;
	INIT_LIST_HEAD(&dev->gids);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	mdl_dma_init(dev);
	mdl_nasty_init(dev);
	mdl_timing_init(dev);
	ret = mdl_setup(dev);
	if (!ret) {
		dev->active = mdl_port_active(dev);
		ret = ib_register_device(&dev->ib, name, &dev->pdev->dev);
	}
	if (ret) {
		/* Set this here: mdl_setup() can have failed before it set the operations. */
		dev->ib.ops.dealloc_driver = mdl_dealloc_driver;
		ib_dealloc_device(&dev->ib);
	}
	return ret;
}
