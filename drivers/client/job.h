/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands that run outside of generic netlink's handler. See job.c.
 */
#ifndef RNBDC_JOB_H
#define RNBDC_JOB_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rnbd/wire.h>

#include "abort.h"
#include "exports.h"
#include "options.h"

struct genl_info;
struct netlink_ext_ack;
struct nlmsghdr;
struct rnbdc_disk;
struct sk_buff;
struct sock;

/**
 * struct rnbdc_job - a command of generic netlink that can wait for the network or a disk
 * @run: function that executes the command; returns 0, or a negative errno with a message set
 * @opt: options of an attach or a discovery; for a new secret only @opt.secret is used
 * @secret: secret to which the pointer in @opt refers, if the request contains one
 * @disk: disk to detach or to give a new secret, with a reference, or NULL
 * @force: detach the disk although it is open
 * @exports: list that a discovery fills
 * @keep: if the command succeeds, the job is kept for a dump of @exports
 * @portid: port of the requester's socket
 * @seq: sequence number of the request
 *
 * rnbdc_job_alloc() and the handler of the command fill the members above. job.c fills the
 * members below.
 *
 * @list: entry of the list of jobs; protected by rnbdc_jobs_lock
 * @work: work item that calls @run
 * @request: message of the requester, until it is acknowledged
 * @header: header of the request in @request
 * @sock: socket of the requester, until the request is acknowledged
 * @abort: abort state; an abort is requested when the requester's socket is closed, or when the
 *	module is unloaded
 * @gone: the requester's socket is closed; protected by rnbdc_jobs_lock
 * @finished: the command has ended and @exports can be dumped; protected by
 *	rnbdc_jobs_lock
 */
struct rnbdc_job {
	int (*run)(struct rnbdc_job *job, struct netlink_ext_ack *extack);
	struct rnbdc_options opt;
	u8 secret[RNBD_SECRET_SIZE];
	struct rnbdc_disk *disk;
	bool force;
	struct rnbdc_exports exports;
	bool keep;
	u32 portid;
	u32 seq;

	struct list_head list;
	struct work_struct work;
	struct sk_buff *request;
	struct nlmsghdr *header;
	struct sock *sock;
	struct rnbdc_abort abort;
	bool gone;
	bool finished;
};

struct rnbdc_job *rnbdc_job_alloc(struct genl_info *info,
				  int (*run)(struct rnbdc_job *job,
					     struct netlink_ext_ack *extack));
void rnbdc_job_free(struct rnbdc_job *job);
int rnbdc_job_start(struct rnbdc_job *job, struct sk_buff *request, struct genl_info *info);
struct rnbdc_job *rnbdc_job_take_finished(u32 portid);
void rnbdc_jobs_stop(void);
int rnbdc_jobs_init(void);
void rnbdc_jobs_exit(void);

#endif /* RNBDC_JOB_H */
