/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module parameters that are numbers within a range.
 *
 * Operation: a number out of its range is refused with EINVAL, when the module is
 * loaded and when somebody writes to its file, so that nobody else has to look.
 * modinfo tells the range and the default, which are written in one place.
 * Ownership: the variable is the file's that makes it.
 * Concurrency: a parameter may change at any time; read it with READ_ONCE().
 * Errors: the kernel's own message names the parameter and the value.
 */
#ifndef RNBD_CORE_PARAM_H
#define RNBD_CORE_PARAM_H

#include <linux/moduleparam.h>
#include <linux/stringify.h>

/**
 * RNBD_PARAM_UINT - a variable that is a module parameter
 * @name: of both
 * @value: default, written out
 * @min: least number, written out
 * @max: largest number, written out
 * @desc: unit and what it does
 */
#define RNBD_PARAM_UINT(name, value, min, max, desc)				\
static unsigned int name = value;						\
static int name##_set(const char *val, const struct kernel_param *kp)		\
{										\
	return param_set_uint_minmax(val, kp, min, max);			\
}										\
static const struct kernel_param_ops name##_ops = {				\
	.set = name##_set,							\
	.get = param_get_uint,							\
};										\
module_param_cb(name, &name##_ops, &name, 0644);				\
__MODULE_PARM_TYPE(name, "uint");						\
MODULE_PARM_DESC(name, desc " (" __stringify(min) " to " __stringify(max)	\
		 ", default " __stringify(value) ")")

#endif /* RNBD_CORE_PARAM_H */
