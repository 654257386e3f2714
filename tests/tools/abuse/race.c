// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many processes concurrently change the same few objects of the target, attach and detach.
 *
 * Operation: most processes create, set, enable, link, read and remove exports, hosts and ports
 * with the same few names in random order. The other processes attach these exports over an
 * address of the same machine, read a block, list, discover and detach. An operation on the
 * objects may fail only with an errno that the work of another process can cause. A netlink
 * command may fail with any errno, but with an error message; a read of a block may fail. Each kind
 * of operation must succeed at least once. The caller removes the objects that are left at the end.
 * Concurrency: processes; they share counters.
 * Errors: an unexpected errno, a missing error message, or a process that does not finish in time
 * is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rnbd/netlink.h>

#include "abuse.h"

#define ADMINS		8
#define CLIENTS		4
#define EXPORTS		4
#define HOSTS		3
#define PORTS		2
#define ADDRESS		"10.9.0.1"
#define FIRST_PORT	4427
/* time in seconds for all processes to finish their last operations after the end of the run */
#define GRACE_SECONDS	60

enum op { MAKE, REMOVE, SET, ENABLE, DISABLE, LINK, UNLINK, READ, ATTACH, BLOCK, DETACH, LIST,
	  DISCOVER, OPS };

static const char *const op_names[OPS] = {
	"make", "remove", "set", "enable", "disable", "link", "unlink", "read", "attach",
	"read a block", "detach", "list", "discover",
};

struct counters {
	atomic_uint done[OPS];
	atomic_uint refused[OPS];
	atomic_uint odd;
};

static struct counters *counters;
static const char *config;
static char **paths;
static unsigned int nr_paths;
static uint64_t seed;
static int family;

static unsigned int below(unsigned int n)
{
	return roll(&seed) % n;
}

/* Return true for an errno that the work of another process can cause. */
static bool explained(int error)
{
	switch (error) {
	case EEXIST:
	case ENOENT:
	case ENOTEMPTY:
	case EBUSY:
	case EINVAL:
	case ENXIO:
	case ENODEV:
	case EADDRINUSE:
		return true;
	}
	return false;
}

static void count(enum op op, int error, const char *what)
{
	if (!error) {
		counters->done[op]++;
		return;
	}
	counters->refused[op]++;
	if (explained(error))
		return;
	counters->odd++;
	fprintf(stderr, "%s %s: %s\n", op_names[op], what, strerror(error));
}

static const char *path_of(const char *fmt, ...) __printf(1, 2);

static const char *path_of(const char *fmt, ...)
{
	static char path[2][512];
	static unsigned int turn;
	char *p = path[turn++ % 2];
	va_list args;
	int len = snprintf(p, sizeof(path[0]), "%s/", config);

	va_start(args, fmt);
	vsnprintf(p + len, sizeof(path[0]) - len, fmt, args);
	va_end(args);
	return p;
}

static const char *host_name(unsigned int n)
{
	static char name[37];

	snprintf(name, sizeof(name), "00000000-0000-4000-8000-%012u", n + 1);
	return name;
}

static const char *object(void)
{
	switch (below(3)) {
	case 0:
		return path_of("exports/e%u", below(EXPORTS));
	case 1:
		return path_of("hosts/%s", host_name(below(HOSTS)));
	default:
		return path_of("ports/p%u", below(PORTS));
	}
}

static void set(enum op op, const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	int error = fd < 0 || write(fd, value, strlen(value)) < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	count(op, error, path);
}

static void set_something(void)
{
	static const char *const values[][2] = {
		{ "readonly", "0" }, { "readonly", "1" }, { "cache", "none" },
		{ "cache", "pagecache" }, { "write_cache", "back" },
		{ "write_cache", "through" }, { "resize", "1" },
		{ "window", "1" }, { "window", "0" },
	};
	unsigned int n = below(ARRAY_SIZE(values) + 6), e = below(EXPORTS);

	if (n < ARRAY_SIZE(values))
		set(SET, path_of("exports/e%u/%s", e, values[n][0]), values[n][1]);
	else if (n == ARRAY_SIZE(values))
		set(SET, path_of("hosts/%s/max_pool_bytes", host_name(below(HOSTS))),
		    below(2) ? "0" : "8388608");
	else if (n == ARRAY_SIZE(values) + 1)
		set(SET, path_of("hosts/%s/weight", host_name(below(HOSTS))),
		    below(2) ? "1" : "10000");
	else if (n == ARRAY_SIZE(values) + 2)
		set(SET, path_of("hosts/%s/cgroup", host_name(below(HOSTS))),
		    below(2) ? "/rnbd.slice" : "\n");
	else
		set(SET, path_of("exports/e%u/path", e), paths[below(nr_paths)]);
}

static void set_port(unsigned int n)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", FIRST_PORT + n);
	set(SET, path_of("ports/p%u/addr", n), ADDRESS);
	set(SET, path_of("ports/p%u/port", n), number);
}

static void enable_export(unsigned int n)
{
	set(ENABLE, path_of("exports/e%u/enable", n), "1");
}

static void enable_port(unsigned int n)
{
	set(ENABLE, path_of("ports/p%u/enable", n), "1");
}

static void make_link(const char *target, const char *path)
{
	count(LINK, symlink(target, path) ? errno : 0, path);
}

static void link_host(unsigned int e, unsigned int h)
{
	make_link(path_of("hosts/%s", host_name(h)),
		  path_of("exports/e%u/allowed_hosts/h%u", e, h));
}

static void link_export(unsigned int p, unsigned int e)
{
	make_link(path_of("exports/e%u", e), path_of("ports/p%u/exports/e%u", p, e));
}

static void make(const char *path)
{
	count(MAKE, mkdir(path, 0755) ? errno : 0, path);
}

/* Create all objects that an attach needs; other processes can change them at any time. */
static void make_all(unsigned int e, unsigned int p)
{
	unsigned int h;

	make(path_of("exports/e%u", e));
	set(SET, path_of("exports/e%u/path", e), paths[below(nr_paths)]);
	enable_export(e);
	for (h = 0; h < HOSTS; h++) {
		make(path_of("hosts/%s", host_name(h)));
		link_host(e, h);
	}
	make(path_of("ports/p%u", p));
	set_port(p);
	enable_port(p);
	link_export(p, e);
}

static void unlink_something(void)
{
	const char *path = below(2) ?
		path_of("exports/e%u/allowed_hosts/h%u", below(EXPORTS), below(HOSTS)) :
		path_of("ports/p%u/exports/e%u", below(PORTS), below(EXPORTS));

	count(UNLINK, unlink(path) ? errno : 0, path);
}

/* Remove an export and all links to and from it. */
static void remove_all(void)
{
	unsigned int e = below(EXPORTS), i;
	const char *path;

	for (i = 0; i < HOSTS; i++) {
		path = path_of("exports/e%u/allowed_hosts/h%u", e, i);
		count(UNLINK, unlink(path) ? errno : 0, path);
	}
	for (i = 0; i < PORTS; i++) {
		path = path_of("ports/p%u/exports/e%u", i, e);
		count(UNLINK, unlink(path) ? errno : 0, path);
	}
	path = path_of("exports/e%u", e);
	count(REMOVE, rmdir(path) ? errno : 0, path);
}

static void read_something(void)
{
	static const char *const names[] = {
		"exports/e1/path", "exports/e0/enable", "exports/e2/size", "exports/e0/uuid",
		"exports/e3/sessions", "ports/p0/state", "ports/p1/addr", "ports/p0/sessions",
		"hosts/00000000-0000-4000-8000-000000000001/sessions",
	};
	const char *path = path_of("%s", names[below(ARRAY_SIZE(names))]);
	int fd = open(path, O_RDONLY), error = 0;
	char buf[4096];

	if (fd < 0 || read(fd, buf, sizeof(buf)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	count(READ, error, path);
}

static void administrate(void)
{
	const char *path;

	switch (below(10)) {
	case 0:
	case 1:
		make_all(below(EXPORTS), below(PORTS));
		break;
	case 2:
		remove_all();
		break;
	case 3:
		path = object();
		count(REMOVE, rmdir(path) ? errno : 0, path);
		break;
	case 4:
		set(DISABLE, below(2) ? path_of("exports/e%u/enable", below(EXPORTS)) :
		    path_of("ports/p%u/enable", below(PORTS)), "0");
		break;
	case 5:
		if (below(2))
			enable_export(below(EXPORTS));
		else
			enable_port(below(PORTS));
		break;
	case 6:
		unlink_something();
		break;
	case 7:
		if (below(2))
			link_host(below(EXPORTS), below(HOSTS));
		else
			link_export(below(PORTS), below(EXPORTS));
		break;
	case 8:
		read_something();
		break;
	default:
		set_something();
		break;
	}
}

/* ------------------------------------------------------------------------
 * Clients
 */

static void put_u32(struct message *msg, uint16_t attr, uint32_t value)
{
	nl_put(msg, attr, &value, sizeof(value));
}

static void put_target(struct message *msg, unsigned int p)
{
	uint8_t id[16] = { [6] = 0x40, [8] = 0x80, [15] = 1 + below(HOSTS) };
	uint16_t port = FIRST_PORT + p;

	nl_put(msg, RNBD_ATTR_ADDR, ADDRESS, sizeof(ADDRESS));
	nl_put(msg, RNBD_ATTR_HOST_ID, id, sizeof(id));
	nl_put(msg, RNBD_ATTR_PORT, &port, sizeof(port));
}

/* Send a client command. Any errno is allowed, but an error must come with an error message. */
static int ask(int fd, enum op op, struct message *msg, struct answer *answer)
{
	nl_talk(fd, msg, answer);
	if (!answer->error) {
		counters->done[op]++;
		return 0;
	}
	counters->refused[op]++;
	if (!answer->text[0]) {
		counters->odd++;
		fprintf(stderr, "%s: error %d without a message\n", op_names[op], answer->error);
	}
	return answer->error;
}

/*
 * Try to attach. Half of the time create all needed objects first, because an attach would
 * otherwise hardly ever succeed.
 */
static void attach_one(int fd, char *disk, size_t size)
{
	unsigned int e = below(EXPORTS), p = below(PORTS);
	uint64_t pool = 1 << 20;
	struct answer answer;
	struct message msg;
	char text[16];

	if (below(2))
		make_all(e, p);
	nl_begin(&msg, family, 0, RNBD_CMD_ATTACH);
	put_target(&msg, p);
	snprintf(text, sizeof(text), "e%u", e);
	nl_put(&msg, RNBD_ATTR_EXPORT, text, strlen(text) + 1);
	snprintf(text, sizeof(text), "d%u", below(CLIENTS));
	if (below(2))
		nl_put(&msg, RNBD_ATTR_NAME, text, strlen(text) + 1);
	nl_put(&msg, RNBD_ATTR_POOL_BYTES, &pool, sizeof(pool));
	put_u32(&msg, RNBD_ATTR_QUEUES, 1 + below(2));
	put_u32(&msg, RNBD_ATTR_DEPTH, 16);
	put_u32(&msg, RNBD_ATTR_RING_SLOTS, 8);
	put_u32(&msg, RNBD_ATTR_MAX_IO, 65536);
	put_u32(&msg, RNBD_ATTR_POLICY, RNBD_POLICY_FAIL);
	put_u32(&msg, RNBD_ATTR_KEEPALIVE_MS, 250);
	put_u32(&msg, RNBD_ATTR_LOSS_TIMEOUT, 2);
	if (!ask(fd, ATTACH, &msg, &answer))
		snprintf(disk, size, "%s", answer.disk);
}

static void read_block(const char *disk)
{
	static _Alignas(4096) uint8_t block[4096];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", disk);
	fd = open(path, O_RDONLY | O_DIRECT);
	/* a failure is no error, because other processes remove disks and exports */
	if (fd >= 0 && read(fd, block, sizeof(block)) == sizeof(block))
		counters->done[BLOCK]++;
	else
		counters->refused[BLOCK]++;
	if (fd >= 0)
		close(fd);
}

static void detach_one(int fd, const char *disk)
{
	struct answer answer;
	struct message msg;

	nl_begin(&msg, family, 0, RNBD_CMD_DETACH);
	nl_put(&msg, RNBD_ATTR_DISK, disk, strlen(disk) + 1);
	if (below(2))
		put_u32(&msg, RNBD_ATTR_FLAGS, RNBD_FLAG_FORCE);
	ask(fd, DETACH, &msg, &answer);
}

/*
 * Discover exports, or read from a disk and usually detach it: a disk that this process attaches,
 * or one of the list of disks, which another process has possibly attached.
 */
static void use(int fd)
{
	struct answer answer;
	struct message msg;
	char disk[32] = "";

	switch (below(8)) {
	case 0:
		nl_begin(&msg, family, 0, RNBD_CMD_DISCOVER);
		put_target(&msg, below(PORTS));
		if (ask(fd, DISCOVER, &msg, &answer))
			return;
		nl_begin(&msg, family, NLM_F_DUMP, RNBD_CMD_DISCOVER);
		ask(fd, DISCOVER, &msg, &answer);
		return;
	case 1:
	case 2:
		nl_begin(&msg, family, NLM_F_DUMP, RNBD_CMD_LIST);
		ask(fd, LIST, &msg, &answer);
		snprintf(disk, sizeof(disk), "%s", answer.disk);
		break;
	default:
		attach_one(fd, disk, sizeof(disk));
		break;
	}
	if (!disk[0])
		return;
	read_block(disk);
	if (below(4))
		detach_one(fd, disk);
}

/* ------------------------------------------------------------------------
 * Processes
 */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void work(bool client, double end)
{
	int fd = client ? nl_open() : -1;

	while (now() < end) {
		if (client)
			use(fd);
		else
			administrate();
	}
	exit(0);
}

/* Wait for all processes; the program fails if any process has not finished at the time @end. */
static void gather(unsigned int left, double end)
{
	int status;

	while (left) {
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			if (status)
				complain("process %d: status %#x", pid, status);
		} else if (now() > end) {
			fail("%u processes do not end", left);
		} else {
			usleep(20000);
		}
	}
}

int race_run(const char *root, unsigned int seconds, uint64_t start, char **storage)
{
	double end, quiet;
	unsigned int i;
	int fd = nl_open();

	config = root;
	for (paths = storage; paths[nr_paths]; nr_paths++)
		;
	family = nl_family(fd, RNBD_GENL_NAME, NULL);
	if (!family)
		fail("no family %s", RNBD_GENL_NAME);
	close(fd);
	counters = mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counters == MAP_FAILED)
		fail("no memory");
	printf("race: %d processes, %u s, seed %llu\n", ADMINS + CLIENTS, seconds,
	       (unsigned long long)start);
	end = now() + seconds;
	/*
	 * In the last third of the time only clients run, so that some of them find all
	 * objects that an attach needs.
	 */
	quiet = end - seconds / 3.0;
	for (i = 0; i < ADMINS + CLIENTS; i++) {
		seed = start + i;
		switch (fork()) {
		case -1:
			fail("fork: %s", strerror(errno));
		case 0:
			work(i >= ADMINS, i >= ADMINS ? end : quiet);
		}
	}
	gather(i, end + GRACE_SECONDS * seconds_factor);
	for (i = 0; i < OPS; i++) {
		printf("  %-12s done %u, refused %u\n", op_names[i], counters->done[i],
		       counters->refused[i]);
		if (!counters->done[i])
			complain("no %s succeeded", op_names[i]);
	}
	if (counters->odd)
		complain("%u unexpected refusals", counters->odd);
	return complaints() ? 1 : 0;
}
