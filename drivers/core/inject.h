/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault points: places where a test can inject a fault.
 *
 * Operation: a fault point is a place in the code and a file in debugfs,
 * rnbd/<module>/<point>. A test writes two numbers to the file: how many times the fault is to
 * be injected, and an argument. After that, the point strikes (the code injects the fault) each
 * time that it is executed, until the number is used up; 0 switches the point off. Reading
 * shows the times left, the argument, and how often the point has struck. Until the first
 * write, executing a point is a no-op instruction. From the first write to the unloading of the
 * module, it is a call that checks the times left, so a test that injects many faults patches
 * the running code only once per point.
 * Ownership: points are static data of their module, which creates and removes their files.
 * Concurrency: a point can be executed in any context; each strike is counted once.
 * Errors: without debugfs no point can be switched on; this is not an error.
 */
#ifndef RNBD_CORE_INJECT_H
#define RNBD_CORE_INJECT_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct dentry;

/**
 * struct rnbd_inject - a fault point
 * @name: name of the file
 * @key: enabled by the first write to the file
 * @times: number of times that the point still strikes
 * @hits: number of times that the point has struck
 * @written: changes with each write to the file, which ends a delay
 * @arg: argument; its meaning depends on the point, for example milliseconds or the index of a
 *	queue
 */
struct rnbd_inject {
	const char *name;
	struct static_key_false key;
	atomic_t times;
	atomic_t hits;
	unsigned int written;
	u32 arg;
};

#define RNBD_INJECT(_var, _name)						\
	struct rnbd_inject _var = {						\
		.name = (_name),						\
		.key = STATIC_KEY_FALSE_INIT,					\
	}

bool rnbd_inject_strike(struct rnbd_inject *point, u32 *arg);
void rnbd_inject_sleep(struct rnbd_inject *point);

/**
 * rnbd_inject - test whether a fault point strikes now
 * @point: the point
 * @arg: result: the argument, if the point strikes; may be NULL
 *
 * Context: any.
 * Return: true if it strikes.
 */
static __always_inline bool rnbd_inject(struct rnbd_inject *point, u32 *arg)
{
	return static_branch_unlikely(&point->key) && rnbd_inject_strike(point, arg);
}

/**
 * rnbd_inject_at - test whether a fault point strikes a given object
 * @point: the point, whose argument is the number of an object
 * @number: number of the object at hand; an object with another number uses up none of the
 *	times
 *
 * Context: any.
 * Return: true if it strikes.
 */
static __always_inline bool rnbd_inject_at(struct rnbd_inject *point, u32 number)
{
	return static_branch_unlikely(&point->key) && READ_ONCE(point->arg) == number &&
	       rnbd_inject_strike(point, NULL);
}

/**
 * rnbd_inject_delay - sleep if a fault point strikes
 * @point: the point, whose argument is the time in milliseconds; any write to its file ends
 *	the sleep
 *
 * Context: process context, may sleep.
 */
static __always_inline void rnbd_inject_delay(struct rnbd_inject *point)
{
	if (static_branch_unlikely(&point->key))
		rnbd_inject_sleep(point);
}

struct dentry *rnbd_inject_add(const char *module, struct rnbd_inject *const *points);
void rnbd_inject_remove(struct dentry *dir);
int rnbd_inject_init(void);
void rnbd_inject_exit(void);

#endif /* RNBD_CORE_INJECT_H */
