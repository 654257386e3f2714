// SPDX-License-Identifier: GPL-2.0-only
/*
 * Management datagrams between the queue pairs with number 1 (GSI) of the devices.
 *
 * Operation: the receiver finds a header of 40 bytes in front of a datagram, as in RoCE v2. The
 * header is a global route header (IPv6), or contains an IPv4 header in its last 20 bytes.
 *
 * Ownership: see engine.c.
 *
 * Concurrency: see engine.c.
 *
 * Errors: a datagram that cannot be delivered is dropped; the sender sees no error.
 */
#include <linux/etherdevice.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <rdma/ib_mad.h>

#include "model.h"

/* Bytes of UDP header, BTH (12), DETH (8) and ICRC (4). */
#define MDL_UDP_OVERHEAD	(sizeof(struct udphdr) + 12 + 8 + 4)

static enum rdma_network_type mdl_network_header(union rdma_network_hdr *hdr,
						 const struct mdl_av *av, u32 len)
{
	struct iphdr *ip = &hdr->roce4grh;

	BUILD_BUG_ON(sizeof(*hdr) != MDL_GRH_SIZE);
	memset(hdr, 0, sizeof(*hdr));
	if (!ipv6_addr_v4mapped((const struct in6_addr *)&av->sgid)) {
		ip6_flow_hdr((struct ipv6hdr *)hdr, av->tclass, 0);
		hdr->ibgrh.paylen = cpu_to_be16(len + MDL_UDP_OVERHEAD);
		hdr->ibgrh.next_hdr = IPPROTO_UDP;
		hdr->ibgrh.hop_limit = av->hop_limit;
		hdr->ibgrh.sgid = av->sgid;
		hdr->ibgrh.dgid = av->dgid;
		return RDMA_NETWORK_IPV6;
	}
	ip->version = IPVERSION;
	ip->ihl = 5;
	ip->tos = av->tclass;
	ip->tot_len = cpu_to_be16(sizeof(*ip) + len + MDL_UDP_OVERHEAD);
	ip->frag_off = cpu_to_be16(IP_DF);
	ip->ttl = av->hop_limit;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, av->sgid.raw + 12, 4);
	memcpy(&ip->daddr, av->dgid.raw + 12, 4);
	ip_send_check(ip);
	return RDMA_NETWORK_IPV4;
}

static void mdl_deliver(struct mdl_dev *dev, struct mdl_dev *peer_dev, struct mdl_qp *peer,
			struct mdl_swqe *wqe, u32 qkey)
{
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = MDL_GRH_SIZE + wqe->length,
		.src_qp = MDL_GSI_QPN,
		.wc_flags = IB_WC_GRH | IB_WC_WITH_SMAC | IB_WC_WITH_NETWORK_HDR_TYPE,
		.vlan_id = 0xffff,
	};
	union rdma_network_hdr hdr;
	struct mdl_rwqe rwqe;
	struct mdl_mem to;
	bool below;

	if (peer->ib.qp_type != IB_QPT_GSI || READ_ONCE(peer->state) < IB_QPS_RTR ||
	    READ_ONCE(peer->state) > IB_QPS_SQD || peer->attr.qkey != qkey ||
	    !mdl_rq_take(mdl_qp_rq(peer), &rwqe, dev->engine.sge, &below))
		return;
	to = (struct mdl_mem) {
		.dev = peer_dev,
		.qp = peer,
		.by = peer,
		.wr_id = rwqe.wr_id,
		.sge = rwqe.sge,
		.num_sge = rwqe.num_sge,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	wc.network_hdr_type = mdl_network_header(&hdr, &wqe->av, wqe->length);
	ether_addr_copy(wc.smac, wqe->av.smac);
	if (wc.byte_len > mdl_mem_length(rwqe.sge, rwqe.num_sge))
		wc.status = IB_WC_LOC_LEN_ERR;
	else if (mdl_mem_check(&to) || mdl_mem_move(&to, &hdr, MDL_GRH_SIZE) ||
		 mdl_mem_move(&to, dev->engine.packet, wqe->length))
		wc.status = IB_WC_LOC_PROT_ERR;
	mdl_qp_recv_done(peer, &rwqe, &wc, wqe->flags & IB_SEND_SOLICITED, 0);
}

/**
 * mdl_datagram - execute a SEND of a datagram
 * @qp: sender
 * @wqe: work request
 *
 * Context: engine, RCU read section.
 * Return: status of the work completion.
 */
enum ib_wc_status mdl_datagram(struct mdl_qp *qp, struct mdl_swqe *wqe)
{
	struct mdl_dev *dev = mdl_dev_of(qp->ib.device), *peer_dev;
	struct mdl_mem from = {
		.dev = dev,
		.qp = qp,
		.by = qp,
		.wr_id = wqe->wr_id,
		.sge = wqe->sge,
		.num_sge = wqe->num_sge,
		.data = wqe->flags & IB_SEND_INLINE ? wqe->data : NULL,
	};
	/* If the highest bit is set, the Q_Key of the sending queue pair is used. */
	u32 qkey = wqe->qkey & IB_QP_SET_QKEY ? qp->attr.qkey : wqe->qkey;
	struct mdl_qp *peer;

	if (wqe->length > MDL_MAX_PACKET)
		return IB_WC_LOC_LEN_ERR;
	if (mdl_mem_check(&from) || mdl_mem_move(&from, dev->engine.packet, wqe->length))
		return IB_WC_LOC_PROT_ERR;
	peer_dev = mdl_find_gid(&wqe->av.dgid);
	if (!peer_dev || !READ_ONCE(dev->active) || !READ_ONCE(peer_dev->active))
		return IB_WC_SUCCESS;
	peer = mdl_qp_get(peer_dev, wqe->remote_qpn);
	if (peer) {
		mdl_deliver(dev, peer_dev, peer, wqe, qkey);
		mdl_qp_put(peer);
	}
	return IB_WC_SUCCESS;
}
