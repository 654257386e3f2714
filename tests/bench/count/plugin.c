// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts the instructions of the guest's kernel by address.
 *
 * Operation
 *
 * Every block of translated code gets a counter that QEMU increments inline. The
 * guest says when to count by executing a certain NOP (see mark.c): at its every
 * second one what was counted since the one before is written to PREFIX.1,
 * PREFIX.2, ... as lines "address instructions", the address being that of the
 * block's first instruction; user space is one line "user". -plugin
 * FILE,out=PREFIX. For one emulated processor.
 */

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

int qemu_plugin_version = 1;

static const uint8_t mark[] = { 0x0f, 0x1f, 0x84, 0x00, 'm', 'a', 'r', 'k' };

/* Blocks are translated anew now and then: they find their counter again. */
struct counter {
	uint64_t addr;
	uint64_t insns;
	struct counter *next;
};

#define BUCKETS 0x40000
#define KERNEL 0xffff800000000000ull

static struct counter *counters[BUCKETS];
static struct counter user;
static const char *prefix = "count";
static int marks;

static struct counter *find(uint64_t addr)
{
	struct counter **bucket = &counters[(addr ^ addr >> 18) % BUCKETS], *c;

	for (c = *bucket; c; c = c->next)
		if (c->addr == addr)
			return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->addr = addr;
	c->next = *bucket;
	*bucket = c;
	return c;
}

static void on_mark(unsigned int cpu, void *data)
{
	struct counter *c;
	char path[4096];
	FILE *f;
	int i;

	(void)cpu;
	(void)data;
	if (++marks % 2) {
		for (i = 0; i < BUCKETS; i++)
			for (c = counters[i]; c; c = c->next)
				c->insns = 0;
		user.insns = 0;
		return;
	}
	snprintf(path, sizeof(path), "%s.%d", prefix, marks / 2);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return;
	}
	for (i = 0; i < BUCKETS; i++)
		for (c = counters[i]; c; c = c->next)
			if (c->insns)
				fprintf(f, "%016" PRIx64 " %" PRIu64 "\n", c->addr, c->insns);
	fprintf(f, "user %" PRIu64 "\n", user.insns);
	if (fclose(f))
		perror(path);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);
	uint64_t addr = qemu_plugin_insn_vaddr(insn);
	struct counter *c = addr >= KERNEL ? find(addr) : &user;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, ADD_U64, &c->insns, n);
	if (addr >= KERNEL)
		return;
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (qemu_plugin_insn_size(insn) == sizeof(mark) &&
		    !memcmp(qemu_plugin_insn_data(insn), mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       NO_REGISTERS, NULL);
	}
}

int qemu_plugin_install(uint64_t id, const struct qemu_info_t *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4)) {
			fprintf(stderr, "count: what is %s? (out=PREFIX)\n", argv[i]);
			return -1;
		}
		prefix = strdup(argv[i] + 4);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
