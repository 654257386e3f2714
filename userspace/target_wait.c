// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of attachments, exports, ports and sessions of the target on this machine:
 * begin it, and wait for it.
 *
 * Operation: the kernel is told to begin, and its attributes are read until all has
 * ended. Storage that hangs delays that without a limit of time, unless the caller sets
 * one. The waiting is done here and not in a write to configfs, so that it holds no lock
 * of the kernel.
 * Ownership: the tree is the state.
 * Concurrency: another command may enable the object again: that ends the wait, too.
 * Errors: negative errno after a message.
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
 * struct wait_for - an end that is waited for
 * @dir: of an export, port or host
 * @attr: attribute with the number of what has not ended
 * @noun: what that counts
 * @is_ending: whether the end has begun and is not complete, NULL: @attr is not 0
 * @seconds: limit of the wait, 0: none
 */
struct wait_for {
	const char *dir;
	const char *attr;
	const char *noun;
	bool (*is_ending)(const char *dir, uint64_t left);
	uint32_t seconds;
};

/* After the last attachment has ended, the storage is closed. */
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

/* What was removed has ended; a number that cannot be read must not be taken for 0. */
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
			    " s (%s: %" PRIu64 "); it ends nevertheless", wait->seconds,
			    wait->noun, left);
			return -ETIMEDOUT;
		}
		if (now_ms() >= note_at) {
			note("waiting for the storage to complete requests (%s: %" PRIu64
			     "); it ends nevertheless if you stop waiting", wait->noun, left);
			note_at += NOTE_AGAIN_MS;
		}
		take_nap(nap);
		if (nap < NAP_MAX_MS)
			nap *= 2;
	}
}

/**
 * target_wait_options() - read the options of a command that waits
 * @args: with the options no-wait and timeout
 * @seconds: limit of the wait, unchanged without one
 *
 * Return: an exit code, after a message if it is not 0.
 */
int target_wait_options(const struct args *args, uint32_t *seconds)
{
	if (args_has(args, "no-wait") && args_has(args, "timeout"))
		return usage_err("--no-wait and --timeout exclude each other");
	return args_number(args, "timeout", 1, SECONDS_MAX, seconds);
}

/**
 * target_begin_disable() - begin to disable an export or a port; it may be disabled
 * @dir: of the export or port
 *
 * Its attachments or sessions are closed and no other begins. What storage has to do is not
 * waited for.
 */
int target_begin_disable(const char *dir)
{
	return configfs_write(dir, "enable", "begin-disable");
}

/**
 * target_disable_export() - disable an export, and wait until its storage is closed
 * @dir: of the export
 * @seconds: limit of the wait, 0: none; after that the export is disabled nevertheless
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
 * @dir: of the port
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
 * target_wait_closed() - wait until the storage has no request of a closed attachment
 * @dir: of the export, which denies hosts
 * @seconds: limit of the wait, 0: none; after that the attachments end nevertheless
 */
int target_wait_closed(const char *dir, uint32_t seconds)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "closing", .noun = "attachments", .seconds = seconds,
	};

	return wait_until_ended(&wait);
}

/**
 * target_wait_outdated() - wait until the sessions whose secret the host no longer has end
 * @dir: of the host
 */
int target_wait_outdated(const char *dir)
{
	const struct wait_for wait = {
		.dir = dir, .attr = "outdated_sessions", .noun = "sessions",
	};

	return wait_until_ended(&wait);
}
