// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd discover: list the exports that this host may attach at a target, as a table or
 * as JSON with stable keys.
 *
 * Operation: one netlink request, for which the module gets the list of exports from the
 * target, and then a netlink dump of this list. The exports are printed sorted by name.
 * Ownership: no state is kept.
 * Concurrency: one thread.
 * Errors: one line that names the target. An empty list is no error; a note gives the
 * command that allows this host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "args.h"
#include "cmd.h"
#include "hostid.h"
#include "netlink_client.h"
#include "output.h"
#include "secret_store.h"
#include "util.h"

#define BUSY_WAIT_MS	10000
#define BUSY_NAP_MS	200
#define BUSY_NAP_MAX_MS	2000

/**
 * struct question - a discovery: request and result
 * @host_id: UUID of this host
 * @port: port of the target
 * @secret: secret of this host; valid if @has_secret
 * @has_secret: whether the host authenticates
 * @exports: exports that the host may attach
 * @why: error message, if the discovery failed
 */
struct question {
	uint8_t host_id[UUID_SIZE];
	uint16_t port;
	uint8_t secret[RNBD_SECRET_SIZE];
	bool has_secret;
	struct exports exports;
	const char *why;
};

static int ask(const char *address, void *arg)
{
	struct question *question = arg;
	int ret;

	question->exports.nr = 0;
	ret = rnbd_discover(address, question->port, question->host_id,
			    question->has_secret ? question->secret : NULL,
			    &question->exports);
	if (ret)
		question->why = rnbd_error();
	return ret;
}

/* Retry while the target answers BUSY, for example because it limits the rate of logins. */
static int ask_patiently(const char *address, void *arg)
{
	uint64_t end = now_ms() + BUSY_WAIT_MS;
	unsigned int nap = BUSY_NAP_MS;
	int ret;

	while ((ret = ask(address, arg)) == -EBUSY && now_ms() < end)
		nap = take_longer_naps(nap, BUSY_NAP_MAX_MS);
	return ret;
}

static int compare_exports(const void *a, const void *b)
{
	const struct export *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

static void print_table(const struct exports *exports)
{
	static const char * const heads[] = { "EXPORT", "SIZE", "BLOCK", "MODE", "UUID" };
	struct table table = { .columns = ARRAY_SIZE(heads) };
	char size[SIZE_TEXT_SIZE], uuid[UUID_TEXT_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		table_cell(&table, "%s", heads[i]);
	for (i = 0; i < exports->nr; i++) {
		const struct export *export = &exports->export[i];

		format_size(export->size, size);
		format_uuid(export->uuid, uuid);
		table_cell(&table, "%s", export->name);
		table_cell(&table, "%s", size);
		table_cell(&table, "%u", export->block_size);
		table_cell(&table, "%s", export->readonly ? "ro" : "rw");
		table_cell(&table, "%s", uuid);
	}
	table_print(&table);
}

static void print_json(const struct exports *exports)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	for (i = 0; i < exports->nr; i++) {
		struct json_object *obj = json_object_new_object();
		const struct export *export = &exports->export[i];

		json_add_string(obj, "name", export->name);
		json_add_uuid(obj, "uuid", export->uuid);
		json_add_u64(obj, "size", export->size);
		json_add_u64(obj, "block_size", export->block_size);
		json_add_bool(obj, "readonly", export->readonly);
		json_object_array_add(array, obj);
	}
	json_print(array);
}

static void print_exports(const struct args *args, const struct question *question)
{
	char host[UUID_TEXT_SIZE];

	if (args_has(args, "json"))
		print_json(&question->exports);
	else
		print_table(&question->exports);
	if (question->exports.nr)
		return;
	format_uuid(question->host_id, host);
	note("host %s is allowed no export there; on the target run: rnbd export allow NAME %s",
	     host, host);
}

int cmd_discover(const struct args *args)
{
	const char *host_id = args_value(args, "host-id");
	const char *secret_file = args_value(args, "secret-file");
	char host[NI_MAXHOST], where[WHERE_SIZE];
	struct question question = { };
	struct addrinfo *list;
	int ret;

	ret = get_target(args, host, &question.port, where);
	if (ret)
		return ret;
	if (host_id && parse_uuid(host_id, question.host_id))
		return usage_err("--host-id %s: not a UUID", host_id);

	context_set("discover %s", where);
	if (!host_id && hostid_get(question.host_id))
		return RNBD_EXIT_FAIL;
	if (rnbd_open()) {
		err("%s", rnbd_error());
		return RNBD_EXIT_FAIL;
	}
	question.has_secret = secret_file;
	if (secret_file && secret_read(secret_file, question.secret)) {
		rnbd_close();
		return RNBD_EXIT_FAIL;
	}
	ret = find_addresses(host, &list, &question.why);
	if (!ret) {
		ret = ask_addresses(list, ask_patiently, &question, unreachable);
		freeaddrinfo(list);
	}
	explicit_bzero(question.secret, sizeof(question.secret));
	if (ret)
		err("%s", question.why);
	rnbd_close();
	if (!ret) {
		if (question.exports.nr)
			qsort(question.exports.export, question.exports.nr,
			      sizeof(*question.exports.export), compare_exports);
		print_exports(args, &question);
	}
	free(question.exports.export);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}
