// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measurement of disk I/O: /sys/kernel/debug/rdma-model/window.
 *
 * Operation: writing "DISK OP SKIP COUNT" to the file starts a measurement of the disks whose
 * names begin with DISK; OP is r, w or rw. The measured window starts after SKIP requests have
 * completed, and ends after COUNT further requests have completed. The clock (clock.c) and the
 * counters of all adapters are read at the start and at the end of the window. Reading the file
 * waits for the end of the window, and shows the differences and the latencies of the requests. At
 * the start and at the end the processor also executes a certain NOP, which starts and ends the
 * counting of instructions in an emulator (tests/bench/count).
 *
 * A latency starts where the block layer creates the request (block_io_start), because drivers
 * start a request (block_rq_issue) at different points of their queue_rq(). Only on a kernel
 * without block_io_start, a latency starts at block_rq_issue. A latency ends in
 * blk_mq_end_request() (block_rq_complete), which all drivers call last.
 *
 * Ownership: the module owns all data.
 *
 * Concurrency: the tracepoint functions run with interrupts disabled on the only processor. A
 * mutex serialises writers and readers of the file.
 *
 * Errors: writing fails with errno. The file does not exist if the kernel lacks the tracepoints or
 * if adapters are not timed.
 */
#include <linux/blk-mq.h>
#include <linux/debugfs.h>
#include <linux/hashtable.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "model.h"
#include "window.h"

/* Capacity for requests in flight; the latencies of requests beyond it are not measured. */
#define MDL_WINDOW_FLIGHT	8192
#define MDL_WINDOW_MAX		1000000

struct mdl_flight {
	struct hlist_node entry;
	const struct request *rq;
	u64 started;
};

enum mdl_phase { MDL_PHASE_NONE, MDL_PHASE_SKIP, MDL_PHASE_RUN, MDL_PHASE_DONE };

static struct {
	struct mutex lock;	/* writers and readers */
	wait_queue_head_t wait;
	struct tracepoint *start;
	struct tracepoint *complete;
	struct tracepoint *timer;
	enum mdl_phase phase;
	char disk[DISK_NAME_LEN];
	bool reads;
	bool writes;
	u32 skip;
	u32 count;
	u32 n;
	u32 latencies;
	u32 *latency;
	u64 time;
	u64 wall;
	u64 own;
	u64 bytes;
	u64 moved;
	u64 timers;
	u64 stale;
	struct hlist_head free;
	DECLARE_HASHTABLE(flight, 10);
	struct mdl_flight *pool;
} mdl_window;

/* Execute the NOP that tests/bench/count/plugin.c looks for. */
static void mdl_window_mark(void)
{
#ifdef CONFIG_X86
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'm', 'a', 'r', 'k'");
#endif
}

/* The first call stores the counters, the second call their differences. */
static void mdl_window_counters(void)
{
	struct mdl_dev *dev;
	int i;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &mdl_devices, link)
		for (i = 0; i < MDL_STAT_COUNT; i++)
			dev->window[i] = atomic64_read(&dev->stats[i]) - dev->window[i];
	rcu_read_unlock();
}

static void mdl_window_clear(void)
{
	struct mdl_dev *dev;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &mdl_devices, link)
		memset(dev->window, 0, sizeof(dev->window));
	rcu_read_unlock();
}

static void mdl_window_times(void)
{
	mdl_window.time = mdl_clock_now() - mdl_window.time;
	mdl_window.wall = ktime_get_ns() - mdl_window.wall;
	mdl_window.own = mdl_clock_own() - mdl_window.own;
	/* Number of timer interrupts that were not for an adapter. */
	mdl_window.stale = mdl_window.timers - mdl_clock_interrupts() - mdl_window.stale;
}

static bool mdl_window_is_ours(const struct request *rq)
{
	if (mdl_window.phase != MDL_PHASE_SKIP && mdl_window.phase != MDL_PHASE_RUN)
		return false;
	if (!rq->q->disk || !strstarts(rq->q->disk->disk_name, mdl_window.disk))
		return false;
	return req_op(rq) == REQ_OP_READ ? mdl_window.reads :
	       req_op(rq) == REQ_OP_WRITE && mdl_window.writes;
}

static struct mdl_flight *mdl_window_find(const struct request *rq)
{
	struct mdl_flight *f;

	hash_for_each_possible(mdl_window.flight, f, entry, (unsigned long)rq)
		if (f->rq == rq)
			return f;
	return NULL;
}

static void mdl_window_started(void *data, struct request *rq)
{
	unsigned long flags = mdl_enter();
	struct mdl_flight *f;

	if (!mdl_window_is_ours(rq))
		goto out;
	/* A merged request never completes: reuse its entry if its struct request is used again. */
	f = mdl_window_find(rq);
	if (!f && !hlist_empty(&mdl_window.free)) {
		f = hlist_entry(mdl_window.free.first, struct mdl_flight, entry);
		hlist_del(&f->entry);
		f->rq = rq;
		hash_add(mdl_window.flight, &f->entry, (unsigned long)rq);
	}
	if (f)
		f->started = mdl_clock_now();
out:
	mdl_leave(flags);
}

static void mdl_window_latency(const struct request *rq)
{
	struct mdl_flight *f = mdl_window_find(rq);

	if (!f)
		return;
	if (mdl_window.phase == MDL_PHASE_RUN)
		mdl_window.latency[mdl_window.latencies++] = mdl_clock_now() - f->started;
	hash_del(&f->entry);
	hlist_add_head(&f->entry, &mdl_window.free);
}

static void mdl_window_complete(void *data, struct request *rq, blk_status_t error,
				unsigned int bytes)
{
	unsigned long flags = mdl_enter();

	if (!mdl_window_is_ours(rq))
		goto out;
	mdl_window_latency(rq);
	mdl_window.n++;
	mdl_window.bytes += bytes;
	if (mdl_window.phase == MDL_PHASE_SKIP && mdl_window.n == mdl_window.skip) {
		mdl_window.phase = MDL_PHASE_RUN;
		mdl_window.n = 0;
		mdl_window.bytes = 0;
		mdl_window_counters();
		mdl_window_times();
		mdl_window_mark();
	} else if (mdl_window.phase == MDL_PHASE_RUN && mdl_window.n == mdl_window.count) {
		mdl_window_mark();
		mdl_window_times();
		mdl_window_counters();
		mdl_window.phase = MDL_PHASE_DONE;
		mdl_window.moved = mdl_window.bytes;
		wake_up_all(&mdl_window.wait);
	}
out:
	mdl_leave(flags);
}

/* Called at the start of each timer interrupt of the processor. */
static void mdl_window_timer(void *data, int vector)
{
	mdl_window.timers++;
}

static int mdl_window_probe(void)
{
	int ret = tracepoint_probe_register(mdl_window.start, mdl_window_started, NULL);

	if (ret)
		return ret;
	ret = tracepoint_probe_register(mdl_window.complete, mdl_window_complete, NULL);
	if (ret)
		goto err_start;
	ret = tracepoint_probe_register(mdl_window.timer, mdl_window_timer, NULL);
	if (ret)
		goto err_complete;
	return 0;

err_complete:
	tracepoint_probe_unregister(mdl_window.complete, mdl_window_complete, NULL);
err_start:
	tracepoint_probe_unregister(mdl_window.start, mdl_window_started, NULL);
	return ret;
}

/* Drop the last measurement, even if it has not ended. */
static void mdl_window_stop(void)
{
	if (mdl_window.phase != MDL_PHASE_NONE) {
		tracepoint_probe_unregister(mdl_window.timer, mdl_window_timer, NULL);
		tracepoint_probe_unregister(mdl_window.complete, mdl_window_complete, NULL);
		tracepoint_probe_unregister(mdl_window.start, mdl_window_started, NULL);
		tracepoint_synchronize_unregister();
	}
	mdl_window.phase = MDL_PHASE_NONE;
	vfree(mdl_window.latency);
	mdl_window.latency = NULL;
	vfree(mdl_window.pool);
	mdl_window.pool = NULL;
}

static int mdl_window_start(const char *op)
{
	int i, ret = -ENOMEM;

	mdl_window.reads = strchr(op, 'r');
	mdl_window.writes = strchr(op, 'w');
	if (!mdl_window.skip || !mdl_window.count || mdl_window.count > MDL_WINDOW_MAX)
		return -EINVAL;
	mdl_window.n = 0;
	mdl_window.latencies = 0;
	mdl_window.time = 0;
	mdl_window.wall = 0;
	mdl_window.own = 0;
	mdl_window.stale = 0;
	mdl_window_clear();
	INIT_HLIST_HEAD(&mdl_window.free);
	hash_init(mdl_window.flight);
	mdl_window.latency = vmalloc_array(mdl_window.count, sizeof(*mdl_window.latency));
	mdl_window.pool = vmalloc_array(MDL_WINDOW_FLIGHT, sizeof(*mdl_window.pool));
	if (mdl_window.latency && mdl_window.pool) {
		for (i = 0; i < MDL_WINDOW_FLIGHT; i++)
			hlist_add_head(&mdl_window.pool[i].entry, &mdl_window.free);
		ret = mdl_window_probe();
	}
	if (ret) {
		mdl_window_stop();
		return ret;
	}
	mdl_window.phase = MDL_PHASE_SKIP;
	return 0;
}

static ssize_t mdl_window_write(struct file *file, const char __user *ubuf, size_t len,
				loff_t *pos)
{
	char buf[80] = "", op[3] = "";
	int ret = -EINVAL;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	mutex_lock(&mdl_window.lock);
	mdl_window_stop();
	if (sscanf(buf, "%31s %2s %u %u", mdl_window.disk, op, &mdl_window.skip,
		   &mdl_window.count) == 4)
		ret = mdl_window_start(op);
	mutex_unlock(&mdl_window.lock);
	return ret ?: len;
}

static int mdl_window_compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static void mdl_window_show_latencies(struct seq_file *m)
{
	u32 n = mdl_window.latencies, i;
	u64 sum = 0;

	if (!n)
		return;
	sort(mdl_window.latency, n, sizeof(*mdl_window.latency), mdl_window_compare, NULL);
	for (i = 0; i < n; i++)
		sum += mdl_window.latency[i];
	seq_printf(m, "latencies %u\n", n);
	seq_printf(m, "latency_mean_ns %llu\n", div_u64(sum, n));
	seq_printf(m, "latency_p50_ns %u\n", mdl_window.latency[n / 2]);
	seq_printf(m, "latency_p99_ns %u\n", mdl_window.latency[n - 1 - n / 100]);
}

static void mdl_window_show_devices(struct seq_file *m)
{
	struct mdl_dev *dev;
	int i;

	rcu_read_lock();
	list_for_each_entry_rcu(dev, &mdl_devices, link)
		for (i = 0; i < MDL_STAT_NASTY; i++)
			seq_printf(m, "%s_%s %lld\n", dev_name(&dev->ib.dev), mdl_stat_names[i],
				   dev->window[i]);
	rcu_read_unlock();
}

static int mdl_window_show(struct seq_file *m, void *unused)
{
	int ret;

	/* Without a measurement (MDL_PHASE_NONE) there is nothing to wait for. */
	ret = wait_event_interruptible(mdl_window.wait,
				       READ_ONCE(mdl_window.phase) == MDL_PHASE_DONE ||
				       READ_ONCE(mdl_window.phase) == MDL_PHASE_NONE);
	if (ret)
		return ret;
	mutex_lock(&mdl_window.lock);
	if (mdl_window.phase == MDL_PHASE_DONE) {
		seq_printf(m, "ios %u\n", mdl_window.count);
		seq_printf(m, "bytes %llu\n", mdl_window.moved);
		seq_printf(m, "time_ns %llu\n", mdl_window.time);
		seq_printf(m, "wall_ns %llu\n", mdl_window.wall);
		seq_printf(m, "own_ns %llu\n", mdl_window.own);
		seq_printf(m, "stale_interrupts %llu\n", mdl_window.stale);
		mdl_window_show_latencies(m);
		mdl_window_show_devices(m);
	}
	mutex_unlock(&mdl_window.lock);
	return 0;
}

static int mdl_window_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, mdl_window_show, inode->i_private, SZ_16K);
}

static const struct file_operations mdl_window_fops = {
	.owner = THIS_MODULE,
	.open = mdl_window_open,
	.read = seq_read,
	.write = mdl_window_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void mdl_window_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "block_io_start"))
		mdl_window.start = tp;
	else if (!strcmp(tp->name, "block_rq_issue") && !mdl_window.start)
		mdl_window.start = tp;
	else if (!strcmp(tp->name, "block_rq_complete"))
		mdl_window.complete = tp;
	else if (!strcmp(tp->name, "local_timer_entry"))
		mdl_window.timer = tp;
}

/**
 * mdl_window_init - create the debugfs file for measurements
 * @folder: debugfs folder of the module
 *
 * Context: process context, may sleep.
 */
void mdl_window_init(struct dentry *folder)
{
	mutex_init(&mdl_window.lock);
	init_waitqueue_head(&mdl_window.wait);
	for_each_kernel_tracepoint(mdl_window_tracepoint, NULL);
	if (mdl_timed && mdl_window.start && mdl_window.complete && mdl_window.timer)
		debugfs_create_file("window", 0600, folder, NULL, &mdl_window_fops);
}

/**
 * mdl_window_exit - drop the last measurement
 *
 * Context: process context, may sleep; the debugfs file no longer exists.
 */
void mdl_window_exit(void)
{
	mdl_window_stop();
}
