// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nasty behaviour: behaviour that InfiniBand allows and adapters seldom show.
 *
 * Operation: the parameters "nasty", "nasty_rate" and "seed" apply to devices that are created
 * afterwards. mdl_nasty() decides at each opportunity whether a kind happens; the caller counts
 * each time that the kind has happened. A kind happens at its first opportunity, so that a short
 * test sees all kinds, and later on average at one in nasty_rate opportunities. The kinds event,
 * error and fatal do not use mdl_nasty().
 * delay: a completion becomes pollable later; completions of other work queues can overtake it.
 * merge: a completion becomes pollable at the next multiple of MDL_MERGE_NS, so that several
 * completions appear together and raise one event.
 * late: the data of an RDMA READ are read and placed later, in pieces and in any order, mixed
 * with other READs of the queue pair.
 * again: an RDMA READ is executed a second time, as after the loss of its response.
 * defer: the data of an RDMA WRITE reach memory only when a later operation needs them (place.c).
 * rnr: a receiver answers with an RNR NAK although it has a receive work request.
 * event: the device reports events without a cause, and its port fails briefly (nasty_event.c).
 * register: creation and destruction of memory regions, REG_MR and LOCAL_INV take up to some ms.
 * modify: creation, transitions and destruction of queue pairs take some milliseconds.
 * error: a request fails for a reason that the ULP could not avoid.
 * fatal: the device fails once, with all its RC queue pairs (nasty_event.c).
 *
 * Ownership: a device owns its random numbers.
 *
 * Concurrency: a lock protects the random numbers. Runs with the same seed draw the same
 * sequence of numbers, but the order of threads decides which request gets which number.
 *
 * Errors: writing an unknown kind to the parameter fails.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <linux/stringhash.h>

#include "model.h"

#define MDL_NASTY_ALL		(BIT(MDL_NASTY_ERROR) - 1)
/* Longest delay of a completion, us. */
#define MDL_DELAY_US		400
/* Merged completions appear at multiples of this time, ns; a power of 2. */
#define MDL_MERGE_NS		BIT(19)
/* RNR NAKs without a reason stop send queues for at most 1/MDL_RNR_PART of the time. */
#define MDL_RNR_PART		16
/* The kind "error" is rarer than other kinds by this factor. */
#define MDL_ERROR_FACTOR	64

const char *const mdl_nasty_names[MDL_NASTY_COUNT] = {
	[MDL_NASTY_DELAY] = "delay",
	[MDL_NASTY_MERGE] = "merge",
	[MDL_NASTY_LATE] = "late",
	[MDL_NASTY_AGAIN] = "again",
	[MDL_NASTY_DEFER] = "defer",
	[MDL_NASTY_RNR] = "rnr",
	[MDL_NASTY_EVENT] = "event",
	[MDL_NASTY_REGISTER] = "register",
	[MDL_NASTY_MODIFY] = "modify",
	[MDL_NASTY_ERROR] = "error",
	[MDL_NASTY_FATAL] = "fatal",
};

static u32 mdl_nasty_kinds;

static int mdl_nasty_set(const char *val, const struct kernel_param *kp)
{
	char copy[128], *list, *name;
	bool except;
	u32 kinds = 0;
	int i;

	if (strscpy(copy, val) < 0)
		return -EINVAL;
	list = strim(copy);
	while ((name = strsep(&list, ","))) {
		if (!*name || !strcmp(name, "none"))
			continue;
		if (!strcmp(name, "all")) {
			kinds |= MDL_NASTY_ALL;
			continue;
		}
		except = *name == '-';
		i = match_string(mdl_nasty_names, MDL_NASTY_COUNT, name + except);
		if (i < 0)
			return i;
		kinds = except ? kinds & ~BIT(i) : kinds | BIT(i);
	}
	mdl_nasty_kinds = kinds;
	return 0;
}

static int mdl_nasty_get(char *buf, const struct kernel_param *kp)
{
	int i, n = 0;

	for (i = 0; i < MDL_NASTY_COUNT; i++)
		if (mdl_nasty_kinds & BIT(i))
			n += sysfs_emit_at(buf, n, "%s%s", n ? "," : "", mdl_nasty_names[i]);
	return n + sysfs_emit_at(buf, n, "\n");
}

static const struct kernel_param_ops mdl_nasty_param = {
	.set = mdl_nasty_set,
	.get = mdl_nasty_get,
};

module_param_cb(nasty, &mdl_nasty_param, NULL, 0644);
MODULE_PARM_DESC(nasty, "kinds of legal but nasty behaviour of new devices, separated by commas; all: each except error and fatal, -KIND: not this one (default: none)");

static uint mdl_nasty_rate = 8;
module_param_named(nasty_rate, mdl_nasty_rate, uint, 0644);
MODULE_PARM_DESC(nasty_rate, "take one of this many opportunities (default: 8)");

static uint mdl_seed = 1;
module_param_named(seed, mdl_seed, uint, 0644);
MODULE_PARM_DESC(seed, "seed of the choices of new devices (default: 1)");

/**
 * mdl_random - draw a random number
 * @dev: device
 * @below: number of possible results; not 0
 *
 * Context: any.
 * Return: a number below @below.
 */
u32 mdl_random(struct mdl_dev *dev, u32 below)
{
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&dev->dice.lock, flags);
	n = prandom_u32_state(&dev->dice.rnd);
	spin_unlock_irqrestore(&dev->dice.lock, flags);
	return n % below;
}

/**
 * mdl_nasty - decide whether to use an opportunity for nasty behaviour
 * @dev: device
 * @kind: kind of nasty behaviour
 *
 * Context: any.
 * Return: true if the caller must show the behaviour and count it.
 */
bool mdl_nasty(struct mdl_dev *dev, enum mdl_nasty kind)
{
	if (!mdl_is_nasty(dev, kind))
		return false;
	return !atomic64_read(&dev->stats[MDL_STAT_NASTY + kind]) ||
	       !mdl_random(dev, dev->dice.rate);
}

/**
 * mdl_nasty_cqe - decide when a completion becomes pollable
 * @dev: device
 *
 * Context: engine.
 * Return: time, or 0 for at once.
 */
ktime_t mdl_nasty_cqe(struct mdl_dev *dev)
{
	ktime_t due = 0;

	if (mdl_nasty(dev, MDL_NASTY_DELAY)) {
		due = ktime_add_us(ktime_get(), 1 + mdl_random(dev, MDL_DELAY_US));
		mdl_nasty_count(dev, MDL_NASTY_DELAY);
	}
	if (mdl_nasty(dev, MDL_NASTY_MERGE))
		due = round_up(due ?: ktime_get(), MDL_MERGE_NS);
	return due;
}

/**
 * mdl_nasty_rnr - decide whether to send an RNR NAK without a reason
 * @dev: device of the responder
 * @qp: queue pair of the requester
 * @delay_us: time for which the NAK stops the requester, us
 *
 * RNR NAKs without a reason use at most half of the RNR retries of a request, or its only retry.
 * The other retries are left for a receiver that is really not ready.
 *
 * Context: the requester's engine.
 * Return: true if the responder must send an RNR NAK.
 */
bool mdl_nasty_rnr(struct mdl_dev *dev, const struct mdl_qp *qp, u64 delay_us)
{
	ktime_t now = ktime_get();
	unsigned long flags;
	bool often;

	if (!mdl_is_nasty(dev, MDL_NASTY_RNR) || !qp->attr.rnr_retry ||
	    qp->rnr_retries >= max(qp->attr.rnr_retry / 2, 1))
		return false;
	spin_lock_irqsave(&dev->dice.lock, flags);
	often = ktime_before(now, dev->dice.rnr_next);
	spin_unlock_irqrestore(&dev->dice.lock, flags);
	if (often || !mdl_nasty(dev, MDL_NASTY_RNR))
		return false;
	spin_lock_irqsave(&dev->dice.lock, flags);
	dev->dice.rnr_next = ktime_add_us(now, delay_us * MDL_RNR_PART);
	spin_unlock_irqrestore(&dev->dice.lock, flags);
	mdl_nasty_count(dev, MDL_NASTY_RNR);
	return true;
}

/**
 * mdl_nasty_error - decide whether a request fails
 * @dev: device of the requester
 * @wqe: work request
 * @status: output, status of the completion
 * @executed: output, whether the responder executes the request nevertheless
 *
 * Context: the requester's engine.
 * Return: true if the request fails; the caller counts it.
 */
bool mdl_nasty_error(struct mdl_dev *dev, const struct mdl_swqe *wqe,
		     enum ib_wc_status *status, bool *executed)
{
	static const enum ib_wc_status statuses[] = {
		IB_WC_RETRY_EXC_ERR, IB_WC_RETRY_EXC_ERR, IB_WC_LOC_QP_OP_ERR, IB_WC_REM_OP_ERR,
	};

	if (!mdl_is_nasty(dev, MDL_NASTY_ERROR) ||
	    mdl_random(dev, dev->dice.rate * MDL_ERROR_FACTOR))
		return false;
	if (wqe->opcode == IB_WR_REG_MR || wqe->opcode == IB_WR_LOCAL_INV)
		*status = mdl_random(dev, 2) ? IB_WC_LOC_QP_OP_ERR : IB_WC_MW_BIND_ERR;
	else
		*status = statuses[mdl_random(dev, ARRAY_SIZE(statuses))];
	/* After RETRY_EXC_ERR a request can be executed: perhaps only acknowledgments were lost. */
	*executed = *status == IB_WC_RETRY_EXC_ERR && mdl_random(dev, 2);
	return true;
}

/**
 * mdl_nasty_sleep - possibly sleep for some milliseconds
 * @dev: device
 * @kind: kind of nasty behaviour
 *
 * Context: process context, may sleep.
 */
void mdl_nasty_sleep(struct mdl_dev *dev, enum mdl_nasty kind)
{
	u32 us;

	if (!mdl_nasty(dev, kind))
		return;
	us = USEC_PER_MSEC + mdl_random(dev, 3 * USEC_PER_MSEC);
	usleep_range(us, us + MDL_DELAY_US);
	mdl_nasty_count(dev, kind);
}

/**
 * mdl_nasty_init - set the nasty behaviour of a device from the module parameters
 * @dev: device with profile and network device
 *
 * Context: process context.
 */
void mdl_nasty_init(struct mdl_dev *dev)
{
	const char *name = dev->ndev->name;
	struct mdl_dice *dice = &dev->dice;
	u64 seed = READ_ONCE(mdl_seed);

	/* Include the name of the network device: each device of a test then has other numbers. */
	seed += (u64)full_name_hash(NULL, name, strlen(name)) << 32;
	spin_lock_init(&dice->lock);
	prandom_seed_state(&dice->rnd, seed);
	dice->kinds = READ_ONCE(mdl_nasty_kinds);
	dice->rate = max(READ_ONCE(mdl_nasty_rate), 1U);
	if (!(dev->profile->features & MDL_F_RNR))
		dice->kinds &= ~BIT(MDL_NASTY_RNR);
}
