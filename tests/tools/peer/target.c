// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile target: cases against the kernel's client.
 *
 * Operation: the target listens, and runs "rnbd attach" or "rnbd discover" itself. Cases are rows
 * of a table: a valid message of a target, the changes that make it invalid, and the time of
 * sending. When the target sends this message, the case "strikes". If it strikes during the attach,
 * the attach must fail with one line that contains the reason. If it strikes later, the client must
 * disconnect and report the reason, and "rnbd detach --force" must then remove the disk. Until the
 * strike, the target serves a disk in memory. In a case without a reason (why is NULL), the attach,
 * reads and the detach must succeed.
 * Ownership: a case has one connection at a time. After the strike the target refuses a client that
 * reconnects, unless the case allows it.
 * Concurrency: one thread; other programs run concurrently.
 * Errors: a case with another result is counted as failed, and the next case runs.
 */
#include <stdlib.h>
#include <string.h>

#include "target.h"

/* Close the attachment, and wait for the strike, which happens at the next ATTACH of the client. */
static void attach_again(const char *disk)
{
	uint64_t end = deadline(GONE_MS);

	target_close_attachment(&target.c);
	while (!target.struck && !target.c.gone && now_ms() < end) {
		target_serve();
		nap();
	}
	if (!target.struck)
		amiss("%s was not attached a second time", disk);
}

/* Expect that the client returns the reclaimed segment, once. */
static void must_return(void)
{
	uint64_t end = deadline(GONE_MS);

	while (!target.released && !target.c.gone && now_ms() < end) {
		target_serve();
		nap();
	}
	if (target.released != 1)
		amiss("%u segments are returned", target.released);
}

static void run_live(const struct target_case *tc, const char *disk)
{
	struct job job, reader = { };
	char command[2200];

	target.live = true;
	if (tc->when == AT_AGAIN)
		attach_again(disk);
	else if (tc->when == AT_LIVE && (tc->base || tc->also))
		target_strike(&target.c);
	if (tc->also == STARVE) {
		snprintf(command, sizeof(command),
			 "dd if=%s of=/dev/null bs=512 count=2000 iflag=direct", disk);
		job_start(&reader, command);
	}
	if (tc->why) {
		must_lose(tc, disk);
	} else {
		target_job_run(&job, "dd if=%s of=/dev/null bs=4k count=8 iflag=direct 2>&1", disk);
		if (job.status)
			amiss("reads fail: %s", job.said);
		if (tc->base == RECLAIM)
			must_return();
		must_detach(disk);
	}
	target_job_wait(&reader, "a reader");
}

static void run_case(const struct target_case *tc)
{
	uint64_t all = violations(NULL), of_kind = violations(violation_kind(tc->why));
	const char *why = tc->why;
	char command[200];
	struct job job;
	size_t len;

	target.tc = tc;
	target.struck = false;
	target.live = false;
	target.silent = false;
	target.released = 0;
	memset(target.rel, 0, sizeof(target.rel));
	target.rel[GENERATION] = 1;
	if (tc->when == AT_LIST)
		snprintf(command, sizeof(command), "rnbd discover %s:%u", address, port);
	else
		snprintf(command, sizeof(command),
			 "rnbd attach %s:%u %s --queues 1 --keepalive 20000 --pool-floor %s",
			 address, port, tc->name, tc->elastic ? "1M" : "fixed");
	len = strlen(command);
	if (tc->secret)
		snprintf(command + len, sizeof(command) - len, " --secret-file %s", secret_file);
	job_start(&job, command);
	if (target_job_wait(&job, command)) {
		note("%s", job.said);
		if (tc->why && tc->when != AT_LIVE && tc->when != AT_AGAIN) {
			if (!target.struck)
				amiss("the client did not reach this step");
			if (job.status) {
				if (tc->also == ENDLESS && strstr(job.said, TOO_LATE))
					why = TOO_LATE;
				if (strcmp(why, SOME_FAULT) && !strstr(job.said, why))
					amiss("the command reported: %s; expected: %s", job.said,
					      why);
				if (target.c.id)
					must_hang_up();
				if (tc->also == LOST && target.attached)
					amiss("the client did not detach what was granted");
			} else if (tc->late) {
				must_lose(tc, job.said);
			} else {
				amiss("the command succeeded");
				must_detach(job.said);
			}
		} else if (job.status) {
			amiss("the command failed: %s", job.said);
		} else if (tc->when != AT_LIST) {
			run_live(tc, job.said);
		}
	}
	/* why "": the client counts one violation or none, so do not check */
	if (!why || *why)
		must_count(why, all, of_kind);
	if (disks_left())
		amiss("a disk is left");
	target_hang_up();
}

int target_cases(void)
{
	uint32_t done = 0, failed = 0;
	uint64_t began;
	size_t i;

	target_listen();
	aside_begin(target.channel);
	for (i = 0; i < target_table_size; i++) {
		if (!selected(target_table[i].name) || (target_table[i].secret && !has_secret))
			continue;
		began = now_ms();
		run_case(&target_table[i]);
		done++;
		failed += !judge(target_table[i].name, true, began);
	}
	aside_end(target_serve, &done, &failed);
	printf("%u cases, %u failed\n", done, failed);
	return !done || failed;
}
