// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile client: cases against the target of the kernel.
 *
 * Operation: most cases are lines of a table, a lawful message and what is wrong with
 * it. Each has a session of its own, host 2's unless it says otherwise, which has one
 * attachment, with index 0 and generation 1, unless the case is about that; and says how
 * that ends: refused with a status, answered with a status and living on, or closed
 * without an answer for a reason, which the target's events must tell as well.
 * The target has the exports "hostile", "fixed" (read-only) and "slow" (every request
 * takes a while) for hosts 2 and 3, "owned" (exclusive) for host 2, "secret" for others, and
 * none called "nothing".
 * Ownership, Concurrency: one thread, one case at a time.
 * Errors: a case that does not end as it says is counted, and the next one begins.
 */
#include "client.h"

int client_cases(void)
{
	struct results results = { };

	counters_open();
	client_lawful_cases(&results);
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
