// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the tool's lists of sessions of the client and of the target: the client's disks are
 * grouped by session, and Prometheus gets a series per session.
 */
#include <string.h>

#include "unit.h"

#include "prometheus_session.h"
#include "session.h"

/* Labels of the expected series */
#define SESSION2	"{session=\"2\",address=\"::1\",port=\"4428\"} "
#define SESSION7	"{session=\"7\",address=\"10.9.0.1\",port=\"4427\"} "
#define HOST6F		"6f000000-0000-0000-0000-000000000000"
#define SESSION4	"{session=\"4\",host=\"" HOST6F "\",address=\"10.9.0.2\"} "

/* The disks are in order; the numbers of their sessions are not. */
static struct disk disk_list[] = {
	{ .disk = "rnbd0", .session = 7, .session_state = "live", .address = "10.9.0.1",
	  .port = 4427, .pool_used = 4096, .pool_size = 8192, .pool_reclaims = 3,
	  .pool_requested = 16384, .pool_disk_share = 7168 },
	{ .disk = "rnbd1", .session = 2, .session_state = "reconnecting", .address = "::1",
	  .port = 4428 },
	{ .disk = "rnbd2", .session = 7, .session_state = "live", .address = "10.9.0.1",
	  .port = 4427, .pool_used = 4096 },
};

static void test_gather(void **state)
{
	const struct disks disks = { .disk = disk_list, .nr = 3 }, none = { };
	struct client_sessions sessions;
	struct json_object *obj, *value;

	(void)state;
	client_sessions(&none, &sessions);
	assert_int_equal(sessions.nr, 0);
	client_sessions_free(&sessions);

	client_sessions(&disks, &sessions);
	assert_int_equal(sessions.nr, 2);
	assert_int_equal(sessions.session[0].disk->session, 2);
	assert_int_equal(sessions.session[0].disks.nr, 1);
	assert_string_equal(sessions.session[0].disks.item[0], "rnbd1");
	assert_int_equal(sessions.session[1].disk->session, 7);
	assert_int_equal(sessions.session[1].disks.nr, 2);
	assert_string_equal(sessions.session[1].disks.item[1], "rnbd2");

	obj = client_session_json(&sessions.session[1]);
	assert_true(json_object_object_get_ex(obj, "role", &value));
	assert_string_equal(json_object_get_string(value), "client");
	assert_true(json_object_object_get_ex(obj, "disks", &value));
	assert_int_equal(json_object_array_length(value), 2);
	json_object_put(obj);
	client_sessions_free(&sessions);
}

static char *printed(void (*print)(FILE *out, const void *sessions), const void *sessions)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	print(out, sessions);
	fclose(out);
	return text;
}

static void print_clients(FILE *out, const void *sessions)
{
	prometheus_client_sessions(out, sessions);
}

static void print_targets(FILE *out, const void *sessions)
{
	prometheus_target_sessions(out, sessions);
}

static void test_prometheus_client(void **state)
{
	const struct disks disks = { .disk = disk_list, .nr = 3 };
	struct client_sessions sessions = { };
	char *text;

	(void)state;
	text = printed(print_clients, &sessions);
	assert_string_equal(text, "");
	free(text);

	client_sessions(&disks, &sessions);
	text = printed(print_clients, &sessions);
	assert_non_null(strstr(text, "# TYPE rnbd_session_live gauge\nrnbd_session_live"
			       SESSION2 "0\nrnbd_session_live" SESSION7 "1\n"));
	assert_non_null(strstr(text, "rnbd_session_disks" SESSION7 "2\n"));
	assert_non_null(strstr(text, "rnbd_session_pool_used_bytes" SESSION7 "4096\n"));
	assert_non_null(strstr(text, "# TYPE rnbd_session_pool_size_bytes gauge\n"));
	assert_non_null(strstr(text, "rnbd_session_pool_size_bytes" SESSION7 "8192\n"));
	assert_non_null(strstr(text, "rnbd_session_pool_requested_bytes" SESSION7 "16384\n"));
	assert_non_null(strstr(text, "rnbd_session_pool_disk_share_bytes" SESSION7 "7168\n"));
	assert_non_null(strstr(text, "# TYPE rnbd_session_pool_reclaims_total counter\n"));
	assert_non_null(strstr(text, "rnbd_session_pool_reclaims_total" SESSION7 "3\n"));
	free(text);
	client_sessions_free(&sessions);
}

/* A session that was never live has no series. If there is no other session, no text is printed. */
static void test_prometheus_target(void **state)
{
	struct session list[] = {
		{ .serial = 3, .state = "refused", .address = "10.9.0.2" },
		{ .serial = 4, .state = "closing", .address = "10.9.0.2", .was_live = true,
		  .attachments = 5, .pool_share = 8192, .pool_registrations = 12,
		  .host_id = { 0x6f } },
	};
	struct sessions sessions = { .session = list, .nr = 1 };
	char *text;

	(void)state;
	text = printed(print_targets, &sessions);
	assert_string_equal(text, "");
	free(text);

	sessions.nr = 2;
	text = printed(print_targets, &sessions);
	assert_null(strstr(text, "session=\"3\""));
	assert_non_null(strstr(text, "rnbd_target_session_live" SESSION4 "0\n"));
	assert_non_null(strstr(text, "rnbd_target_session_attachments" SESSION4 "5\n"));
	assert_non_null(strstr(text, "rnbd_target_session_pool_share_bytes" SESSION4 "8192\n"));
	assert_non_null(strstr(text, "# TYPE rnbd_target_session_registrations_total counter\n"));
	assert_non_null(strstr(text, "rnbd_target_session_registrations_total" SESSION4 "12\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_prometheus_client),
		cmocka_unit_test(test_prometheus_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
