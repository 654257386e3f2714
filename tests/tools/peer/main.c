// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd-peer: options, and functions that all cases need.
 *
 * Operation: each case prints a line "ok NAME" or "FAILED NAME", after a line for each error.
 * --only GLOB selects cases. Exit status: 0 if all cases passed.
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

const char *address = "10.9.0.1";
uint16_t port = RNBD_DEFAULT_PORT;
unsigned int slow = 1;
bool verbose;
const char *secret_file;

static const char *only = "*";
static bool case_wrong;

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

uint64_t deadline(uint32_t ms)
{
	return now_ms() + (uint64_t)ms * slow;
}

/* Sleep between two polls. */
void nap(void)
{
	usleep(300);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("rnbd-peer: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

/* Print an error and fail the case; always return false. */
bool amiss(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("  wrong: ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	case_wrong = true;
	return false;
}

void note(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	fputs("  ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* Return the UUID that the test scripts use for host @nr. */
struct uuid host_uuid(uint32_t nr)
{
	struct uuid u = { { [6] = 0x40, [8] = 0x80 } };
	char digits[13];
	int i;

	snprintf(digits, sizeof(digits), "%012u", nr);
	for (i = 0; i < 6; i++)
		u.b[10 + i] = (digits[2 * i] - '0') << 4 | (digits[2 * i + 1] - '0');
	return u;
}

struct uuid random_uuid(void)
{
	struct uuid u;

	if (getrandom(&u, sizeof(u), 0) != sizeof(u))
		die("getrandom: %s", strerror(errno));
	return u;
}

/* A case until-* waits for an action of the script: run it only if --only selects it. */
bool selected(const char *name)
{
	return !fnmatch(only, name, FNM_EXTMATCH) &&
	       (strncmp(name, "until-", 6) || strcmp(only, "*"));
}

bool amiss_so_far(void)
{
	return case_wrong;
}

/* Finish a case: check counters and print the result. Return true if the case has passed. */
bool judge(const char *name, bool ok, uint64_t began)
{
	watch_settled();
	ok &= !case_wrong;
	case_wrong = false;
	printf("%s %s %u ms\n", ok ? "ok" : "FAILED", name, (uint32_t)(now_ms() - began));
	fflush(stdout);
	return ok;
}

/* Return the counter @name in @dir, or the sum of all counters in @dir if @name is NULL. */
uint64_t counted(const char *dir, const char *name)
{
	unsigned long long value;
	char pattern[200];
	uint64_t sum = 0;
	glob_t g = { };
	size_t i;
	FILE *f;

	snprintf(pattern, sizeof(pattern), "%s/%s", dir, name ? name : "*");
	if (glob(pattern, 0, NULL, &g))
		die("no counter %s", pattern);
	for (i = 0; i < g.gl_pathc; i++) {
		f = fopen(g.gl_pathv[i], "r");
		if (!f || fscanf(f, "%llu", &value) != 1)
			die("no counter in %s", g.gl_pathv[i]);
		fclose(f);
		sum += value;
	}
	globfree(&g);
	return sum;
}

static void show_usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: rnbd-peer client [--only GLOB] [--monitor FILE]  cases against a target\n"
		"       rnbd-peer client --flood N [--seconds S] [--host NR] [--slots N] [--frames N]\n"
		"                        [--sources A,...]               connect and never log in\n"
		"       rnbd-peer client --rogue logins|requests|attaches|detaches --seconds S\n"
		"                                                        as much work as the limits allow\n"
		"       rnbd-peer client --seed N [--from K] [--seconds S]  mutated valid traffic\n"
		"       rnbd-peer target [--only GLOB] [--monitor FILE]  cases against the client here\n"
		"       rnbd-peer target --seed N [--from K] [--seconds S]\n"
		"options: --address A, --port P, --verbose, --secret FILE. A target listens there and has\n"
		"\"rnbd attach\" called. LAB_SLOW multiplies deadlines.\n");
	exit(status);
}

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *end || end == text)
		die("%s is no number", text);
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "only", required_argument, NULL, 'o' },
		{ "monitor", required_argument, NULL, 'm' },
		{ "secret", required_argument, NULL, 'S' },
		{ "flood", required_argument, NULL, 'F' },
		{ "host", required_argument, NULL, 'H' },
		{ "slots", required_argument, NULL, 'r' },
		{ "frames", required_argument, NULL, 'n' },
		{ "sources", required_argument, NULL, 'A' },
		{ "rogue", required_argument, NULL, 'R' },
		{ "seed", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct flood flood = { .host = 2, .slots = 64 };
	uint64_t seed = 0, from = 0, seconds = 60;
	const char *env = getenv("LAB_SLOW"), *rogue = NULL;
	bool random = false, client;
	int opt;

	if (env && *env)
		slow = parse_number(env);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'a':
			address = optarg;
			break;
		case 'p':
			port = parse_number(optarg);
			break;
		case 'o':
			only = optarg;
			break;
		case 'm':
			monitor_open(optarg);
			break;
		case 'S':
			auth_read_secret(optarg);
			secret_file = optarg;
			break;
		case 'F':
			flood.connects = parse_number(optarg);
			break;
		case 'H':
			flood.host = parse_number(optarg);
			break;
		case 'r':
			flood.slots = parse_number(optarg);
			break;
		case 'n':
			flood.frames = parse_number(optarg);
			break;
		case 'A':
			flood.sources = optarg;
			break;
		case 'R':
			rogue = optarg;
			break;
		case 's':
			seed = parse_number(optarg);
			random = true;
			break;
		case 'f':
			from = parse_number(optarg);
			break;
		case 't':
			seconds = parse_number(optarg);
			break;
		case 'v':
			verbose = true;
			break;
		case 'h':
			show_usage(0);
			break;
		default:
			show_usage(2);
		}
	}
	if (optind + 1 != argc)
		show_usage(2);
	client = !strcmp(argv[optind], "client");
	if (!client && strcmp(argv[optind], "target"))
		show_usage(2);
	if (random)
		return client ? client_random(seed, from, seconds) :
				target_random(seed, from, seconds);
	flood.seconds = seconds;
	if (flood.connects)
		return client_flood(&flood);
	if (rogue && client)
		return client_rogue(rogue, seconds);
	return client ? client_cases() : target_cases();
}
