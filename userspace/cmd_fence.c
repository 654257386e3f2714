// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd fence, unfence and fenced: hosts that others must be able to go on without.
 *
 * Operation: the kernel marks the host at once, and then that is kept in a file: a fence
 * that is not kept has not succeeded. It is lifted in the file first. From
 * then on the sessions of the host end, which takes as long as the storage takes;
 * active_sessions says how many are left, and fence_done which fence was complete.
 * Ownership: see fence_store.c for what is kept.
 * Concurrency: to fence a host that is fenced begins another generation, so anybody may
 * ask again, and whoever waits then waits for that.
 * Errors: whoever gets no exit code 0 from rnbd fence must not go on; the host may
 * be fenced all the same. One that was complete has succeeded, also if it was lifted since:
 * a host that is started anew may do that at once.
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

/* Returns an exit code; the directory is set if that is RNBD_EXIT_OK. */
static int fence_host(const struct args *args, char **dir)
{
	uint8_t uuid[UUID_SIZE];

	if (target_host_operand(args, uuid))
		return RNBD_EXIT_USAGE;
	*dir = target_find_host(args->operand[0]);
	return *dir ? RNBD_EXIT_OK : RNBD_EXIT_FAIL;
}

/* A number that must not be taken for 0 if it cannot be read. */
static int read_number(const char *dir, const char *attr, uint32_t *number)
{
	char *text = configfs_get(dir, attr);
	int ret = text ? parse_u32(text, 0, UINT32_MAX, number) : -EIO;

	if (text && ret)
		err("%s is not understood: \"%s\"", attr, text);
	free(text);
	return ret;
}

static int read_state(const char *dir, struct fence *fence)
{
	char *text = configfs_get(dir, "fence_state");
	int ret = text ? fence_parse(text, fence) : -EIO;

	if (ret == -EINVAL)
		err("fence_state is not understood: \"%s\"", text);
	free(text);
	return ret;
}

/* What could not be kept ends with the target, and is no success. */
static int keep(const char *dir, const struct fence *fence, int lock)
{
	int ret = lock < 0 ? lock : fence_store_keep(dir, fence);

	if (ret)
		err("not kept in " FENCE_STORE_DIR
		    ", so the next start of the target forgets it: %s",
		    strerror(-ret));
	return ret;
}

/* Marks the host in the kernel and keeps that; the I/O of the host is not waited for. */
static int fence_begin(const char *dir, struct fence *fence)
{
	/* Before anything that may wait for a disk of this machine. */
	int ret = configfs_write(dir, "fenced", "begin");
	int lock;

	if (ret)
		return ret;
	lock = fence_store_lock();
	ret = read_state(dir, fence);
	/* Also if it was unfenced meanwhile: whoever did that may have kept an older generation. */
	if (!ret)
		ret = keep(dir, fence, lock);
	if (lock >= 0)
		close(lock);
	return ret;
}

/*
 * The state, and then which fence was complete: if it is that of the state, then it was so
 * while it was fenced; if it is an older one, then what lifted the fence came before.
 */
static int read_both(const char *dir, struct fence *fence, uint32_t *done)
{
	return read_state(dir, fence) ?: read_number(dir, "fence_done", done);
}

/* Until nothing of it can reach the storage; 0 seconds: without a limit */
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
		/* A host that was made anew meanwhile has forgotten the fence. */
		if (!now.fenced || now.generation < begun->generation) {
			err("it was unfenced meanwhile");
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

/* One that an exit code 0 of rnbd fence stands for is "fenced". */
static const char *fence_word(const struct fence *fence, uint32_t done)
{
	if (!fence->fenced)
		return "no";
	return done < fence->generation ? "draining" : "fenced";
}

static int unread;	/* hosts that could not be listed */

static void list_fenced(const char *name, struct table *table, struct json_object *array)
{
	struct json_object *obj;
	char *dir = configfs_path("hosts/%s", name);
	uint32_t until, done = 0;
	struct fence fence;
	const char *word;
	char *since;

	/* A host that is not shown must not be taken for one that is not fenced. */
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

/* As of all of them. */
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
