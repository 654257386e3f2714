// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd fence, unfence and fenced: exclude hosts from the storage of the target.
 *
 * Operation: "fence" first fences the host in the kernel, then records the fence in a
 * file, and then waits until the fence is complete. If the fence cannot be recorded, the
 * command fails, because the fence would be lost when the target restarts. "unfence" first
 * records in the file that the host is not fenced, and then unfences it in the kernel.
 * The kernel closes the sessions of a fenced host. A session counts as active until the
 * storage has completed its requests. The fence is complete when no session from before
 * the fence is active. Attributes of the host: active_sessions is the number of active
 * sessions, and fence_done is the generation of the latest complete fence.
 * Ownership: fence_store.c manages the files of recorded fences.
 * Concurrency: fencing a host that is fenced already begins a higher fence generation. So
 * several commands may fence the same host at the same time, and each waits until its own
 * generation, or a higher one, is complete.
 * Errors: a cluster manager must not take over from the host unless the exit code of
 * "fence" is 0; with another exit code, the host is possibly fenced nevertheless. The
 * command succeeds if the fence was complete, even if the host is no longer fenced when
 * the command reads the state: with unfence_on_restart, the kernel unfences a host that
 * logs in after a restart.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "disks.h"
#include "fence_store.h"
#include "output.h"
#include "parse.h"
#include "target.h"

#define NAP_MS		20
#define TELL_MS		10000

/* Find the directory of the host. Returns an exit code; @dir is set on RNBD_EXIT_OK. */
static int fence_host(const struct args *args, char **dir)
{
	uint8_t uuid[UUID_SIZE];

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	*dir = target_find_host(args->operand[0]);
	return *dir ? RNBD_EXIT_OK : RNBD_EXIT_FAIL;
}

/* Read a number. If this fails, return an error, whereas configfs_read_u64() returns 0. */
static int read_number(const char *dir, const char *attr, uint32_t *number)
{
	char *text = configfs_get(dir, attr);
	int ret = text ? parse_u32(text, 0, UINT32_MAX, number) : -EIO;

	if (text && ret)
		err("cannot parse %s: \"%s\"", attr, text);
	free(text);
	return ret;
}

static int read_state(const char *dir, struct fence *fence)
{
	char *text = configfs_get(dir, "fence_state");
	int ret = text ? fence_parse(text, fence) : -EIO;

	if (ret == -EINVAL)
		err("cannot parse fence_state: \"%s\"", text);
	free(text);
	return ret;
}

/* Record the fence state; @lock is the result of fence_store_lock(), possibly an error. */
static int keep(const char *dir, const struct fence *fence, int lock)
{
	int ret = lock < 0 ? lock : fence_store_keep(dir, fence);

	if (ret)
		err("cannot record the fence in " FENCE_STORE_DIR
		    ", so it is lost when the target restarts: %s",
		    strerror(-ret));
	return ret;
}

/* Fence the host in the kernel and record the fence; does not wait for the I/O of the host. */
static int fence_begin(const char *dir, struct fence *fence)
{
	/* Fence before the lock and the file are used: access to them can block on a disk. */
	int ret = configfs_write(dir, "fenced", "begin");
	int lock;

	if (ret)
		return ret;
	lock = fence_store_lock();
	ret = read_state(dir, fence);
	/*
	 * Record the state even if a concurrent "rnbd unfence" has unfenced the host: the file
	 * can still have a generation from before this fence.
	 */
	if (!ret)
		ret = keep(dir, fence, lock);
	if (lock >= 0)
		close(lock);
	return ret;
}

/*
 * Read fence_state before fence_done: if fence_state says that the host is not fenced, and
 * fence_done, although read later, is below the generation of a fence, the host was
 * unfenced before this fence was complete.
 */
static int read_both(const char *dir, struct fence *fence, uint32_t *done)
{
	return read_state(dir, fence) ?: read_number(dir, "fence_done", done);
}

/*
 * Wait until no request of the host from before the fence @begun can reach the storage, at
 * most @seconds (0: without a limit).
 */
static int fence_wait(const char *dir, const struct fence *begun, uint32_t seconds)
{
	uint64_t begin = now_ms(), tell = begin + TELL_MS;
	uint32_t active = 0, done = 0;
	struct fence now = { };
	int ret;

	for (;;) {
		ret = read_both(dir, &now, &done);
		if (ret)
			return ret;
		if (done >= begun->generation)
			return 0;
		/* A lower generation: the host was removed, and created again without the fence. */
		if (!now.fenced || now.generation < begun->generation) {
			err("the host was unfenced concurrently");
			return -ECANCELED;
		}
		if (seconds && now_ms() - begin >= seconds * 1000ull) {
			err("fenced, but its I/O has not ended within %" PRIu32
			    " s; rnbd fenced shows when it has", seconds);
			return -ETIMEDOUT;
		}
		if (now_ms() >= tell) {
			ret = read_number(dir, "active_sessions", &active);
			if (ret)
				return ret;
			note("waiting for the I/O of %" PRIu32 " sessions", active);
			tell += TELL_MS;
		}
		take_nap(NAP_MS);
	}
}

int cmd_fence(const struct args *args)
{
	uint32_t seconds = 0;
	struct fence fence;
	char *dir = NULL;
	int ret;

	ret = args_number(args, "timeout", 1, SECONDS_MAX, &seconds);
	if (!ret)
		ret = fence_host(args, &dir);
	if (ret)
		return ret;
	ret = fence_begin(dir, &fence);
	if (!ret)
		ret = fence_wait(dir, &fence, seconds);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_unfence(const struct args *args)
{
	struct fence fence = { }, was;
	char *dir = NULL;
	int ret, lock;

	ret = fence_host(args, &dir);
	if (ret)
		return ret;
	lock = fence_store_lock();
	ret = read_state(dir, &fence);
	was = fence;
	fence.fenced = false;
	if (!ret)
		ret = keep(dir, &fence, lock);
	if (!ret) {
		ret = configfs_write(dir, "fenced", "0");
		if (ret)
			keep(dir, &was, lock);
	}
	if (lock >= 0)
		close(lock);
	free(dir);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/* Return the fence state as a word: "no", "draining" until the fence is complete, or "fenced". */
static const char *fence_word(const struct fence *fence, uint32_t done)
{
	if (!fence->fenced)
		return "no";
	return done < fence->generation ? "draining" : "fenced";
}

static int unread;	/* number of hosts whose state could not be read */

static void list_fenced(const char *name, struct table *table, struct json_object *array)
{
	struct json_object *obj;
	char *dir = configfs_path("hosts/%s", name);
	uint32_t until, done = 0;
	struct fence fence;
	const char *word;
	char *since;

	/* Omit this host, and let the command fail: a reader could take the host for unfenced. */
	if (read_both(dir, &fence, &done) ||
	    read_number(dir, "unfence_on_restart", &until)) {
		unread++;
		free(dir);
		return;
	}
	free(dir);
	word = fence_word(&fence, done);
	since = xasprintf("%" PRIu32, fence.generation);
	obj = json_object_new_object();
	table_cell(table, "%s", name);
	table_cell(table, "%s", word);
	table_cell(table, "%s", until ? "restart" : "unfence");
	table_cell(table, "%s", since);
	json_add_string(obj, "host", name);
	json_add_string(obj, "fenced", word);
	json_add_bool(obj, "unfence_on_restart", until);
	json_add_u64(obj, "fence_generation", fence.generation);
	json_add_u64(obj, "fence_done", done);
	json_object_array_add(array, obj);
	free(since);
}

static int show_fenced(const char *dir)
{
	struct fence fence;
	uint32_t done;

	if (read_both(dir, &fence, &done))
		return RNBD_EXIT_FAIL;
	printf("%s\n", fence_word(&fence, done));
	return RNBD_EXIT_OK;
}

/* Print one host in the same JSON form as the list of all hosts. */
static int show_json(const char *dir, const char * const *heads, uint32_t columns)
{
	struct table table = { .columns = columns };
	struct json_object *array = json_object_new_array();
	uint32_t i;

	for (i = 0; i < columns; i++)
		table_cell(&table, "%s", heads[i]);
	list_fenced(strrchr(dir, '/') + 1, &table, array);
	list_print(&table, array, true);
	return unread ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

int cmd_fenced(const struct args *args)
{
	static const char * const heads[] = { "HOST", "FENCED", "UNTIL", "GENERATION" };
	char *dir = NULL;
	int ret;

	if (!args->nr_operands) {
		ret = target_list("hosts", heads, ARRAY_SIZE(heads), list_fenced,
				  args_has(args, "json"));
		return ret ?: unread ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
	}
	ret = fence_host(args, &dir);
	if (ret)
		return ret;
	if (args_has(args, "json"))
		ret = show_json(dir, heads, ARRAY_SIZE(heads));
	else
		ret = show_fenced(dir);
	free(dir);
	return ret;
}
