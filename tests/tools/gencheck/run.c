// SPDX-License-Identifier: GPL-2.0-only
/*
 * gencheck run: write, read and flush, and check the data read.
 *
 * Operation: the chunks of the area are divided among the machines that share the disk (--share),
 * and the chunks of a machine among its threads. A thread does one operation at a time, on randomly
 * selected blocks of one of its chunks. So no block has two writes in flight, and a thread that
 * reads knows all contents that its blocks can have. The journal is updated before and after each
 * write.
 *
 * Ownership: each thread has its own buffer and its own random numbers.
 * Concurrency: threads share only the head of the journal and the counters. The main thread only
 * watches the clock.
 * Errors: --on-error determines the reaction to a failed operation. After wrong data, no thread
 * begins a further operation, so that no write destroys the evidence.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gencheck.h"

#define TICK_MS		20

static struct {
	struct journal journal;
	int fd;
	uint64_t chunks;	/* number of chunks of this machine */
	atomic_ulong tickets, sequence;
	atomic_uint running;
	unsigned int mix_total;
} run;

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t random;
	uint8_t *buffer;
	uint64_t *versions;
};

static uint64_t random_below(struct worker *w, uint64_t n)
{
	w->random += 0x9e3779b97f4a7c15ull;
	return hash64(w->random) % n;
}

static enum op pick_op(struct worker *w)
{
	uint64_t r = random_below(w, run.mix_total);
	unsigned int op;

	for (op = 0; r >= opt.mix[op]; op++)
		r -= opt.mix[op];
	return op;
}

/* Select blocks in a chunk of this thread. */
static void pick_blocks(struct worker *w, uint64_t *address, unsigned int *n)
{
	const struct layout *l = &run.journal.head->layout;
	uint64_t mine = (run.chunks - w->number + opt.threads - 1) / opt.threads;
	uint64_t chunk = w->number + random_below(w, mine) * opt.threads;
	uint64_t start = (chunk * l->shares + l->share) * l->chunk;
	uint64_t length = l->blocks - start < l->chunk ? l->blocks - start : l->chunk;
	uint64_t least = opt.io_min < length ? opt.io_min : length;

	*n = least + random_below(w, length - least + 1);
	*address = l->first + start + random_below(w, length - *n + 1);
}

static void do_write(struct worker *w, bool durable)
{
	struct stamp stamp = { .seed = run.journal.head->layout.seed, .time_ns = real_ns() };
	uint64_t address;
	unsigned int n, i;

	pick_blocks(w, &address, &n);
	stamp.sequence = atomic_fetch_add(&run.sequence, 1);
	journal_issue(&run.journal, address, n, opt.writer, w->versions);
	for (i = 0; i < n; i++) {
		stamp.address = address + i;
		stamp.version = w->versions[i];
		block_make(w->buffer + i * BLOCK, &stamp);
	}
	if (!disk_io(run.fd, durable ? OP_DURABLE : OP_WRITE, w->buffer, address, n))
		return;
	journal_ack(&run.journal, address, n, durable);
	tally(COUNT_WRITES, 1);
	tally(COUNT_BLOCKS_WRITTEN, n);
}

static void do_read(struct worker *w)
{
	static const struct rule rule;
	struct expect expect;
	struct found found;
	uint64_t address;
	unsigned int n, i;
	enum kind kind;

	pick_blocks(w, &address, &n);
	if (!disk_io(run.fd, OP_READ, w->buffer, address, n))
		return;
	for (i = 0; i < n; i++) {
		block_inspect(w->buffer + i * BLOCK, &found);
		journal_expect(&run.journal, address + i, &rule, &expect);
		kind = judge(&expect, &found);
		if (kind != KIND_RIGHT) {
			report_wrong(kind, &expect, &found);
			give_up = true;
			stop_requested = true;
		} else if (expect.pending) {
			journal_seen(&run.journal, address + i, judge_version(&expect, &found));
		}
	}
	tally(COUNT_READS, 1);
	tally(COUNT_BLOCKS_READ, n);
}

static void do_flush(void)
{
	uint64_t seq = journal_flush_begin(&run.journal);

	if (!disk_io(run.fd, OP_FLUSH, NULL, 0, 0))
		return;
	journal_flushed(&run.journal, seq);
	tally(COUNT_FLUSHES, 1);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!stop_requested) {
		enum op op;

		if (opt.ops && atomic_fetch_add(&run.tickets, 1) >= opt.ops)
			break;
		op = pick_op(w);
		if (op == OP_READ)
			do_read(w);
		else if (op == OP_FLUSH)
			do_flush();
		else
			do_write(w, op == OP_DURABLE);
	}
	atomic_fetch_sub(&run.running, 1);
	return NULL;
}

/* Watch the time limit, print progress, and write the counters to the journal each second. */
static void watch(void)
{
	uint64_t start = now_ns(), second = 1;

	while (run.running) {
		uint64_t passed;

		pause_ms(TICK_MS);
		passed = now_ns() - start;
		if (opt.seconds && passed >= opt.seconds * 1000000000ull)
			stop_requested = true;
		if (passed < second * 1000000000ull)
			continue;
		second = passed / 1000000000ull + 1;
		journal_sync_head(&run.journal);
		if (opt.progress)
			report_progress();
	}
}

/* --- start --------------------------------------------------------------- */

static bool contradicts(const struct layout *have)
{
	const struct layout *want = &opt.layout;
	unsigned int given = opt.given;

	return ((given & LAYOUT_SEED) && want->seed != have->seed) ||
	       ((given & LAYOUT_FIRST) && want->first != have->first) ||
	       ((given & LAYOUT_BLOCKS) && want->blocks != have->blocks) ||
	       ((given & LAYOUT_CHUNK) && want->chunk != have->chunk) ||
	       ((given & LAYOUT_FILL) && want->fill != have->fill) ||
	       ((given & LAYOUT_SHARE) &&
		(want->share != have->share || want->shares != have->shares));
}

/* Open the disk and the journal; make the journal if needed. Return: an exit code. */
static int prepare(void)
{
	const char *path = opt.journals[0];
	struct layout *layout = &opt.layout;
	uint64_t blocks, whole;

	run.fd = disk_open(true, &blocks);
	if (run.fd < 0)
		return EXIT_USAGE;
	if (opt.renew || (access(path, F_OK) && errno == ENOENT)) {
		if (!layout->blocks && blocks > layout->first)
			layout->blocks = blocks - layout->first;
		if (!layout->blocks) {
			message("%s: too small for one block after --first", opt.disk);
			return EXIT_USAGE;
		}
		if (journal_make(path, layout, opt.journal_io))
			return EXIT_USAGE;
	}
	if (journal_open(&run.journal, path, JOURNAL_WRITE, opt.journal_io))
		return EXIT_USAGE;
	layout = &run.journal.head->layout;
	if (contradicts(layout)) {
		message("%s: was created with other options; --new creates a new journal", path);
		return EXIT_USAGE;
	}
	if (disk_extend(run.fd, layout->first + layout->blocks, &blocks))
		return EXIT_USAGE;
	whole = (layout->blocks + layout->chunk - 1) / layout->chunk;
	run.chunks = whole > layout->share ?
		     (whole - layout->share - 1) / layout->shares + 1 : 0;
	if (run.chunks < opt.threads) {
		message("%u threads cannot share %" PRIu64 " chunks", opt.threads, run.chunks);
		return EXIT_USAGE;
	}
	return EXIT_RIGHT;
}

int command_run(void)
{
	struct worker *workers, *w;
	unsigned int i;
	int code;

	code = prepare();
	if (code)
		return code;
	for (i = 0; i < OPS; i++)
		run.mix_total += opt.mix[i];
	journal_take_up(&run.journal, opt.writer);
	tally_start(&run.journal);
	workers = calloc(opt.threads, sizeof(*workers));
	if (!workers)
		fatal("out of memory");
	run.running = opt.threads;
	for (i = 0; i < opt.threads; i++) {
		const struct journal_head *head = run.journal.head;
		int err;

		w = &workers[i];
		w->number = i;
		/* different operations in each run and thread */
		w->random = hash64(head->layout.seed + hash64(head->runs * THREADS_MAX + i + 1));
		w->buffer = disk_buffer(head->layout.chunk);
		w->versions = calloc(head->layout.chunk, sizeof(*w->versions));
		if (!w->versions)
			fatal("out of memory");
		err = pthread_create(&w->thread, NULL, work, w);
		if (err)
			fatal("cannot make a thread: %s", strerror(err));
	}
	watch();
	for (i = 0; i < opt.threads; i++) {
		w = &workers[i];
		pthread_join(w->thread, NULL);
		free(w->buffer);
		free(w->versions);
	}
	free(workers);
	if (opt.progress)
		report_progress();
	code = report_totals("run");
	journal_close(&run.journal);
	close(run.fd);
	return code;
}
