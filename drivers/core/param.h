/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module parameters that are numbers within a range.
 *
 * Operation: the kernel refuses a number out of range with EINVAL, both when the module is
 * loaded and when the file of the parameter is written. So no other code checks the number.
 * modinfo shows the range and the default, which are written only in the use of the macro.
 * Ownership: the variable belongs to the file that defines it.
 * Concurrency: a parameter can change at any time; read it with READ_ONCE().
 * Errors: when the module is loaded, the kernel logs the name of the parameter and the value; a
 * write to the file only fails.
 */
#ifndef RNBD_CORE_PARAM_H
#define RNBD_CORE_PARAM_H

#include <linux/moduleparam.h>
#include <linux/stringify.h>

/**
 * RNBD_PARAM_UINT - define a variable that is a module parameter
 * @name: name of the variable and of the parameter
 * @value: default, a literal number
 * @min: minimum, a literal number
 * @max: maximum, a literal number
 * @desc: description with the unit
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
