// SPDX-License-Identifier: GPL-2.0-only
/*
 * gencheck verify: read all blocks and compare them with the journals.
 *
 * Operation: all blocks that a journal covers are read in order, up to AT_ONCE per read; if such a
 * read fails, its blocks are read one by one. If several journals cover a block, the journal with
 * the highest version of the block decides. So a machine that takes over blocks from another one
 * must continue with a copy of the journal of the other machine, so that its versions are higher.
 *
 * Ownership: journals and the buffer end with the command.
 * Concurrency: one thread.
 * Errors: with --on-error=continue, a block that cannot be read is counted and skipped. Otherwise
 * it ends the command, with --on-error=retry only after the time limit of the retries. Wrong blocks
 * are always counted, but printed only up to --limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gencheck.h"

#define AT_ONCE		64

static struct journal journals[JOURNALS_MAX];

/* Return the journal that decides about a block, or NULL if no journal covers the block. */
static struct journal *authority(uint64_t address)
{
	static const struct rule rule;
	struct journal *best = NULL;
	struct expect expect;
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < opt.nr_journals; i++) {
		if (!journal_owns(&journals[i], address))
			continue;
		journal_expect(&journals[i], address, &rule, &expect);
		if (!best || judge_highest(&expect) >= most) {
			best = &journals[i];
			most = judge_highest(&expect);
		}
	}
	return best;
}

static void check(struct journal *j, uint64_t address, const void *block)
{
	struct expect expect;
	struct found found;
	enum kind kind;

	block_inspect(block, &found);
	journal_expect(j, address, &opt.rule, &expect);
	kind = judge(&expect, &found);
	tally(COUNT_BLOCKS_READ, 1);
	if (kind != KIND_RIGHT)
		report_wrong(kind, &expect, &found);
	else if (opt.adopt)
		journal_adopt(j, address, judge_version(&expect, &found));
}

/* Read blocks and check each against its journal in @authorities. */
static void check_blocks(int fd, void *buffer, uint64_t address, unsigned int n,
			 struct journal *const *authorities)
{
	unsigned int i;

	if (n > 1 && !disk_try_read(fd, buffer, address, n)) {
		/* read the blocks one by one, and count those that cannot be read */
		for (i = 0; i < n && !stop_requested; i++)
			check_blocks(fd, buffer, address + i, 1, authorities + i);
		return;
	}
	if (n == 1 && !disk_io(fd, OP_READ, buffer, address, 1))
		return;
	tally(COUNT_READS, 1);
	for (i = 0; i < n; i++)
		check(authorities[i], address + i, (char *)buffer + (size_t)i * BLOCK);
}

/* Compute the range of blocks that the journals cover. Return: true if the disk is long enough. */
static bool area(uint64_t blocks, uint64_t *first, uint64_t *end)
{
	unsigned int i;

	*first = UINT64_MAX;
	*end = 0;
	for (i = 0; i < opt.nr_journals; i++) {
		const struct layout *l = &journals[i].head->layout;

		if (l->first < *first)
			*first = l->first;
		if (l->first + l->blocks > *end)
			*end = l->first + l->blocks;
	}
	if (*end <= blocks)
		return true;
	message("%s: only %llu blocks long, %llu were written to", opt.disk,
		(unsigned long long)blocks, (unsigned long long)*end);
	return false;
}

int command_verify(void)
{
	struct journal *authorities[AT_ONCE];
	uint64_t blocks, first, end, at;
	uint64_t second = 1, start;
	unsigned int i;
	void *buffer;
	int fd, code;

	for (i = 0; i < opt.nr_journals; i++)
		if (journal_open(&journals[i], opt.journals[i],
				 opt.adopt ? JOURNAL_WRITE : JOURNAL_READ, opt.journal_io))
			return EXIT_USAGE;
	fd = disk_open(false, &blocks);
	if (fd < 0)
		return EXIT_USAGE;
	if (!area(blocks, &first, &end))
		return EXIT_USAGE;
	buffer = disk_buffer(AT_ONCE);
	tally_start(NULL);
	start = now_ns();
	for (at = first; at < end && !stop_requested; ) {
		unsigned int n = 0;

		while (n < AT_ONCE && at + n < end) {
			authorities[n] = authority(at + n);
			if (!authorities[n])
				break;
			n++;
		}
		if (n)
			check_blocks(fd, buffer, at, n, authorities);
		else
			n = 1;
		at += n;
		if (opt.progress && now_ns() - start >= second * 1000000000ull) {
			second = (now_ns() - start) / 1000000000ull + 1;
			report_progress();
		}
	}
	if (at < end && !give_up)
		message("interrupted: not all blocks were read");
	code = report_totals("verify");
	if (at < end && code == EXIT_RIGHT)
		code = EXIT_INTERNAL;
	for (i = 0; i < opt.nr_journals; i++)
		journal_close(&journals[i]);
	free(buffer);
	close(fd);
	return code;
}
