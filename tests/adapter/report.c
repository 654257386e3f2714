// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of violations. A violation is a use of the device that a real adapter does not allow.
 *
 * Operation: a report logs the device, the queue pair and the work request, increments a
 * counter and triggers a kernel warning, so that the lab fails the run. A test that commits
 * violations disables the warning by the parameter "warn", and checks the log and the counter.
 *
 * Ownership: nothing is allocated.
 *
 * Concurrency: callable in any context.
 *
 * Errors: after MDL_MAX_WARNINGS warnings, reports are logged without a stack trace.
 */
#include <linux/module.h>
#include <linux/uaccess.h>

#include "model.h"

#define MDL_MAX_WARNINGS	20

static bool mdl_warn = true;
module_param_named(warn, mdl_warn, bool, 0644);
MODULE_PARM_DESC(warn, "warn with a stack at each violation (default: Y)");

static atomic_t mdl_warnings = ATOMIC_INIT(0);

/* Return the completion function of a work request of the kernel, or NULL. */
static void *mdl_done_function(u64 wr_id)
{
	struct ib_cqe *cqe = (struct ib_cqe *)(uintptr_t)wr_id;
	void *done;

	if (!wr_id || copy_from_kernel_nofault(&done, &cqe->done, sizeof(done)))
		return NULL;
	return done;
}

/**
 * mdl_violation - report that a ULP broke a rule of the adapter
 * @dev: device
 * @qp: queue pair, or NULL if there is none
 * @wr_id: identifier of the work request, or 0 if there is none
 * @fmt: format of the description
 *
 * Context: any.
 */
void mdl_violation(struct mdl_dev *dev, const struct mdl_qp *qp, u64 wr_id,
		   const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	mdl_count(dev, MDL_STAT_VIOLATION);
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_err("rdma-model: VIOLATION: %s: qp %u: work request %llx (%ps): %pV\n",
	       dev_name(&dev->ib.dev), qp ? qp->ib.qp_num : 0, wr_id,
	       mdl_done_function(wr_id), &vaf);
	va_end(args);
	WARN(READ_ONCE(mdl_warn) && atomic_inc_return(&mdl_warnings) <= MDL_MAX_WARNINGS,
	     "rdma-model: violation reported above\n");
}
