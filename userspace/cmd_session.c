// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd session list: list the sessions of this machine, as a client and as a target, as
 * tables or as JSON with stable keys.
 *
 * Operation: one netlink dump from each module that is loaded. The sessions are sorted by
 * number.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: one line. A module that is not loaded is an error only if neither module is
 * loaded, or if --client or --target requests this module alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "options.h"
#include "session.h"
#include "util.h"

#define TIME_TEXT_SIZE	32

/**
 * struct both - sessions of this machine as a client and as a target
 * @client: whether the sessions of the client (module rnbd) were read
 * @target: whether the sessions of the target (module rnbd-target) were read
 * @disks: all disks; each names its session
 * @sessions: sessions of the target
 */
struct both {
	bool client;
	bool target;
	struct disks disks;
	struct sessions sessions;
};

/*
 * Format the time since which a session is live, such as "2025-01-31T12:00:00": it has no
 * space, so that a table cell is one word.
 */
static void format_since(const struct session *session, char text[TIME_TEXT_SIZE])
{
	time_t since = time(NULL) - (time_t)session->seconds;
	struct tm tm;

	if (!session->was_live || !localtime_r(&since, &tm) ||
	    !strftime(text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
		*text = '\0';
}

static void size_cell(struct table *table, uint64_t bytes)
{
	char text[SIZE_TEXT_SIZE];

	format_size(bytes, text);
	table_cell(table, "%s", text);
}

static void number_cell(struct table *table, uint64_t number)
{
	table_cell(table, "%llu", (unsigned long long)number);
}

static void print_target_table(const struct sessions *sessions)
{
	static const char * const heads[] = {
		"SESSION", "HOST", "ADDRESS", "EXPORT", "STATE", "SINCE", "ATTACHED", "QUEUES",
		"DEPTH", "POOL", "FLOOR", "MAX", "REQUESTED", "SHARE", "GRANTS", "RECLAIMS",
		"REQUESTS", "READ", "WRITTEN",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	char nread[SIZE_TEXT_SIZE], written[SIZE_TEXT_SIZE];
	char host[UUID_TEXT_SIZE], since[TIME_TEXT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < sessions->nr; i++) {
		const struct session *session = &sessions->session[i];

		format_uuid(session->host_id, host);
		format_since(session, since);
		format_size(session->read_bytes, nread);
		format_size(session->write_bytes, written);
		table_cell(&table, "%u", session->serial);
		table_cell(&table, "%s", host);
		table_cell(&table, "%s", session->address);
		table_cell(&table, "%s", session->export);
		table_cell(&table, "%s", session->state);
		table_cell(&table, "%s", since);
		table_cell(&table, "%u", session->attachments);
		table_cell(&table, "%u", session->queues);
		table_cell(&table, "%u", session->depth);
		size_cell(&table, session->pool_size);
		size_cell(&table, session->pool_floor);
		size_cell(&table, session->pool_max);
		size_cell(&table, session->pool_requested);
		size_cell(&table, session->pool_share);
		number_cell(&table, session->pool_grants);
		number_cell(&table, session->pool_reclaims);
		number_cell(&table, session->requests);
		table_cell(&table, "%s", nread);
		table_cell(&table, "%s", written);
	}
	table_print(&table);
}

static void print_client_table(const struct client_sessions *sessions)
{
	static const char * const heads[] = {
		"SESSION", "HOST", "TARGET", "STATE", "QUEUES", "DEPTH", "POOL", "FLOOR", "MAX",
		"USED", "REQUESTED", "DISK-SHARE", "GRANTS", "RECLAIMS", "DISKS",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	static const uint8_t no_host[UUID_SIZE];
	char target[ADDR_SIZE + 16], host[UUID_TEXT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < sessions->nr; i++) {
		const struct client_session *session = &sessions->session[i];
		const struct disk *disk = session->disk;
		char *names = strlist_join(&session->disks, ",");

		if (format_addr(disk->address, disk->port, target, sizeof(target)))
			snprintf(target, sizeof(target), "?");
		/* The kernel reports the host UUID only to callers with CAP_NET_ADMIN. */
		*host = '\0';
		if (memcmp(disk->host_id, no_host, UUID_SIZE))
			format_uuid(disk->host_id, host);
		table_cell(&table, "%u", disk->session);
		table_cell(&table, "%s", host);
		table_cell(&table, "%s", target);
		table_cell(&table, "%s", disk->session_state);
		number_cell(&table, option_number(&disk->granted, "queues"));
		number_cell(&table, option_number(&disk->granted, "depth"));
		size_cell(&table, disk->pool_size);
		size_cell(&table, option_number(&disk->granted, "pool_floor_bytes"));
		size_cell(&table, option_number(&disk->granted, "pool_bytes"));
		size_cell(&table, disk->pool_used);
		size_cell(&table, disk->pool_requested);
		size_cell(&table, disk->pool_disk_share);
		number_cell(&table, disk->pool_grants);
		number_cell(&table, disk->pool_reclaims);
		table_cell(&table, "%s", names);
		free(names);
	}
	table_print(&table);
}

static void print_tables(const struct both *both, const struct client_sessions *clients)
{
	if (both->client)
		print_client_table(clients);
	if (both->client && both->target)
		putchar('\n');
	if (both->target)
		print_target_table(&both->sessions);
}

static void print_json(const struct both *both, const struct client_sessions *clients)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < clients->nr; i++)
		json_object_array_add(array, client_session_json(&clients->session[i]));
	for (i = 0; i < both->sessions.nr; i++)
		json_object_array_add(array, session_json(&both->sessions.session[i]));
	json_print(array);
}

/*
 * Read the sessions of the client. Returns 0, -ENOENT if the module rnbd is not loaded, or
 * another negative errno.
 */
static int take_client(struct both *both)
{
	int ret = rnbd_open();

	if (!ret && disks_list(&both->disks))
		ret = -EIO;
	else if (ret && ret != -ENOENT)
		err("%s", rnbd_error());
	both->client = !ret;
	rnbd_close();
	return ret;
}

static int take_target(struct both *both)
{
	int ret = rnbd_open_target();

	if (!ret)
		ret = rnbd_session_list(&both->sessions);
	if (ret && ret != -ENOENT)
		err("%s", rnbd_error());
	both->target = !ret;
	rnbd_close();
	return ret;
}

int cmd_session_list(const struct args *args)
{
	const bool only_client = args_has(args, "client"), only_target = args_has(args, "target");
	struct client_sessions clients;
	int client = -ENOENT, target = -ENOENT;
	struct both both = { };
	bool failed;

	if (only_client && only_target)
		return usage_err("--client and --target exclude each other");
	if (!only_target)
		client = take_client(&both);
	if (!only_client)
		target = take_target(&both);
	if (client == -ENOENT && target == -ENOENT)
		err("no module is loaded; run: modprobe %s",
		    only_client ? "rnbd" : only_target ? "rnbd-target" :
		    "rnbd (client), or modprobe rnbd-target");
	failed = (client && client != -ENOENT) || (target && target != -ENOENT) ||
		 (!both.client && !both.target);
	client_sessions(&both.disks, &clients);
	if (!failed && args_has(args, "json"))
		print_json(&both, &clients);
	else if (!failed)
		print_tables(&both, &clients);
	client_sessions_free(&clients);
	free(both.disks.disk);
	free(both.sessions.session);
	return failed ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
