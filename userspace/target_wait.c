// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disable exports and ports of the target on this machine, and wait until attachments and
 * sessions have ended.
 *
 * Operation: a write to configfs begins the teardown of an object, and the tool polls the
 * attributes of the object until the teardown is complete. The teardown waits for the storage
 * without a limit; the caller may limit the wait of the tool. The tool waits in this file and
 * not inside a write to configfs, because the kernel holds a lock during such a write.
 * Ownership: configfs holds the state.
 * Concurrency: another command may enable the object again, which also ends the wait.
 * Errors: a negative errno after an error message.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "configfs.h"
#include "target_wait.h"

#define NAP_MS		20
#define NAP_MAX_MS	250
#define NOTE_MS		3000
#define NOTE_AGAIN_MS	10000

/**
 * struct wait_for - teardown to wait for
 * @dir: directory of an export, port or host
 * @attr: attribute with the number of attachments or sessions that have not ended
 * @noun: name of these attachments or sessions in messages
 * @is_ending: function that returns true while the teardown is in progress; NULL: it is in
 *	progress while @attr is not 0
 * @seconds: limit of the wait in seconds, 0 for none
 */
struct wait_for {
	const char *dir;
	const char *attr;
	const char *noun;
	bool (*is_ending)(const char *dir, uint64_t left);
	uint32_t seconds;
};

/* Check the state and not @left: the storage is closed only after the last attachment has ended. */
static bool export_is_ending(const char *dir, uint64_t left)
{
	char *state = configfs_read(dir, "state");
	bool ending = !strcmp(state, "disabling");

	(void)left;
	free(state);
	return ending;
}

static bool port_is_ending(const char *dir, uint64_t left)
{
	return left && !configfs_read_u64(dir, "enable");
}

/* Read the attribute wait->attr: 0 if the object was removed; other failures are errors. */
static int read_left(const struct wait_for *wait, uint64_t *left)
{
	char *text = configfs_try(wait->dir, wait->attr);

	*left = text ? strtoull(text, NULL, 10) : 0;
	free(text);
	if (text || errno == ENOENT)
		return 0;
	err("%s: cannot read: %s", wait->attr, strerror(errno));
	return -EIO;
}

static int wait_until_ended(const struct wait_for *wait)
{
	uint64_t begin = now_ms(), note_at = begin + NOTE_MS, left;
	unsigned int nap = NAP_MS;
	int ret;

	for (;;) {
		ret = read_left(wait, &left);
		if (ret || !(wait->is_ending ? wait->is_ending(wait->dir, left) : left))
			return ret;
		if (wait->seconds && now_ms() - begin >= wait->seconds * 1000ull) {
			err("the storage has not completed all requests within %" PRIu32
			    " s (%s: %" PRIu64 "); closing continues", wait->seconds,
			    wait->noun, left);
			return -ETIMEDOUT;
		}
		if (now_ms() >= note_at) {
			note("waiting for the storage to complete requests (%s: %" PRIu64
			     "); closing continues if this command is interrupted",
			     wait->noun, left);
			note_at += NOTE_AGAIN_MS;
		}
		take_nap(nap);
		if (nap < NAP_MAX_MS)
			nap *= 2;
	}
}

/**
 * target_wait_options() - parse the options of a command that waits
 * @args: command line with the options no-wait and timeout
 * @seconds: limit of the wait in seconds; unchanged without the option
 *
 * Return: an exit code, after an error message if it is not 0.
 */
int target_wait_options(const struct args *args, uint32_t *seconds)
{
	if (args_has(args, "no-wait") && args_has(args, "timeout"))
		return usage_err("--no-wait and --timeout exclude each other");
	return args_number(args, "timeout", 1, SECONDS_MAX, seconds);
}

/**
 * target_begin_disable() - begin to disable an export or a port; no error if it is disabled
 * @dir: directory of the export or port
 *
 * The kernel closes its attachments or sessions and allows no new ones. The function does not
 * wait for the storage.
 */
int target_begin_disable(const char *dir)
{
	return configfs_write(dir, "enable", "begin-disable");
}

/**
 * target_disable_export() - disable an export, and wait until its storage is closed
 * @dir: directory of the export
 * @seconds: limit of the wait in seconds, 0 for none; after the limit, the kernel continues to
 *	disable the export
 */
int target_disable_export(const char *dir, uint32_t seconds)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "closing", .noun = "attachments",
		.is_ending = export_is_ending, .seconds = seconds,
	};
	int ret = target_begin_disable(dir);

	return ret ?: wait_until_ended(&wait);
}

/**
 * target_disable_port() - disable a port, and wait until its sessions have ended
 * @dir: directory of the port
 */
int target_disable_port(const char *dir)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "sessions", .noun = "sessions", .is_ending = port_is_ending,
	};
	int ret = target_begin_disable(dir);

	return ret ?: wait_until_ended(&wait);
}

/**
 * target_wait_closed() - wait until the storage has no requests of closed attachments
 * @dir: directory of the export; the kernel is already closing the attachments
 * @seconds: limit of the wait in seconds, 0 for none; after the limit, the kernel continues to
 *	close them
 */
int target_wait_closed(const char *dir, uint32_t seconds)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "closing", .noun = "attachments", .seconds = seconds,
	};

	return wait_until_ended(&wait);
}

/**
 * target_wait_stale_secret() - wait for the sessions that a change of a host's secret closes
 * @dir: directory of the host
 */
int target_wait_stale_secret(const char *dir)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "stale_secret_sessions", .noun = "sessions",
	};

	return wait_until_ended(&wait);
}
