/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fault points: places where a test can make something go wrong.
 *
 * Operation: a point costs a no-op in the instruction stream until a number of
 * times, which may be 0, and an argument are written to its file in debugfs,
 * rnbd/<module>/<point>. Reading it shows times left, argument and hits. Once
 * written to, it stays a call that looks at the times left until the module
 * goes, so that a test that strikes often does not rewrite running code each time.
 * Ownership: points are static data of their module, which adds and removes
 * them.
 * Concurrency: any context may hit a point; each hit is counted once.
 * Errors: without debugfs there are no points to switch on, and nothing fails.
 */
#ifndef RNBD_CORE_INJECT_H
#define RNBD_CORE_INJECT_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct dentry;

/**
 * struct rnbd_inject - a fault point
 * @name: of its file
 * @key: on since the file was first written to
 * @times: how often it strikes from now on
 * @hits: how often it has struck
 * @written: changes when the file is written to, which ends a delay
 * @arg: what the point makes of it: milliseconds, the index of a queue
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
 * rnbd_inject - does a fault point strike now
 * @point: the point
 * @arg: filled if it does, may be NULL
 *
 * Context: any.
 */
static __always_inline bool rnbd_inject(struct rnbd_inject *point, u32 *arg)
{
	return static_branch_unlikely(&point->key) && rnbd_inject_strike(point, arg);
}

/**
 * rnbd_inject_at - test whether a fault point strikes one of several objects
 * @point: the point, whose argument is the number of the object
 * @number: number of the object at hand; another one uses up none of the times
 *
 * Context: any.
 * Return: whether it strikes.
 */
static __always_inline bool rnbd_inject_at(struct rnbd_inject *point, u32 number)
{
	return static_branch_unlikely(&point->key) && READ_ONCE(point->arg) == number &&
	       rnbd_inject_strike(point, NULL);
}

/**
 * rnbd_inject_delay - sleep here if a fault point strikes
 * @point: the point, whose argument is how long, in milliseconds; whatever is
 *	written to its file ends that
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
