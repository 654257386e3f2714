// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rival of random traffic: a process with a well-behaved session that requests all memory it can
 * get and returns reclaimed segments at once.
 *
 * Operation: the rival makes pool memory scarce, so segments move between the sessions in both
 * directions. It runs until it is stopped. It is host 4 and attaches no export.
 * Ownership, Concurrency: a separate process. In one process there would be a deadlock: random
 * traffic waits for the reply to a login, and the target sends the reply only when the rival has
 * returned memory. Both processes count kinds of frames in shared memory (kinds.c).
 * Errors: the run fails if the rival's session ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define RIVAL_HOST	4
#define STEP_MS		20
#define TURNS		50	/* steps between changes of the requested size */

static atomic_bool stop;
static pid_t rival;

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

/* Log in; retry until the target has memory for the floor. */
static bool rival_login(struct player *p)
{
	struct rnbd_ctl_login l;
	uint64_t end = deadline(LOGIN_MS);

	lease_fill(&l);
	while (!stop && now_ms() < end && session_start(&p->l.c, RIVAL_HOST)) {
		if (login(&p->l.c, &l, LOGIN_MS)) {
			p->l.slots = (1ull << le32toh(p->l.c.grant.r.nr_segments)) - 1;
			p->l.held = le32toh(p->l.c.grant.r.pool_units);
			return slots_ask(&p->l.c, p->l.c.slots,
					 le16toh(p->l.c.grant.r.queue_depth));
		}
		conn_close(&p->l.c);
		usleep(100000);
	}
	return stop || amiss("the login of the rival was refused");
}

static void play(void)
{
	static struct player p;
	struct rng rng;
	uint32_t turn;

	signal(SIGTERM, on_signal);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	rng_seed(&rng, RIVAL_HOST, 0);
	if (!rival_login(&p))
		return;
	for (turn = 0; !stop && player_drain(&p, STEP_MS); turn++) {
		/* without credits, only wait */
		if (p.l.c.credits <= 2)
			continue;
		if (p.reclaimed & ~p.released)
			player_release(&p, 0);
		else if (!(turn % TURNS))
			lease_want(&p.l, rng_below(&rng, 4) ? CEILING : FLOOR);
		else if (p.l.held > FLOOR && !rng_below(&rng, TURNS))
			player_release(&p, rng_next(&rng));
		conn_alive(&p.l.c, RNBD_KEEPALIVE_MS_MAX / 2);
	}
	if (!stop)
		amiss("the target ended the session of the rival, which violates no rule");
	conn_close(&p.l.c);
}

/* Fork the rival. The caller must not have any connection yet. */
void rival_start(void)
{
	fflush(stdout);
	rival = fork();
	if (rival < 0)
		die("fork: %s", strerror(errno));
	if (rival)
		return;
	play();
	fflush(stdout);
	_exit(amiss_so_far());
}

/* Stop the rival. Return true if it found no error. */
bool rival_end(void)
{
	int status;

	kill(rival, SIGTERM);
	while (waitpid(rival, &status, 0) != rival)
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	return !status || amiss("the rival ends with status %d", status);
}
