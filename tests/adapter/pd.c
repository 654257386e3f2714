// SPDX-License-Identifier: GPL-2.0-only
/*
 * Protection domains and address handles.
 *
 * Operation: a protection domain has no state; the model only compares its address with that of
 * other protection domains. An address handle holds an address vector, which posting copies into
 * a datagram work request.
 *
 * Ownership: the RDMA core allocates and frees both.
 *
 * Concurrency: both are constant after their creation.
 *
 * Errors: -EOPNOTSUPP for user space and for addresses other than RoCE; -ENOMEM for protection
 * domains beyond the profile.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "model.h"

/**
 * mdl_alloc_pd - create a protection domain
 * @ibpd: protection domain
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0 or errno.
 */
int mdl_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mdl_dev *dev = mdl_dev_of(ibpd->device);

	if (udata)
		return -EOPNOTSUPP;
	return mdl_object_add(dev, MDL_OBJECT_PD, dev->profile->max_pd) ? 0 : -ENOMEM;
}

/**
 * mdl_dealloc_pd - destroy a protection domain
 * @ibpd: protection domain
 * @udata: NULL for kernel users
 *
 * Context: process context, may sleep.
 * Return: 0.
 */
int mdl_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	mdl_object_del(mdl_dev_of(ibpd->device), MDL_OBJECT_PD);
	return 0;
}

/**
 * mdl_av_set - fill in an address vector
 * @av: output
 * @attr: address attributes, whose source GID the RDMA core has resolved
 *
 * Context: any.
 */
void mdl_av_set(struct mdl_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct net_device *ndev;

	memset(av, 0, sizeof(*av));
	av->dgid = grh->dgid;
	av->hop_limit = grh->hop_limit;
	av->tclass = grh->traffic_class;
	ether_addr_copy(av->dmac, attr->roce.dmac);
	if (!grh->sgid_attr)
		return;
	av->sgid = grh->sgid_attr->gid;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(grh->sgid_attr);
	if (!IS_ERR(ndev))
		ether_addr_copy(av->smac, ndev->dev_addr);
	rcu_read_unlock();
}

/**
 * mdl_create_ah - create an address handle
 * @ibah: address handle
 * @init: attributes
 * @udata: NULL for kernel users
 *
 * Context: any, atomic unless RDMA_CREATE_AH_SLEEPABLE is set.
 * Return: 0 or -EOPNOTSUPP.
 */
int mdl_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata)
{
	if (udata || init->ah_attr->type != RDMA_AH_ATTR_TYPE_ROCE)
		return -EOPNOTSUPP;
	mdl_av_set(&mdl_ah_of(ibah)->av, init->ah_attr);
	return 0;
}

/**
 * mdl_destroy_ah - destroy an address handle
 * @ibah: address handle
 * @flags: enum rdma_destroy_ah_flags
 *
 * Context: any, atomic unless RDMA_DESTROY_AH_SLEEPABLE is set.
 * Return: 0.
 */
int mdl_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
