// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd session list: the clients that are attached to this target, as a table or as
 * JSON with stable keys.
 *
 * Operation: one dump, in the order in which the clients came.
 * Ownership: nothing is kept.
 * Concurrency: one thread.
 * Errors: one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "args.h"
#include "cmd.h"
#include "session.h"
#include "util.h"

#define TIME_TEXT_SIZE	32

/* "2025-01-31T12:00:00", without a space: it is a cell of a table */
static void format_since(const struct session *session, char text[TIME_TEXT_SIZE])
{
	time_t since = time(NULL) - (time_t)session->seconds;
	struct tm tm;

	if (!session->was_live || !localtime_r(&since, &tm) ||
	    !strftime(text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm))
		*text = '\0';
}

static void print_table(const struct sessions *sessions)
{
	static const char * const heads[] = {
		"SESSION", "HOST", "ADDRESS", "EXPORT", "STATE", "SINCE", "QUEUES", "DEPTH",
		"POOL", "REQUESTS", "READ", "WRITTEN",
	};
	struct table table = { .columns = ARRAY_SIZE(heads) };
	char pool[SIZE_TEXT_SIZE], nread[SIZE_TEXT_SIZE], written[SIZE_TEXT_SIZE];
	char host[UUID_TEXT_SIZE], since[TIME_TEXT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < sessions->nr; i++) {
		const struct session *session = &sessions->session[i];

		format_uuid(session->host_id, host);
		format_since(session, since);
		format_size(session->pool_bytes, pool);
		format_size(session->read_bytes, nread);
		format_size(session->write_bytes, written);
		table_cell(&table, "%u", session->serial);
		table_cell(&table, "%s", host);
		table_cell(&table, "%s", session->address);
		table_cell(&table, "%s", session->export);
		table_cell(&table, "%s", session->state);
		table_cell(&table, "%s", since);
		table_cell(&table, "%u", session->queues);
		table_cell(&table, "%u", session->depth);
		table_cell(&table, "%s", pool);
		table_cell(&table, "%llu", (unsigned long long)session->requests);
		table_cell(&table, "%s", nread);
		table_cell(&table, "%s", written);
	}
	table_print(&table);
}

static void print_json(const struct sessions *sessions)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < sessions->nr; i++)
		json_object_array_add(array, session_json(&sessions->session[i]));
	json_print(array);
}

int cmd_session_list(const struct args *args)
{
	struct sessions sessions = { };
	int ret;

	if (rnbd_open_target()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	ret = rnbd_session_list(&sessions);
	rnbd_close();
	if (ret)
		err("%s", rnbd_error());
	else if (args_has(args, "json"))
		print_json(&sessions);
	else
		print_table(&sessions);
	free(sessions.session);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
