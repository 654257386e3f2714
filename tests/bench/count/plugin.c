// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts the instructions of the guest's kernel by address.
 *
 * Operation: the option "-plugin FILE,out=PREFIX" of QEMU loads the plugin. Each block of
 * translated code has a counter that QEMU increments inline. The guest executes a certain NOP
 * (mark.c) to start and to stop the counting: the first, third, ... execution clears all counters;
 * the second, fourth, ... execution writes the counters to the next of the files PREFIX.1,
 * PREFIX.2, ... A line is "ADDRESS INSTRUCTIONS", where ADDRESS is that of the first instruction of
 * a block of the kernel. One line "user INSTRUCTIONS" counts all code of user space.
 *
 * Ownership: blocks of the same address share a counter, which is never freed.
 *
 * Concurrency: the guest has one emulated processor.
 *
 * Errors: if a file cannot be written, the plugin prints a message and QEMU goes on.
 */

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

int qemu_plugin_version = 4;

static const uint8_t mark[] = { 0x0f, 0x1f, 0x84, 0x00, 'm', 'a', 'r', 'k' };

/* Counter of a block; if QEMU translates the block again, the block gets the same counter. */
struct counter {
	uint64_t addr;
	struct plugin_u64 insns;
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
	c->insns.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
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

	(void)data;
	if (++marks % 2) {
		for (i = 0; i < BUCKETS; i++)
			for (c = counters[i]; c; c = c->next)
				qemu_plugin_u64_set(c->insns, cpu, 0);
		qemu_plugin_u64_set(user.insns, cpu, 0);
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
			if (qemu_plugin_u64_get(c->insns, cpu))
				fprintf(f, "%016" PRIx64 " %" PRIu64 "\n", c->addr,
					qemu_plugin_u64_get(c->insns, cpu));
	fprintf(f, "user %" PRIu64 "\n", qemu_plugin_u64_get(user.insns, cpu));
	if (fclose(f))
		perror(path);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	uint8_t code[sizeof(mark)];
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, 0);
	uint64_t addr = qemu_plugin_insn_vaddr(insn);
	struct counter *c = addr >= KERNEL ? find(addr) : &user;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, ADD_U64, c->insns, n);
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (qemu_plugin_insn_size(insn) == sizeof(mark) &&
		    qemu_plugin_insn_data(insn, code, sizeof(code)) == sizeof(code) &&
		    !memcmp(code, mark, sizeof(mark)))
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
			fprintf(stderr, "count: unknown argument %s; known: out=PREFIX\n", argv[i]);
			return -1;
		}
		prefix = strdup(argv[i] + 4);
	}
	user.insns.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
