// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of a device in /sys/kernel/debug/rdma-model/DEVICE.
 *
 * Operation: "stats" shows the counters of mdl_count() and mdl_add(), one per line. "state"
 * shows the indices of the queues, which helps to find the reason why a queue pair hangs.
 * "profile" shows the name of the profile, and "nasty" the enabled kinds of nasty behaviour.
 *
 * Ownership: a device owns its folder.
 *
 * Concurrency: counters are atomic.
 *
 * Errors: without debugfs, a device has no files and works nevertheless.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "model.h"
#include "window.h"

const char *const mdl_stat_names[MDL_STAT_NASTY] = {
	[MDL_STAT_POST_SEND] = "post_send_calls",
	[MDL_STAT_POST_RECV] = "post_recv_calls",
	[MDL_STAT_SEND] = "sends",
	[MDL_STAT_SEND_INV] = "sends_with_invalidate",
	[MDL_STAT_WRITE] = "writes",
	[MDL_STAT_WRITE_IMM] = "writes_with_immediate",
	[MDL_STAT_READ] = "reads",
	[MDL_STAT_REG_MR] = "registrations",
	[MDL_STAT_LOCAL_INV] = "local_invalidates",
	[MDL_STAT_DATAGRAM] = "datagrams",
	[MDL_STAT_RECV] = "receives",
	[MDL_STAT_SERVED_SEND] = "served_sends",
	[MDL_STAT_SERVED_WRITE] = "served_writes",
	[MDL_STAT_SERVED_READ] = "served_reads",
	[MDL_STAT_BYTES_OUT] = "bytes_out",
	[MDL_STAT_BYTES_IN] = "bytes_in",
	[MDL_STAT_CQE] = "completions",
	[MDL_STAT_INTERRUPT] = "interrupts",
	[MDL_STAT_RNR] = "receiver_not_ready",
	[MDL_STAT_NO_RECEIVE] = "no_receive",
	[MDL_STAT_RETRY] = "retries",
	[MDL_STAT_FENCE_WAIT] = "fence_waits",
	[MDL_STAT_READ_WAIT] = "read_limit_waits",
	[MDL_STAT_MAP] = "maps",
	[MDL_STAT_UNMAP] = "unmaps",
	[MDL_STAT_SYNC] = "syncs",
	[MDL_STAT_MAPPED] = "mapped_bytes",
	[MDL_STAT_JOINED] = "joined_entries",
	[MDL_STAT_WQE_BLOCK] = "work_request_blocks",
	[MDL_STAT_VIOLATION] = "violations",
	[MDL_STAT_PASSED] = "completions_passed",
	[MDL_STAT_PIECE] = "read_pieces",
	[MDL_STAT_DROPPED] = "writes_dropped",
};

static struct dentry *mdl_debugfs;

static int mdl_stats_show(struct seq_file *m, void *unused)
{
	struct mdl_dev *dev = m->private;
	int i;

	for (i = 0; i < MDL_STAT_NASTY; i++)
		seq_printf(m, "%s %lld\n", mdl_stat_names[i],
			   (s64)atomic64_read(&dev->stats[i]));
	for (; i < MDL_STAT_COUNT; i++)
		seq_printf(m, "nasty_%s %lld\n", mdl_nasty_names[i - MDL_STAT_NASTY],
			   (s64)atomic64_read(&dev->stats[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mdl_stats);

static int mdl_profile_show(struct seq_file *m, void *unused)
{
	struct mdl_dev *dev = m->private;

	seq_printf(m, "%s\n", dev->profile->name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mdl_profile);

/* Show the enabled kinds of nasty behaviour, one per line. */
static int mdl_nasty_show(struct seq_file *m, void *unused)
{
	struct mdl_dev *dev = m->private;
	int i;

	for (i = 0; i < MDL_NASTY_COUNT; i++)
		if (mdl_is_nasty(dev, i))
			seq_printf(m, "%s\n", mdl_nasty_names[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mdl_nasty);

static void mdl_state_qp(struct seq_file *m, const struct mdl_qp *qp)
{
	const struct mdl_sq *sq = &qp->sq;
	const struct mdl_rq *rq = &qp->rq;

	seq_printf(m, "qp %u state %d waiting %d active %d reads %u retries %u %u\n",
		   qp->ib.qp_num, qp->state, qp->waiting, qp->active, sq->reads, qp->retries,
		   qp->rnr_retries);
	seq_printf(m, "  send head %u next %u done %u freed %u of %u\n",
		   sq->head, sq->next, sq->done, sq->freed, sq->size);
	seq_printf(m, "  receive head %u next %u freed %u of %u\n",
		   rq->head, rq->next, atomic_read(&rq->freed), rq->size);
}

static void mdl_state_cq(struct seq_file *m, const struct ib_cq *ibcq)
{
	const struct mdl_cq *cq = container_of_const(ibcq, struct mdl_cq, ib);

	seq_printf(m, "  cq %u head %u tail %u of %d arm %d event %d context %d\n",
		   ibcq->res.id, cq->head, cq->tail, ibcq->cqe, cq->arm,
		   !list_empty(&cq->vector_entry), ibcq->poll_ctx);
}

/* Show the state of all queues; it is read without locks. */
static int mdl_state_show(struct seq_file *m, void *unused)
{
	struct mdl_dev *dev = m->private;
	unsigned long index;
	struct mdl_qp *qp;
	int i;

	for (i = 0; i < dev->ib.num_comp_vectors; i++)
		seq_printf(m, "vector %d processor %d interrupts %d\n", i, dev->vectors[i].cpu,
			   atomic_read(&dev->vectors[i].interrupts));
	rcu_read_lock();
	xa_for_each(&dev->qps, index, qp) {
		if (!refcount_inc_not_zero(&qp->refs))
			continue;
		mdl_state_qp(m, qp);
		mdl_state_cq(m, qp->ib.send_cq);
		if (qp->ib.recv_cq != qp->ib.send_cq)
			mdl_state_cq(m, qp->ib.recv_cq);
		mdl_qp_put(qp);
	}
	rcu_read_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mdl_state);

/**
 * mdl_stats_add - create the debugfs files of a registered device
 * @dev: device
 *
 * Context: process context, may sleep.
 */
void mdl_stats_add(struct mdl_dev *dev)
{
	dev->debugfs = debugfs_create_dir(dev_name(&dev->ib.dev), mdl_debugfs);
	debugfs_create_file("stats", 0444, dev->debugfs, dev, &mdl_stats_fops);
	debugfs_create_file("state", 0444, dev->debugfs, dev, &mdl_state_fops);
	debugfs_create_file("profile", 0444, dev->debugfs, dev, &mdl_profile_fops);
	debugfs_create_file("nasty", 0444, dev->debugfs, dev, &mdl_nasty_fops);
}

/**
 * mdl_stats_remove - remove the debugfs files of a device
 * @dev: device
 *
 * Context: process context, may sleep.
 */
void mdl_stats_remove(struct mdl_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
}

/**
 * mdl_stats_init - create the debugfs folder of the module
 *
 * Context: process context, may sleep.
 */
void mdl_stats_init(void)
{
	mdl_debugfs = debugfs_create_dir("rdma-model", NULL);
	mdl_window_init(mdl_debugfs);
}

/**
 * mdl_stats_exit - remove the debugfs folder of the module
 *
 * Context: process context, may sleep.
 */
void mdl_stats_exit(void)
{
	debugfs_remove_recursive(mdl_debugfs);
	mdl_window_exit();
}
