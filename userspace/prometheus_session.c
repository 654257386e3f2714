// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics of the sessions of client and target in the text format of Prometheus, version 0.0.4.
 *
 * Operation: the format is that of prometheus.c. A session of the client has the labels
 * session, address and port; a session of the target has session, host and address. Sessions of
 * the target that were never live are left out: each attempt to connect creates a session, so
 * failed attempts would add many series. No label value has a character that must be escaped.
 *
 * Ownership: the caller owns the stream and the sessions.
 * Concurrency: one thread.
 * Errors: the caller checks the stream for errors.
 */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "prometheus_session.h"
#include "util.h"

/* Print HELP and TYPE; a metric is a counter if its name ends in _total. */
static void print_head(FILE *out, const char *metric, const char *help)
{
	const char *total = strstr(metric, "_total");

	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric,
		total ? "counter" : "gauge");
}

/**
 * prometheus_client_sessions() - print the metrics of the sessions of the client
 * @out: stream
 * @sessions: sessions
 */
void prometheus_client_sessions(FILE *out, const struct client_sessions *sessions)
{
	static const struct {
		const char *metric;
		const char *help;
	} metrics[] = {
		{ "rnbd_session_live", "1 if the session is connected." },
		{ "rnbd_session_disks", "Disks that use the session." },
		{ "rnbd_session_queues", "Queues granted." },
		{ "rnbd_session_pool_size_bytes", "Size of the delegated pool." },
		{ "rnbd_session_pool_floor_bytes", "Size that the pool keeps at any time." },
		{ "rnbd_session_pool_max_bytes", "Largest size of the pool." },
		{ "rnbd_session_pool_used_bytes", "Pool space that requests use." },
		{ "rnbd_session_pool_requested_bytes", "Size of the pool that was requested." },
		{ "rnbd_session_pool_disk_share_bytes",
		  "Pool space that one disk may use while others need some." },
		{ "rnbd_session_pool_grants_total", "Segments granted after the login." },
		{ "rnbd_session_pool_releases_total", "Segments returned." },
		{ "rnbd_session_pool_reclaims_total",
		  "Segments whose return the target requested." },
	};
	size_t i, j;

	for (i = 0; sessions->nr && i < ARRAY_SIZE(metrics); i++) {
		print_head(out, metrics[i].metric, metrics[i].help);
		for (j = 0; j < sessions->nr; j++) {
			const struct client_session *session = &sessions->session[j];
			const struct disk *disk = session->disk;
			const uint64_t value[ARRAY_SIZE(metrics)] = {
				!strcmp(disk->session_state, "live"),
				session->disks.nr,
				option_number(&disk->granted, "queues"),
				disk->pool_size,
				option_number(&disk->granted, "pool_floor_bytes"),
				option_number(&disk->granted, "pool_bytes"),
				disk->pool_used,
				disk->pool_requested,
				disk->pool_disk_share,
				disk->pool_grants,
				disk->pool_releases,
				disk->pool_reclaims,
			};

			fprintf(out, "%s{session=\"%u\",address=\"%s\",port=\"%u\"} %" PRIu64 "\n",
				metrics[i].metric, disk->session, disk->address, disk->port,
				value[i]);
		}
	}
}

/**
 * prometheus_target_sessions() - print the metrics of the sessions of the target
 * @out: stream
 * @sessions: sessions
 */
void prometheus_target_sessions(FILE *out, const struct sessions *sessions)
{
	static const struct {
		const char *metric;
		const char *help;
	} metrics[] = {
		{ "rnbd_target_session_live", "1 if the session is live, 0 if it is closing." },
		{ "rnbd_target_session_attachments", "Exports that the session has attached." },
		{ "rnbd_target_session_queues", "Queues granted." },
		{ "rnbd_target_session_pool_size_bytes", "Size of the delegated pool." },
		{ "rnbd_target_session_pool_floor_bytes", "Size that the pool keeps at any time." },
		{ "rnbd_target_session_pool_max_bytes", "Largest size of the pool." },
		{ "rnbd_target_session_pool_requested_bytes",
		  "Size of the pool that the client has requested." },
		{ "rnbd_target_session_pool_share_bytes",
		  "Size that the pool may have while memory is short." },
		{ "rnbd_target_session_pool_grants_total", "Segments granted after the login." },
		{ "rnbd_target_session_pool_releases_total", "Segments returned." },
		{ "rnbd_target_session_pool_reclaims_total",
		  "Segments whose return was requested." },
		{ "rnbd_target_session_registrations_total", "Memory regions registered." },
	};
	char host[UUID_TEXT_SIZE];
	bool headed;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(metrics); i++) {
		headed = false;
		for (j = 0; j < sessions->nr; j++) {
			const struct session *session = &sessions->session[j];
			const uint64_t value[ARRAY_SIZE(metrics)] = {
				!strcmp(session->state, "live"),
				session->attachments,
				session->queues,
				session->pool_size,
				session->pool_floor,
				session->pool_max,
				session->pool_requested,
				session->pool_share,
				session->pool_grants,
				session->pool_releases,
				session->pool_reclaims,
				session->pool_registrations,
			};

			if (!session->was_live)
				continue;
			if (!headed)
				print_head(out, metrics[i].metric, metrics[i].help);
			headed = true;
			format_uuid(session->host_id, host);
			fprintf(out, "%s{session=\"%u\",host=\"%s\",address=\"%s\"} %" PRIu64 "\n",
				metrics[i].metric, session->serial, host, session->address,
				value[i]);
		}
	}
}
