// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile client: cases against the kernel's target.
 *
 * Operation: most cases are rows of a table: a valid message and the changes that make it invalid.
 * Unless a case says otherwise, it has its own session of host 2 with one attachment of index 0 and
 * generation 1. A case also names the expected result. Possible results are a rejection with a
 * status; a reply with a status, after which the session continues; and the end of the session
 * without a reply, for a reason that must also be in the events of the target.
 *
 * Among the exports of the target are "hostile", "fixed" (read-only) and "slow" (each request is
 * delayed) for hosts 2 and 3, "owned" (exclusive) for host 2, and "secret", which hosts 2 and 3 may
 * not attach. The target has no export "nothing".
 *
 * Ownership, Concurrency: one thread, one case at a time.
 * Errors: a case with another result is counted as failed, and the next case runs.
 */
#include "client.h"

int client_cases(void)
{
	struct results results = { };

	counters_open();
	client_valid_cases(&results);
	client_key_cases(&results);
	client_credit_cases(&results);
	client_slots_cases(&results);
	client_epoch_cases(&results);
	client_join_cases(&results);
	client_write_cases(&results);
	client_attach_cases(&results);
	client_lease_cases(&results);
	client_steps_cases(&results);
	client_reclaim_cases(&results);
	client_stale_cases(&results);
	client_request_cases(&results);
	client_frame_cases(&results);
	client_rdma_cases(&results);
	client_auth_cases(&results);
	printf("%u cases, %u failed\n", results.done, results.failed);
	return !results.done || results.failed;
}
