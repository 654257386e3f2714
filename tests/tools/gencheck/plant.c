// SPDX-License-Identifier: GPL-2.0-only
/*
 * gencheck plant: make a block wrong, to test the checker.
 * gencheck show: print the contents of a journal.
 *
 * Operation: plant reads the right version of a block from the journal, makes wrong contents of the
 * requested kind, and writes them to the disk without changing the journal. It rejects a fault that
 * verify would accept: for example, only a block that was written at least twice can be made old.
 * "any" selects the first suitable block. show may be used while gencheck run uses the same
 * journal.
 *
 * Ownership: all objects end with the command.
 * Concurrency: one thread. plant fails while gencheck run uses the journal.
 * Errors: EXIT_USAGE if no block is suitable.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gencheck.h"

static const struct rule no_rule;

/* Return true if the fault is possible for the block; store the version to write. */
static bool plantable(enum kind kind, const struct expect *expect, uint64_t *version)
{
	uint64_t generation = version_generation(expect->acked);
	unsigned int writer = version_writer(expect->acked);
	uint64_t wanted = opt.generation;

	*version = expect->acked;
	switch (kind) {
	case KIND_OLD:
		*version = version_make(wanted ?: generation - 1, writer);
		return generation >= 2 && wanted < generation;
	case KIND_TORN:
	case KIND_LOST:
	case KIND_ADDRESS:
	case KIND_FOREIGN:
	case KIND_CORRUPT:
		return generation >= 1;
	case KIND_FUTURE:
		generation = version_generation(expect->issued);
		*version = version_make(wanted ?: generation + 1, opt.writer);
		return expect->writers >> opt.writer & 1 && (!wanted || wanted > generation);
	default:
		return false;
	}
}

/* Return the number of a writer that is not in the mask @writers of known writers. */
static unsigned int stranger(uint64_t writers)
{
	unsigned int writer = WRITER_MAX;

	while (writer > 1 && writers >> writer & 1)
		writer--;
	return writer;
}

static void make_wrong(enum kind kind, const struct expect *expect, struct stamp *stamp,
		       uint8_t *block)
{
	struct stamp before = *stamp;
	uint8_t *half = disk_buffer(1);
	uint8_t fill = expect->fill == FILL_ANY ? 0 : expect->fill;

	switch (kind) {
	case KIND_LOST:
		memset(block, fill, BLOCK);
		break;
	case KIND_TORN:
		block_make(block, stamp);
		memset(half, fill, BLOCK);
		before.version = version_make(version_generation(stamp->version) - 1,
					      version_writer(stamp->version));
		if (version_generation(before.version))
			block_make(half, &before);
		memcpy(block + BLOCK / 2, half + BLOCK / 2, BLOCK / 2);
		break;
	case KIND_CORRUPT:
		block_make(block, stamp);
		block[BLOCK - 1] ^= 1;
		break;
	case KIND_ADDRESS:
		stamp->address++;
		block_make(block, stamp);
		break;
	case KIND_FOREIGN:
		stamp->version = version_make(version_generation(stamp->version),
					      stranger(expect->writers));
		block_make(block, stamp);
		break;
	default:
		block_make(block, stamp);
		break;
	}
	free(half);
}

static int find_kind(const char *name, enum kind *kind)
{
	for (*kind = KIND_OLD; *kind < KINDS; (*kind)++)
		if (!strcmp(name, kind_name(*kind)))
			return 0;
	message("%s: not a kind of fault", name);
	return -1;
}

/* Parse a block number. Return: 0, or -1 after a message. */
static int find_block(const char *name, uint64_t *address)
{
	char *end;

	errno = 0;
	*address = strtoull(name, &end, 10);
	if (errno || *end || end == name || name[0] == '-') {
		message("%s: not the number of a block", name);
		return -1;
	}
	return 0;
}

/* Find a block for the fault. Return: an exit code. */
static int choose(const struct journal *j, const char *block, enum kind kind,
		  struct expect *expect, uint64_t *version)
{
	const struct layout *layout = &j->head->layout;
	uint64_t at = layout->first, end = at + layout->blocks;

	if (strcmp(block, "any")) {
		if (find_block(block, &at))
			return EXIT_USAGE;
		end = at + 1;
	}
	for (; at < end; at++) {
		if (!journal_owns(j, at))
			continue;
		journal_expect(j, at, &no_rule, expect);
		if (!expect->pending && plantable(kind, expect, version))
			return EXIT_RIGHT;
	}
	message("no block can be made %s", kind_name(kind));
	return EXIT_USAGE;
}

int command_plant(const char *kind_text, const char *block)
{
	struct stamp stamp = { };
	struct expect expect;
	struct journal j;
	enum kind kind;
	uint64_t blocks;
	void *buffer;
	int fd, code;

	if (find_kind(kind_text, &kind) ||
	    journal_open(&j, opt.journals[0], JOURNAL_READ, JOURNAL_AUTO))
		return EXIT_USAGE;
	code = choose(&j, block, kind, &expect, &stamp.version);
	if (code)
		goto close_journal;
	code = EXIT_USAGE;
	fd = disk_open(true, &blocks);
	if (fd < 0)
		goto close_journal;
	stamp.seed = expect.seed;
	stamp.address = expect.address;
	stamp.time_ns = real_ns();
	buffer = disk_buffer(1);
	make_wrong(kind, &expect, &stamp, buffer);
	opt.on_error = ON_ERROR_STOP;
	code = EXIT_IO;
	if (disk_io(fd, OP_WRITE, buffer, expect.address, 1) && disk_io(fd, OP_FLUSH, NULL, 0, 0)) {
		printf("planted block=%" PRIu64 " kind=%s right=%" PRIu64 " generation=%" PRIu64
		       "\n", expect.address, kind_name(kind), version_generation(expect.acked),
		       version_generation(stamp.version));
		code = EXIT_RIGHT;
	}
	free(buffer);
	close(fd);
close_journal:
	journal_close(&j);
	return code;
}

/* --- show ---------------------------------------------------------------- */

static void show_version(const char *name, uint64_t version)
{
	printf(" %s=%" PRIu64, name, version_generation(version));
	if (version)
		printf("/%u", version_writer(version));
}

static void show_block(const struct journal *j, uint64_t address)
{
	struct expect expect;

	journal_expect(j, address, &no_rule, &expect);
	printf("block=%" PRIu64, address);
	show_version("acked", expect.acked);
	show_version("flushed", expect.flushed);
	show_version("doubt", expect.doubt);
	show_version("pending", expect.pending);
	show_version("seen", expect.seen);
	show_version("issued", expect.issued);
	printf("\n");
}

static void show_head(const struct journal *j)
{
	const struct journal_head *head = j->head;
	const struct layout *l = &head->layout;
	uint64_t at, written = 0, pending = 0, unflushed = 0;
	struct expect expect;

	for (at = l->first; at < l->first + l->blocks; at++) {
		journal_expect(j, at, &no_rule, &expect);
		written += expect.acked != 0;
		pending += expect.pending != 0;
		unflushed += expect.flushed != expect.acked;
	}
	printf("seed=%" PRIu64 " first=%" PRIu64 " blocks=%" PRIu64 " chunk=%u share=%u/%u fill=%d",
	       l->seed, l->first, l->blocks, l->chunk, l->share, l->shares, l->fill);
	printf(" runs=%" PRIu64 " writers=0x%" PRIx64 " written=%" PRIu64 " in_doubt=%" PRIu64
	       " unflushed=%" PRIu64, head->runs, head->writers, written, pending, unflushed);
	printf(" writes=%" PRIu64 " reads=%" PRIu64 " flushes=%" PRIu64 " errors=%" PRIu64
	       " failed=%" PRIu64 " wrong=%" PRIu64 "\n", head->counters[COUNT_WRITES],
	       head->counters[COUNT_READS], head->counters[COUNT_FLUSHES],
	       head->counters[COUNT_ERRORS], head->counters[COUNT_FAILED],
	       head->counters[COUNT_WRONG]);
}

int command_show(const char *block)
{
	uint64_t address = 0;
	struct journal j;
	int code = EXIT_RIGHT;

	if ((block && find_block(block, &address)) ||
	    journal_open(&j, opt.journals[0], JOURNAL_LOOK, JOURNAL_AUTO))
		return EXIT_USAGE;
	if (!block) {
		show_head(&j);
	} else if (journal_owns(&j, address)) {
		show_block(&j, address);
	} else {
		message("block %s is not in this journal", block);
		code = EXIT_USAGE;
	}
	journal_close(&j);
	return code;
}
