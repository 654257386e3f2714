// SPDX-License-Identifier: GPL-2.0-only
/*
 * Coverage of random traffic: kinds of frames and control entries.
 *
 * Operation: frame_seal() counts sent frames, before a mutation; conn_receive() counts valid
 * received frames. A run fails if it never sent or never received a kind that the tables below
 * require of its side.
 * Ownership: none.
 * Concurrency: one thread; after kinds_share(), also forked processes.
 * Errors: kinds_complete() reports missing kinds.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "peer.h"

#define CLIENT_SENDS	0x1	/* a run as a client must send it */
#define CLIENT_GETS	0x2	/* a run as a client must receive it */
#define TARGET_SENDS	0x4
#define TARGET_GETS	0x8
#define WITH_SECRET	0x10	/* a run as a target must send this kind only with --secret */

/*
 * The kernel's client sends QUERY only if a request takes long, so a target need not receive QUERY
 * or send QUERY_REPLY.
 */
static const struct {
	const char *name;
	uint32_t must;
} entries[] = {
	[RNBD_CTL_LOGIN] = { "LOGIN", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_LOGIN_REPLY] = { "LOGIN_REPLY", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_JOIN] = { "JOIN", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_JOIN_REPLY] = { "JOIN_REPLY", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_CHALLENGE] = { "CHALLENGE", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_PROOF] = { "PROOF", CLIENT_SENDS | TARGET_SENDS | TARGET_GETS | WITH_SECRET },
	[RNBD_CTL_ATTACH] = { "ATTACH", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_ATTACH_REPLY] = { "ATTACH_REPLY", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_DETACH] = { "DETACH", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_DETACHED] = { "DETACHED", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_CLOSED] = { "CLOSED", TARGET_SENDS },
	[RNBD_CTL_CAPACITY] = { "CAPACITY", TARGET_SENDS },
	[RNBD_CTL_QUERY] = { "QUERY", CLIENT_SENDS },
	[RNBD_CTL_QUERY_REPLY] = { "QUERY_REPLY", CLIENT_GETS },
	[RNBD_CTL_LIST] = { "LIST", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_EXPORT] = { "EXPORT", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_LIST_END] = { "LIST_END", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_SEGMENT] = { "SEGMENT", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_WANT] = { "WANT", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_RECLAIM] = { "RECLAIM", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_RELEASE] = { "RELEASE", CLIENT_SENDS | TARGET_GETS },
	[RNBD_CTL_RELEASED] = { "RELEASED", CLIENT_GETS | TARGET_SENDS },
	[RNBD_CTL_SLOTS] = { "SLOTS", CLIENT_SENDS | TARGET_SENDS },
	[RNBD_CTL_SLOTS_REPLY] = {
		"SLOTS_REPLY", CLIENT_SENDS | CLIENT_GETS | TARGET_SENDS | TARGET_GETS
	},
}, frames[] = {
	[RNBD_FRAME_CONTROL] = { "CONTROL", 0 },
	[RNBD_FRAME_REQUEST] = { "REQUEST", CLIENT_SENDS | TARGET_GETS },
	[RNBD_FRAME_REPLY] = { "REPLY", CLIENT_GETS | TARGET_SENDS },
	[RNBD_FRAME_CREDIT] = { "CREDIT", CLIENT_SENDS | TARGET_SENDS },
};

/* Number of frames and entries: [0] received, [1] sent */
struct seen {
	uint32_t entries[2][ARRAY_SIZE(entries)];
	uint32_t frames[2][ARRAY_SIZE(frames)];
};

static struct seen own, *seen = &own;

/* Share the counters with processes that are forked later. */
void kinds_share(void)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void count(uint32_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Count a frame and its entries as sent or received. */
void kinds_count(bool sent, const uint8_t *bytes, uint32_t len)
{
	struct rnbd_frame_hdr hdr;
	struct rnbd_ctl head;
	uint32_t at, nr, length;

	memcpy(&hdr, bytes, sizeof(hdr));
	if (hdr.type < ARRAY_SIZE(frames))
		count(&seen->frames[sent][hdr.type]);
	if (hdr.type != RNBD_FRAME_CONTROL)
		return;
	at = sizeof(hdr);
	for (nr = le16toh(hdr.nr_entries); nr && len - at >= sizeof(head); nr--, at += length) {
		uint16_t type;

		memcpy(&head, bytes + at, sizeof(head));
		length = le16toh(head.length);
		type = le16toh(head.type) & ~RNBD_CTL_MANDATORY;
		if (length < sizeof(head) || length > len - at)
			return;
		if (type < ARRAY_SIZE(entries))
			count(&seen->entries[sent][type]);
	}
}

static bool lacks(const char *name, uint32_t must, uint32_t sent, uint32_t received, bool client,
		  bool tell)
{
	bool sends = must & (client ? CLIENT_SENDS : TARGET_SENDS);
	bool gets = must & (client ? CLIENT_GETS : TARGET_GETS);

	if (!client && must & WITH_SECRET && !has_secret)
		sends = false;
	sends &= !sent;
	gets &= !received;
	if (tell && name)
		printf(" %s %u/%u", name, sent, received);
	if (tell && sends)
		amiss("%s was never sent", name);
	if (tell && gets)
		amiss("%s was never received", name);
	return sends || gets;
}

/* Return true if the run (client or target) had all required kinds. @tell: print the counts. */
bool kinds_complete(bool client, bool tell)
{
	uint32_t missing = 0;
	size_t i;

	if (tell)
		printf("sent/received:");
	for (i = 0; i < ARRAY_SIZE(frames); i++)
		missing += lacks(frames[i].name, frames[i].must, seen->frames[1][i],
				 seen->frames[0][i], client, tell);
	for (i = 0; i < ARRAY_SIZE(entries); i++)
		missing += lacks(entries[i].name, entries[i].must, seen->entries[1][i],
				 seen->entries[0][i], client, tell);
	if (tell)
		printf("\n");
	return !missing;
}
