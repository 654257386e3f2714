// SPDX-License-Identifier: GPL-2.0-only
/* Checks: the client must end the connection, count the violation, and allow a detach. */
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

/* Serve connections until the job has ended; kill it after a time limit. */
bool target_job_wait(struct job *job, const char *what)
{
	uint64_t end = deadline(JOB_MS);

	while (!job_done(job) && now_ms() < end) {
		target_serve();
		nap();
	}
	if (!job->pid)
		return true;
	kill(job->pid, SIGKILL);
	return amiss("%s does not end", what);
}

bool target_job_run(struct job *job, const char *fmt, const char *arg)
{
	char command[2200];

	snprintf(command, sizeof(command), fmt, arg);
	job_start(job, command);
	return target_job_wait(job, command);
}

bool disks_left(void)
{
	glob_t g = { };
	bool some = !glob("/sys/block/rnbd*", 0, NULL, &g);

	globfree(&g);
	return some;
}

/* Expect that the client disconnects. */
void must_hang_up(void)
{
	uint64_t end = deadline(2 * GONE_MS);

	while (!target.c.gone && now_ms() < end) {
		target_serve();
		nap();
	}
	if (!target.c.gone)
		amiss("the client did not disconnect");
}

#define VIOLATIONS	"/sys/kernel/rnbd/violations"

/* Return the counter that @why must increase: "" for any one counter, NULL for none. */
const char *violation_kind(const char *why)
{
	static const char * const kinds[][2] = {
		{ TYPE, "type" }, { SHORT, "short" }, { LONG, "long" }, { RESERVED, "reserved" },
		{ COUNT, "count" }, { SEQ, "seq" }, { EPOCH, "epoch" }, { CREDITS, "credits" },
		{ RATE, "rate" }, { GEOMETRY, "geometry" }, { NAME, "name" }, { FLAGS, "flags" },
		{ TAG, "tag" }, { LENGTH, "length" }, { LIMITS, "limits" }, { STATUS, "status" },
		{ KIND, "message" }, { HANDLE, "handle" }, { IDENTITY, "identity" },
		{ NO_SENSE, "" }, { ODD_REFUSAL, "" }, { SOME_FAULT, "" },
	};
	size_t i;

	for (i = 0; why && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(why, kinds[i][0]))
			return kinds[i][1];
	return NULL;
}

uint64_t violations(const char *kind)
{
	return counted(VIOLATIONS, kind && *kind ? kind : NULL);
}

/*
 * Expect that the client has counted one violation, of the kind of @why only, or none if @why is
 * not the text of a violation. @all and @of_kind: counts before the case.
 */
void must_count(const char *why, uint64_t all, uint64_t of_kind)
{
	const char *kind = violation_kind(why);
	uint64_t more = violations(NULL) - all;

	if (more != !!kind)
		amiss("%llu violations counted", (unsigned long long)more);
	else if (kind && violations(kind) != of_kind + 1)
		amiss("the violation was not counted as %s", kind);
}

void must_detach(const char *disk)
{
	struct job job;

	target_job_run(&job, "rnbd detach --force %s", disk);
	if (job.status)
		amiss("detach failed: %s", job.said);
}

/*
 * Expect that an existing disk loses its connection for the reason of the case. In a case AT_AGAIN,
 * the disk reports the reason WITHDRAWN, because the target has closed the attachment before the
 * strike.
 */
void must_lose(const struct target_case *tc, const char *disk)
{
	const char *why = tc->when == AT_AGAIN ? WITHDRAWN : *tc->why ? tc->why : "*";
	char counters[2200];

	must_hang_up();
	monitor_tells("-> reconnecting: ", why);
	snprintf(counters, sizeof(counters), "/sys/block/%s/rnbd", disk + strlen("/dev/"));
	if (counted(counters, "violations") != !!violation_kind(tc->why))
		amiss("the violations counter of the disk is wrong");
	must_detach(disk);
}
