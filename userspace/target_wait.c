// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of exports, ports and sessions of the target on this machine: begin it,
 * and wait for it.
 *
 * Operation: the kernel is told to begin, and its attributes are read until all has
 * ended. Storage that hangs delays that without a limit of time. The waiting is done
 * here and not in a write to configfs, so that it holds no lock of the kernel.
 * Ownership: the tree is the state.
 * Concurrency: another command may enable the object again: that ends the wait, too.
 * Errors: negative errno after a message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "configfs.h"
#include "netlink_target.h"
#include "target_wait.h"

#define NAP_MS		20
#define NAP_MAX_MS	250
#define NOTE_MS		3000

/**
 * struct wait_for - an end that is waited for
 * @dir: of an export or port, or NULL
 * @host_dir: of a host whose secrets were changed, or NULL; if @dir is NULL as well,
 *	the other members describe sessions
 * @uuid: sessions of this host
 * @export: on the export of this name
 * @last: that have at most this number; 0: not known yet
 */
struct wait_for {
	const char *dir;
	const char *host_dir;
	const uint8_t *uuid;
	const char *export;
	uint32_t last;
};

static bool export_is_ending(const char *dir)
{
	char *state = configfs_read(dir, "state");
	bool ending = !strcmp(state, "disabling");

	free(state);
	return ending;
}

static bool port_is_ending(const char *dir)
{
	return configfs_read_u64(dir, "sessions") && !configfs_read_u64(dir, "enable");
}

/* Sessions that begin later are of a host that was allowed again. */
static int sessions_are_left(struct wait_for *wait)
{
	struct sessions sessions = { };
	uint32_t last = wait->last;
	int ret, left = 0;
	size_t i;

	ret = rnbd_open_target();
	if (!ret)
		ret = rnbd_session_list(&sessions);
	if (ret)
		err("sessions: %s", rnbd_error());
	rnbd_close();
	for (i = 0; !ret && i < sessions.nr; i++) {
		const struct session *session = &sessions.session[i];

		if (!wait->last && session->serial > last)
			last = session->serial;
		if (session->serial <= last && !strcmp(session->export, wait->export) &&
		    !memcmp(session->host_id, wait->uuid, UUID_SIZE))
			left = 1;
	}
	wait->last = last ?: 1;
	free(sessions.session);
	return ret ?: left;
}

/* Returns 1 if it has not ended yet, 0, or a negative errno after a message. */
static int is_ending(struct wait_for *wait)
{
	if (wait->host_dir)
		return configfs_read_u64(wait->host_dir, "outdated_sessions") > 0;
	if (!wait->dir)
		return sessions_are_left(wait);
	return export_is_ending(wait->dir) || port_is_ending(wait->dir);
}

static int wait_until_ended(struct wait_for *wait)
{
	uint64_t note_at = now_ms() + NOTE_MS;
	unsigned int nap = NAP_MS;
	int ret;

	while ((ret = is_ending(wait)) > 0) {
		if (now_ms() >= note_at) {
			note("waiting for the storage; it ends nevertheless if you stop waiting");
			note_at = UINT64_MAX;
		}
		take_nap(nap);
		if (nap < NAP_MAX_MS)
			nap *= 2;
	}
	return ret;
}

/**
 * target_begin_disable() - begin to disable an export or a port; it may be disabled
 * @dir: of the export or port
 *
 * Its sessions are closed and no other begins. What storage has to do is not waited for.
 */
int target_begin_disable(const char *dir)
{
	return configfs_write(dir, "enable", "begin-disable");
}

/**
 * target_disable() - disable an export or a port, and wait until its sessions have ended
 * @dir: of the export or port
 */
int target_disable(const char *dir)
{
	struct wait_for wait = { .dir = dir };
	int ret = target_begin_disable(dir);

	return ret ?: wait_until_ended(&wait);
}

/**
 * target_wait_denied() - wait until the sessions of a host on an export have ended
 * @uuid: of the host, which may not use the export any more
 * @export: name of the export
 */
int target_wait_denied(const uint8_t *uuid, const char *export)
{
	struct wait_for wait = { .uuid = uuid, .export = export };

	return wait_until_ended(&wait);
}

/**
 * target_wait_outdated() - wait until the sessions whose secret the host no longer has end
 * @host_dir: of the host
 */
int target_wait_outdated(const char *host_dir)
{
	struct wait_for wait = { .host_dir = host_dir };

	return wait_until_ended(&wait);
}
