// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd_faults: deliberate faults, to prove that the debug kernel reports them
 * and that the lab notices the reports. `modprobe rnbd_faults fault=NAME`
 * commits the fault NAME; the module stays loaded. The name of the module begins
 * with rnbd like the names of the modules under test, because the lab reports a
 * leak only if such a module is in the stack of the allocation.
 *
 * `fault=late-packet` commits no fault: while the module is loaded, it delays
 * soft-RoCE for some packets, after soft-RoCE has queued the packet and before
 * it uses the queue pair of the packet. During the delay a test can destroy the
 * queue pair.
 */

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "none";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "kasan, lockdep, sleep, rcu, ubsan, list, refcount, leak or late-packet");

static uint late_ms = 100;
module_param(late_ms, uint, 0444);
MODULE_PARM_DESC(late_ms, "late-packet: how long a packet is held up, in ms (100)");

static uint late_every = 16;
module_param(late_every, uint, 0444);
MODULE_PARM_DESC(late_every, "late-packet: one of how many packets is held up (16)");

static uint late_packets;
module_param(late_packets, uint, 0444);
MODULE_PARM_DESC(late_packets, "late-packet: packets held up so far");

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);

/* volatile keeps the compiler from removing the write to freed memory or warning of it. */
static noinline void fault_kasan(void)
{
	volatile char *p = kmalloc(100, GFP_KERNEL);

	if (!p)
		return;
	p[0] = 1;
	kfree((void *)p);
	p[1] = 2;
}

static void fault_lockdep(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);

	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

static void fault_sleep(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static void fault_rcu(void)
{
	static int __rcu *pointer;

	WRITE_ONCE(fault, rcu_dereference(pointer) ? fault : "rcu");
}

static noinline void fault_ubsan(void)
{
	static int array[4];
	volatile int index = 4;

	array[index] = 1;
}

static noinline void fault_list(void)
{
	static LIST_HEAD(head);
	static struct list_head entry;

	list_add(&entry, &head);
	list_add(&entry, &head);
}

static noinline void fault_refcount(void)
{
	static refcount_t ref = REFCOUNT_INIT(1);

	if (refcount_dec_and_test(&ref))
		refcount_inc(&ref);
}

static noinline void fault_leak(void)
{
	int i;

	/* Leak several objects: a stale copy of a pointer can hide one of them from kmemleak. */
	for (i = 0; i < 8; i++)
		if (!kzalloc(200, GFP_KERNEL))
			pr_info("not even leaked\n");
}

/* Delay some soft interrupts after they queued a packet, before they schedule its QP's task. */
static int late_pre(struct kprobe *probe, struct pt_regs *regs)
{
	static atomic_t seen;

	if (in_serving_softirq() && atomic_inc_return(&seen) % late_every == 0) {
		late_packets++;
		mdelay(late_ms);
	}
	return 0;
}

static struct kprobe late_probe = {
	.symbol_name = "rxe_sched_task",
	.pre_handler = late_pre,
};

static int __init faults_init(void)
{
	static const struct {
		const char *name;
		void (*commit)(void);
	} faults[] = {
		{ "kasan", fault_kasan },
		{ "lockdep", fault_lockdep },
		{ "sleep", fault_sleep },
		{ "rcu", fault_rcu },
		{ "ubsan", fault_ubsan },
		{ "list", fault_list },
		{ "refcount", fault_refcount },
		{ "leak", fault_leak },
	};
	int i;

	if (!strcmp(fault, "late-packet"))
		return late_every ? register_kprobe(&late_probe) : -EINVAL;
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(fault, faults[i].name))
			continue;
		faults[i].commit();
		return 0;
	}
	return -EINVAL;
}

static void __exit faults_exit(void)
{
	if (!strcmp(fault, "late-packet"))
		unregister_kprobe(&late_probe);
}

module_init(faults_init);
module_exit(faults_exit);
MODULE_DESCRIPTION("Deliberate faults for the tests of the lab");
MODULE_LICENSE("GPL");
