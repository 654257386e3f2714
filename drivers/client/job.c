// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that run outside of generic netlink's handler.
 *
 * Operation: While generic netlink calls a handler, it holds the semaphore cb_lock, which every
 * generic netlink family of the machine needs. A command that waits for the network or for a
 * disk is therefore a job: the handler checks the request, starts the job and returns, and
 * netlink sends no acknowledgment. A work item executes the command and then sends the
 * acknowledgment with the error and its message, in the form in which netlink acknowledges
 * other commands. An attach or a discovery is aborted when the requester closes its socket. The
 * list of exports of a discovery stays with its job until the requester dumps the list,
 * completes another discovery or closes its socket.
 *
 * Ownership: A job belongs to its work item from rnbdc_job_start() on, and holds references
 * to the request and to the requester's socket until the acknowledgment. A finished discovery
 * that waits for a dump belongs to the list of jobs, and after that to the dump.
 *
 * Concurrency: Jobs run concurrently. rnbdc_jobs_lock protects the list, and orders the end
 * of a job and the closing of its requester's socket. No command runs under rnbdc_jobs_lock.
 *
 * Errors: rnbdc_job_start() fails while the module is being unloaded. If there is no memory
 * for an acknowledgment, netlink_ack() reports an error on the requester's socket.
 */

#include <linux/mutex.h>
#include <linux/netlink.h>
#include <linux/notifier.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "job.h"
#include "release.h"

/* Jobs do not use the work queue of recovery, because they can wait for memory and I/O. */
static struct workqueue_struct *rnbdc_job_wq;
static LIST_HEAD(rnbdc_jobs);
static bool rnbdc_jobs_stopped;
static DEFINE_MUTEX(rnbdc_jobs_lock);	/* rnbdc_jobs, rnbdc_jobs_stopped */

/**
 * rnbdc_job_alloc - allocate a job
 * @info: request
 * @run: function that executes the command
 *
 * Context: process context, may sleep.
 * Return: the job, not started, or NULL with a message set.
 */
struct rnbdc_job *rnbdc_job_alloc(struct genl_info *info,
				  int (*run)(struct rnbdc_job *job,
					     struct netlink_ext_ack *extack))
{
	struct rnbdc_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job) {
		NL_SET_ERR_MSG(info->extack, "out of memory");
		return NULL;
	}
	job->run = run;
	job->portid = info->snd_portid;
	job->seq = info->snd_seq;
	rnbdc_exports_init(&job->exports);
	rnbdc_abort_init(&job->abort);
	job->opt.abort = &job->abort;
	return job;
}

/**
 * rnbdc_job_free - free a job
 * @job: job that was not started, or that the caller has removed from the list of jobs
 *
 * Context: process context, may sleep.
 */
void rnbdc_job_free(struct rnbdc_job *job)
{
	if (job->disk)
		rnbdc_disk_put(job->disk);
	rnbdc_exports_free(&job->exports);
	kfree_sensitive(job);
}

/* Remove the finished discovery of a socket from the list. Returns NULL if there is none. */
static struct rnbdc_job *rnbdc_job_remove_finished(u32 portid)
{
	struct rnbdc_job *job;

	lockdep_assert_held(&rnbdc_jobs_lock);

	list_for_each_entry(job, &rnbdc_jobs, list) {
		if (job->portid != portid || !job->finished)
			continue;
		list_del(&job->list);
		return job;
	}
	return NULL;
}

/* End a job: keep it for a dump, or free it. Returns true if the requester's socket is open. */
static bool rnbdc_job_end(struct rnbdc_job *job, int error)
{
	struct rnbdc_job *old = job;
	bool answer;

	mutex_lock(&rnbdc_jobs_lock);
	answer = !job->gone;
	if (job->keep && answer && !error) {
		old = rnbdc_job_remove_finished(job->portid);
		job->finished = true;
	} else {
		list_del(&job->list);
	}
	mutex_unlock(&rnbdc_jobs_lock);
	if (old)
		rnbdc_job_free(old);
	return answer;
}

static void rnbdc_job_work(struct work_struct *work)
{
	struct rnbdc_job *job = container_of(work, struct rnbdc_job, work);
	struct netlink_ext_ack extack = { };
	struct sk_buff *request = job->request;
	struct nlmsghdr *header = job->header;
	struct sock *sock = job->sock;
	int error;

	error = job->run(job, &extack);
	memzero_explicit(job->secret, sizeof(job->secret));
	/* rnbdc_job_end() frees the job or leaves it to a dump: do not use the job afterwards. */
	if (rnbdc_job_end(job, error) && (error || header->nlmsg_flags & NLM_F_ACK))
		netlink_ack(request, header, error, &extack);
	kfree_skb(request);
	sock_put(sock);
}

/**
 * rnbdc_job_start - execute a command in a work item
 * @job: job; on success it belongs to the work item afterwards, on error it is freed
 * @request: message with the request
 * @info: request
 *
 * Context: handler of a command; the requester's system call keeps its socket open.
 * Return: -EINTR, which the handler returns so that netlink_rcv_skb() sends no
 * acknowledgment, as for a dump; or -ESHUTDOWN with a message set.
 */
int rnbdc_job_start(struct rnbdc_job *job, struct sk_buff *request, struct genl_info *info)
{
	int ret = -EINTR;

	mutex_lock(&rnbdc_jobs_lock);
	if (rnbdc_jobs_stopped) {
		NL_SET_ERR_MSG(info->extack, "the module is being unloaded");
		ret = -ESHUTDOWN;
	} else {
		job->request = skb_get(request);
		job->header = nlmsg_hdr(request);
		job->sock = NETLINK_CB(request).sk;
		sock_hold(job->sock);
		list_add_tail(&job->list, &rnbdc_jobs);
		INIT_WORK(&job->work, rnbdc_job_work);
		queue_work(rnbdc_job_wq, &job->work);
	}
	mutex_unlock(&rnbdc_jobs_lock);
	if (ret != -EINTR)
		rnbdc_job_free(job);
	return ret;
}

/**
 * rnbdc_job_take_finished - remove the finished discovery of a socket from the list of jobs
 * @portid: port of the socket
 *
 * Context: process context, may sleep.
 * Return: the job, which has the list of exports and which the caller must free, or NULL if
 * the socket has no finished discovery.
 */
struct rnbdc_job *rnbdc_job_take_finished(u32 portid)
{
	struct rnbdc_job *job;

	mutex_lock(&rnbdc_jobs_lock);
	job = rnbdc_job_remove_finished(portid);
	mutex_unlock(&rnbdc_jobs_lock);
	return job;
}

/* Abort the running jobs of a socket that is closed, and free its finished discovery. */
static int rnbdc_jobs_notify(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct netlink_notify *notify = data;
	struct rnbdc_job *job;

	if (event != NETLINK_URELEASE || notify->protocol != NETLINK_GENERIC ||
	    !net_eq(notify->net, &init_net))
		return NOTIFY_DONE;
	mutex_lock(&rnbdc_jobs_lock);
	job = rnbdc_job_remove_finished(notify->portid);
	if (job)
		rnbdc_job_free(job);
	list_for_each_entry(job, &rnbdc_jobs, list) {
		if (job->portid != notify->portid || job->gone)
			continue;
		job->gone = true;
		rnbdc_abort_request(&job->abort);
	}
	mutex_unlock(&rnbdc_jobs_lock);
	return NOTIFY_DONE;
}

static struct notifier_block rnbdc_jobs_notifier = {
	.notifier_call = rnbdc_jobs_notify,
};

/**
 * rnbdc_jobs_stop - refuse further jobs, abort attaches and discoveries, wait for all jobs
 *
 * Context: process context, may sleep.
 */
void rnbdc_jobs_stop(void)
{
	struct rnbdc_job *job;

	mutex_lock(&rnbdc_jobs_lock);
	rnbdc_jobs_stopped = true;
	list_for_each_entry(job, &rnbdc_jobs, list)
		if (!job->finished)
			rnbdc_abort_request(&job->abort);
	mutex_unlock(&rnbdc_jobs_lock);
	flush_workqueue(rnbdc_job_wq);
}

/**
 * rnbdc_jobs_init - create the work queue of jobs, and register for events of closed sockets
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int rnbdc_jobs_init(void)
{
	int ret;

	rnbdc_job_wq = alloc_workqueue("rnbd-job", WQ_UNBOUND, 0);
	if (!rnbdc_job_wq)
		return -ENOMEM;
	ret = netlink_register_notifier(&rnbdc_jobs_notifier);
	if (ret)
		destroy_workqueue(rnbdc_job_wq);
	return ret;
}

/**
 * rnbdc_jobs_exit - free the work queue, and finished discoveries that no dump has taken
 *
 * Context: process context, may sleep; no job runs, and no command can start one.
 */
void rnbdc_jobs_exit(void)
{
	struct rnbdc_job *job, *next;

	netlink_unregister_notifier(&rnbdc_jobs_notifier);
	list_for_each_entry_safe(job, next, &rnbdc_jobs, list)
		rnbdc_job_free(job);
	destroy_workqueue(rnbdc_job_wq);
}
