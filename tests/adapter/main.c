// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module of the modelled adapter: an RDMA device in loopback, for tests only.
 *
 * Operation: "rdma link add NAME type model netdev DEV" creates a device. "rdma link delete
 * NAME" or the removal of the network device removes it. The devices of one kernel reach each
 * other by their GIDs; no packets are sent.
 *
 * Ownership: the module owns the workqueue of all devices and the debugfs folder.
 *
 * Concurrency: init, exit, and notifications of network devices under RTNL.
 *
 * Errors: on a kernel without dma_map_ops, the module loads only with dma=direct.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <rdma/rdma_netlink.h>

#include "model.h"

struct workqueue_struct *mdl_wq;

static int mdl_netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct mdl_dev *dev, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &mdl_devices, link)
		if (dev->ndev == ndev && ib_device_try_get(&dev->ib)) {
			found = dev;
			break;
		}
	rcu_read_unlock();
	if (!found)
		return NOTIFY_OK;
	if (event == NETDEV_UNREGISTER)
		ib_unregister_device_queued(&found->ib);
	else
		mdl_port_changed(found);
	ib_device_put(&found->ib);
	return NOTIFY_OK;
}

static struct notifier_block mdl_netdev_notifier = {
	.notifier_call = mdl_netdev_event,
};

static struct rdma_link_ops mdl_link_ops = {
	.type = "model",
	.newlink = mdl_newlink,
};

static int __init mdl_init(void)
{
	int ret;

	if (!IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS) && !mdl_dma_direct) {
		pr_err("rdma-model: this kernel has no dma_map_ops; load with dma=direct\n");
		return -EOPNOTSUPP;
	}
	ret = mdl_clock_init();
	if (ret)
		return ret;
	mdl_wq = alloc_workqueue("rdma-model", WQ_BH, 0);
	if (!mdl_wq)
		return -ENOMEM;
	mdl_stats_init();
	ret = register_netdevice_notifier(&mdl_netdev_notifier);
	if (ret) {
		mdl_stats_exit();
		destroy_workqueue(mdl_wq);
		return ret;
	}
	rdma_link_register(&mdl_link_ops);
	return 0;
}

static void __exit mdl_exit(void)
{
	rdma_link_unregister(&mdl_link_ops);
	unregister_netdevice_notifier(&mdl_netdev_notifier);
	/* Only the model uses RDMA_DRIVER_UNKNOWN, so this removes no other device. */
	ib_unregister_driver(RDMA_DRIVER_UNKNOWN);
	rcu_barrier();
	mdl_stats_exit();
	destroy_workqueue(mdl_wq);
	mdl_clock_exit();
}

module_init(mdl_init);
module_exit(mdl_exit);

MODULE_ALIAS_RDMA_LINK("model");
MODULE_DESCRIPTION("Modelled RDMA adapter for tests");
MODULE_LICENSE("GPL");
