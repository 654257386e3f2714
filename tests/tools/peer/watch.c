// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events, log and counters of the kernel during a case.
 *
 * Operation: "rnbd monitor" writes events to a file, one per line. A case that expects the end of
 * its session waits for the line with this event; if the session was live, the kernel log must also
 * contain the reason. The case records which counters of the target must increase. At the end of
 * the case all its sessions must be dead, and each counter must have increased as recorded.
 * Ownership: files stay open until the program ends.
 * Concurrency: one thread. Well-behaved clients may use the target concurrently.
 * Errors: an unexpected value fails the case. Without --monitor nothing is watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

#define COUNTERS	"/sys/kernel/rnbd-target/{violations,refused,limits}/*"
#define TELL_MS		8000
#define DEAD_MS		20000

static const struct {
	const char *text, *word;
} faults[] = {
	{ SHORT, "short" }, { LONG, "long" }, { MAGIC, "magic" }, { VERSION, "version" },
	{ TYPE, "type" }, { RESERVED, "reserved" }, { COUNT, "count" }, { SEQ, "seq" },
	{ EPOCH, "epoch" }, { CREDITS, "credits" }, { GEOMETRY, "geometry" }, { NAME, "name" },
	{ OP, "op" }, { FLAGS, "flags" }, { TAG, "tag" }, { LENGTH, "length" },
	{ OFFSET, "offset" }, { EXTENT, "extent" }, { LIMITS, "limits" }, { STATUS, "status" },
	{ IDENTITY, "identity" }, { RATE, "rate" }, { KIND, "message" }, { ACCESS, "access" },
	{ HANDLE, "handle" },
};

static const struct {
	int status;
	const char *word;
} refusals[] = {
	{ RNBD_ST_NOMEM, "nomem" }, { RNBD_ST_MALFORMED, "malformed" },
	{ RNBD_ST_VERSION, "version" }, { RNBD_ST_HOST_DENIED, "host_denied" },
	{ RNBD_ST_NO_EXPORT, "no_export" }, { RNBD_ST_BUSY, "busy" },
	{ RNBD_ST_POOL_FULL, "pool_full" }, { RNBD_ST_LIMIT, "limit" },
	{ RNBD_ST_EPOCH, "epoch" }, { RNBD_ST_NO_SESSION, "no_session" },
	{ RNBD_ST_QUEUE, "queue" }, { RNBD_ST_RING, "ring" }, { RNBD_ST_DEVICE, "device" },
	{ RNBD_ST_SHUTDOWN, "shutdown" }, { RNBD_ST_AUTH, "auth" },
	{ RNBD_ST_FENCED, "fenced" }, { RNBD_ST_REVOKED, "revoked" },
	{ RNBD_ST_ATTACHED, "attached" }, { RNBD_ST_NO_ATTACH, "no_attach" },
	{ RNBD_ST_REMOVED, "removed" }, { RNBD_ST_OWNED, "owned" },
};

struct counter {
	char name[64];		/* path below the directory of the target, e.g. refused/busy */
	int fd;
	uint64_t value, due;
	uint64_t may;		/* further increments that are allowed */
};

static FILE *monitor;
static int kmsg;
static uint32_t begun, dead;	/* sessions begun, and dead, in this case */
static struct counter counters[128];
static uint32_t nr_counters;

void monitor_open(const char *file)
{
	monitor = fopen(file, "r");
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	if (!monitor || fseek(monitor, 0, SEEK_END))
		die("cannot read %s", file);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		die("cannot read the kernel log: %s", strerror(errno));
}

/* Return the session number in an event of a target, or 0. */
static uint32_t session_of(const char *line)
{
	uint32_t session;

	return sscanf(line, "%*s session %u ", &session) == 1 ? session : 0;
}

/* Return the next complete line without its line end, or NULL if there is none yet. */
static const char *next_line(void)
{
	static char line[1024];
	static size_t len;

	if (!fgets(line + len, sizeof(line) - len, monitor)) {
		clearerr(monitor);
		return NULL;
	}
	len += strlen(line + len);
	if (line[len - 1] != '\n')
		return NULL;
	line[len - 1] = '\0';
	len = 0;
	dead += session_of(line) && strstr(line, " -> dead");
	return line;
}

/* Wait for a record of the kernel log with the reason for the end of a session. */
static bool log_tells(uint32_t session, const char *reason)
{
	char record[1024], name[32];
	uint64_t end = deadline(TELL_MS);

	snprintf(name, sizeof(name), " session %u: host ", session);
	while (now_ms() < end) {
		ssize_t len = read(kmsg, record, sizeof(record) - 1);
		const char *why;

		if (len < 0) {
			nap();
			continue;
		}
		record[len] = '\0';
		record[strcspn(record, "\n")] = '\0';
		why = strstr(record, name);
		if (why && strlen(why) > strlen(reason) + 2 &&
		    !strcmp(why + strlen(why) - strlen(reason), reason))
			return true;
	}
	return amiss("the kernel log lacks: session %u: %s", session, reason);
}

/* ------------------------------------------------------------------------
 * Counters
 */

static uint64_t counter_read(const struct counter *counter)
{
	char text[32] = "";

	if (pread(counter->fd, text, sizeof(text) - 1, 0) <= 0)
		die("cannot read %s", counter->name);
	return strtoull(text, NULL, 10);
}

/* Open the counters; from now on they must increase only as expected. */
void counters_open(void)
{
	glob_t found;
	size_t i;

	if (!monitor)
		return;
	if (glob(COUNTERS, GLOB_BRACE, NULL, &found) || found.gl_pathc > ARRAY_SIZE(counters))
		die("no %s", COUNTERS);
	for (i = 0; i < found.gl_pathc; i++) {
		struct counter *counter = &counters[nr_counters++];
		char *path = found.gl_pathv[i];

		counter->fd = open(path, O_RDONLY);
		snprintf(counter->name, sizeof(counter->name), "%s",
			 strstr(path, "rnbd-target/") + strlen("rnbd-target/"));
		counter->value = counter_read(counter);
	}
	globfree(&found);
}

/*
 * Find a counter. Return NULL if no counters are watched, or if this one does not exist, which
 * fails the case.
 */
static struct counter *find_counter(const char *dir, const char *word)
{
	char name[64];
	uint32_t i;

	snprintf(name, sizeof(name), "%s/%s", dir, word);
	for (i = 0; i < nr_counters; i++)
		if (!strcmp(counters[i].name, name))
			return &counters[i];
	if (nr_counters)
		amiss("there is no counter %s", name);
	return NULL;
}

/* Expect the target to count a violation if @reason is the text of a protocol error. */
void counter_due_fault(const char *reason)
{
	struct counter *counter;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].text, reason))
			continue;
		counter = find_counter("violations", faults[i].word);
		if (counter)
			counter->due++;
	}
}

static struct counter *find_refusal(int status)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].status == status)
			return find_counter("refused", refusals[i].word);
	return NULL;
}

void counter_due_refusal(int status)
{
	struct counter *counter = find_refusal(status);

	if (counter)
		counter->due++;
}

/* Allow up to @most refusals with this status. */
void counter_may_refusal(int status, uint32_t most)
{
	struct counter *counter = find_refusal(status);

	if (counter)
		counter->may += most;
}

/* Expect that a limit is reached once. */
void counter_due_limit(const char *word)
{
	struct counter *counter = find_counter("limits", word);

	if (counter)
		counter->due++;
}

void counter_may_limit(const char *word, uint32_t most)
{
	struct counter *counter = find_counter("limits", word);

	if (counter)
		counter->may += most;
}

static void counters_check(void)
{
	uint32_t i;

	for (i = 0; i < nr_counters; i++) {
		struct counter *counter = &counters[i];
		uint64_t value = counter_read(counter);

		if (value < counter->value + counter->due ||
		    value > counter->value + counter->due + counter->may)
			amiss("%s rose by %d, not by %u", counter->name,
			      (int)(value - counter->value), (uint32_t)counter->due);
		counter->value = value;
		counter->due = 0;
		counter->may = 0;
	}
}

/* ------------------------------------------------------------------------
 * Events
 */

/*
 * Wait for a line in which @reason follows @event. If @reason is "*", accept any reason except a
 * disconnect by the client.
 */
bool monitor_tells(const char *event, const char *reason)
{
	uint64_t end = deadline(TELL_MS);
	char last[1024] = "nothing";
	bool any = !strcmp(reason, "*");

	while (monitor && now_ms() < end) {
		const char *line = next_line(), *why;

		if (!line) {
			nap();
			continue;
		}
		why = strstr(line, event);
		if (!why)
			continue;
		why += strlen(event);
		snprintf(last, sizeof(last), "%s", why);
		if (any ? !strcmp(why, "the client disconnected") : strcmp(why, reason))
			continue;
		note("%s", why);
		if (!session_of(line))
			return true;
		counter_due_fault(why);
		/* the log need not have the end of a session that was never live */
		return !strstr(line, " live -> ") || log_tells(session_of(line), last);
	}
	return !monitor || amiss("rnbd monitor reported: %s; expected: %s", last, reason);
}

bool monitor_closed(const char *reason)
{
	return monitor_tells("-> closing: ", reason);
}

/* Count a session that the target has begun. */
void watch_session(void)
{
	begun++;
}

/* Finish a case: wait until all its sessions are dead, and check the counters. */
void watch_settled(void)
{
	uint64_t end = deadline(DEAD_MS);

	while (monitor && dead < begun && now_ms() < end)
		if (!next_line())
			nap();
	if (monitor && dead != begun)
		amiss("%u sessions are dead of %u", dead, begun);
	dead = 0;
	begun = 0;
	counters_check();
}
