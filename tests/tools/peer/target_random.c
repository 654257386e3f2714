// SPDX-License-Identifier: GPL-2.0-only
/*
 * A target whose frames and replies are valid, except for a few in each attachment.
 *
 * Operation: the random numbers of an attachment determine which frames are mutated, and how. The
 * order of events also depends on the client. Most attachments have an elastic pool and several
 * connections. A run lasts up to five times longer if some kinds of frames or entries have not
 * occurred yet, and fails if any kind is still missing at the end.
 * Ownership, Concurrency, Errors: as in target.c.
 */
#include <string.h>

#include "target.h"

#define RANDOM_MS	5000

struct tally {
	uint32_t refused, lost;
};

/*
 * Run one attach or one discovery. Commands read and write the attached disk. The client reconnects
 * each time it has found an invalid frame.
 */
static void random_attachment(struct rng *rng, struct tally *tally)
{
	static const struct target_case attach = { "random", AT_LIVE };
	static const struct target_case proven = { "random", AT_LIVE, .secret = true };
	struct job job, user = { };
	char command[8800];
	uint64_t end;
	bool list = !rng_below(rng, 5), elastic = rng_below(rng, 3);
	size_t len;

	target.tc = has_secret && rng_below(rng, 2) ? &proven : &attach;
	target.struck = false;
	target.live = false;
	target.silent = false;
	target.mutate = rng;
	/* half of the attachments get few mutations, so that they run for longer */
	target.mutate_every = rng_below(rng, 2) ? 12 : 1000;
	target.mutate_at = rng_below(rng, list ? 4 : 2 * target.mutate_every);
	if (list)
		snprintf(command, sizeof(command), "rnbd discover %s:%u", address, port);
	else
		snprintf(command, sizeof(command),
			 "rnbd attach %s:%u random --queues %u --keepalive 2000 --pool-floor %s",
			 address, port, 1 + rng_below(rng, 1 + TARGET_FURTHER),
			 elastic ? "256K" : "fixed");
	len = strlen(command);
	if (target.tc->secret)
		snprintf(command + len, sizeof(command) - len, " --secret-file %s", secret_file);
	job_start(&job, command);
	if (!target_job_wait(&job, command) || list || job.status) {
		tally->refused += !!job.status;
		note("%s", job.said);
	} else {
		/*
		 * each loop of the command ends on an I/O error; when all loops have ended, the for
		 * loop below starts the command again
		 */
		snprintf(command, sizeof(command),
			 "for at in 0 2 4; do\n"
			 "while dd if=%s of=/dev/null bs=128k skip=$at count=2 iflag=direct;"
			 "do :; done & done >/dev/null 2>&1\n"
			 "while dd if=%s of=/dev/null bs=16k count=8 iflag=direct &&\n"
			 "dd if=/dev/zero of=%s bs=16k count=4 oflag=direct conv=nocreat;"
			 "do :; done >/dev/null 2>&1\nwait", job.said, job.said, job.said);
		for (end = deadline(RANDOM_MS); now_ms() < end; nap()) {
			if (job_done(&user))
				job_start(&user, command);
			target_serve();
			if (target.c.gone) {
				target_hang_up();
				tally->lost++;
			}
		}
		/* the reads and writes can hang until the disk is removed */
		target_job_run(&job, "rnbd detach --force %s", job.said);
		if (job.status)
			amiss("detach failed: %s", job.said);
		target_job_wait(&user, "a user of the disk");
	}
	if (disks_left())
		amiss("a disk is left");
	target_hang_up();
}

/*
 * Return true for @seconds, and then until an attachment was refused, a connection was lost, and
 * all kinds of frames and entries have occurred, which takes longer on slow machines: in total at
 * most five times @seconds.
 */
static bool random_goes_on(const struct tally *tally, uint64_t began, uint32_t seconds)
{
	uint64_t took = now_ms() - began;

	return took < seconds * 1000ull ||
	       (took < seconds * 5000ull &&
		!(tally->refused && tally->lost && kinds_complete(false, false)));
}

int target_random(uint64_t seed, uint64_t from, uint32_t seconds)
{
	uint64_t began = now_ms(), nr;
	struct tally tally = { };
	struct rng rng;

	target_listen();
	for (nr = from; random_goes_on(&tally, began, seconds); nr++) {
		rng_seed(&rng, seed, nr);
		random_attachment(&rng, &tally);
		if (amiss_so_far()) {
			printf("repeat with: rnbd-peer target --seed %llu --from %llu\n",
			       (unsigned long long)seed, (unsigned long long)nr);
			judge("random", false, began);
			return 1;
		}
	}
	printf("seed %llu: %llu attachments and lists, %u refused; ", (unsigned long long)seed,
	       (unsigned long long)(nr - from), tally.refused);
	printf("%u frames and replies mutated, %u connections lost\n", target.mutated, tally.lost);
	return !(kinds_complete(false, true) && tally.refused && tally.lost);
}
