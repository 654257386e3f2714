// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd monitor: print state changes of disks and of the target's sessions, and changes of
 * the cgroups that apply to the hosts of the target.
 *
 * Operation: one netlink socket joins the event groups of the families of both modules,
 * if they are loaded, and the group in which the netlink controller announces new and
 * removed families. So the modules may be loaded and unloaded while the command runs.
 * The command looks up families and groups on a second socket, because an event could
 * arrive on the first socket between a request and its reply.
 *
 * Output: each event is one line on stdout, which is line buffered. Notes go to stderr:
 * that the command listens to a family, that a module was unloaded, that an event cannot be
 * parsed, and that events were lost because they arrived faster than the command read them.
 *
 * Ownership: both sockets exist as long as the command runs.
 * Concurrency: one thread. The command reads SIGINT and SIGTERM from a signalfd, so that
 * these signals do not end the command in the middle of a line.
 * Errors: the command fails if it can listen to neither module at its start, because the
 * modules are not loaded or the user is not root, or if a socket fails. A write error on stdout
 * ends the command; main() reports the error.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <rnbd/netlink.h>
#include <rnbd/netlink-target.h>

#include "args.h"
#include "cmd.h"
#include "disks.h"
#include "netlink_client.h"
#include "netlink_target.h"
#include "session.h"
#include "util.h"

#define EVENT_BUFFER	(1024 * 1024)
#define STAMP_SIZE	40

/**
 * struct source - a netlink family that sends events
 * @name: name of the family and of its module
 * @group: name of the multicast group for events
 * @print: prints an event
 * @family: number of the family, 0 while the command does not receive its events
 */
struct source {
	const char *name;
	const char *group;
	void (*print)(struct nlmsghdr *hdr, const char *stamp);
	int family;
};

static struct nl_sock *events, *queries;
static bool denied;
static bool json;

/* Format the local time, such as "2025-01-31T12:00:00.123". */
static void make_stamp(char stamp[STAMP_SIZE])
{
	struct timeval now;
	struct tm tm;
	size_t len;

	gettimeofday(&now, NULL);
	localtime_r(&now.tv_sec, &tm);
	len = strftime(stamp, STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(stamp + len, STAMP_SIZE - len, ".%03u",
		 (unsigned int)(now.tv_usec / 1000));
}

static void print_json(struct json_object *obj, const char *stamp,
		       const char *family, const char *old_state)
{
	json_add_string(obj, "time", stamp);
	json_add_string(obj, "family", family);
	json_add_string(obj, "old_state", old_state);
	json_print_line(obj);
}

/* Print an event as one line, without control characters: a peer can choose the text. */
static void __printf(2, 3) print_event(const char *reason, const char *fmt, ...)
{
	char event[1024], *line;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(event, sizeof(event), fmt, ap);
	va_end(ap);
	line = xasprintf("%s%s%s", event, *reason ? ": " : "", reason);
	puts(printable(line));
	free(line);
}

static void print_disk(struct nlmsghdr *hdr, const char *stamp)
{
	char target[ADDR_SIZE + 16];
	const char *reason = "";
	struct disk disk;

	if (rnbd_parse_disk(hdr, &disk)) {
		note("cannot parse an event of the family " RNBD_GENL_NAME);
		return;
	}
	if (json) {
		print_json(disk_json(&disk), stamp, RNBD_GENL_NAME, disk.old_state);
		return;
	}
	if (format_addr(disk.address, disk.port, target, sizeof(target)))
		snprintf(target, sizeof(target), "?");
	/* Print no reason in other states: in closing, it is that of an earlier disconnect. */
	if (!strcmp(disk.state, "reconnecting"))
		reason = disk.reason;
	else if (!strcmp(disk.state, "failed"))
		reason = disk.last_error;
	print_event(reason, "%s disk %s %s %s %s -> %s", stamp, disk.disk, disk.export, target,
		    disk.old_state, disk.state);
}

static void print_host(struct nlmsghdr *hdr, const char *stamp)
{
	static struct host_event event;
	char uuid[UUID_TEXT_SIZE];

	if (rnbd_parse_host_event(hdr, &event)) {
		note("cannot parse an event of the family " RNBDT_GENL_NAME);
		return;
	}
	format_uuid(event.host_id, uuid);
	if (json) {
		struct json_object *obj = json_object_new_object();

		json_add_string(obj, "host", uuid);
		json_add_string(obj, "cgroup", event.cgroup);
		json_add_string(obj, "effective_cgroup", event.effective_cgroup);
		json_add_string(obj, "time", stamp);
		json_add_string(obj, "family", RNBDT_GENL_NAME);
		json_print_line(obj);
		return;
	}
	print_event("", "%s host %s cgroup %s: limits of %s apply", stamp, uuid, event.cgroup,
		    *event.effective_cgroup ? event.effective_cgroup : "an ancestor");
}

static void print_session(struct nlmsghdr *hdr, const char *stamp)
{
	const struct genlmsghdr *genl = nlmsg_data(hdr);
	struct session session;

	if (genl->cmd == RNBDT_CMD_HOST_EVENT) {
		print_host(hdr, stamp);
		return;
	}
	if (rnbd_parse_session(hdr, &session)) {
		note("cannot parse an event of the family " RNBDT_GENL_NAME);
		return;
	}
	if (json) {
		print_json(session_json(&session), stamp, RNBDT_GENL_NAME,
			   session.old_state);
		return;
	}
	print_event(session.reason, "%s session %u %s %s %s -> %s", stamp, session.serial,
		    *session.export ? session.export : "-", session.address,
		    session.old_state, session.state);
}

static struct source sources[] = {
	{ RNBD_GENL_NAME, RNBD_GENL_EVENTS, print_disk, 0 },
	{ RNBDT_GENL_NAME, RNBDT_GENL_EVENTS, print_session, 0 },
};

/* Join the event group of a family, if the family exists. */
static void join(struct source *source)
{
	int family, group, ret;

	family = genl_ctrl_resolve(queries, source->name);
	if (family < 0)
		return;
	group = genl_ctrl_resolve_grp(queries, source->name, source->group);
	if (group < 0)
		return;
	ret = nl_socket_add_membership(events, group);
	denied |= ret == -NLE_PERM;
	if (ret)
		return;
	source->family = family;
	note("listening to %s", source->name);
}

/* Handle a new or removed family; the kernel has ended all memberships in a removed family. */
static void on_family(struct nlmsghdr *hdr)
{
	const struct genlmsghdr *genl = nlmsg_data(hdr);
	struct nlattr *tb[CTRL_ATTR_MAX + 1];
	const char *name;
	size_t i;

	if ((genl->cmd != CTRL_CMD_NEWFAMILY && genl->cmd != CTRL_CMD_DELFAMILY) ||
	    genlmsg_parse(hdr, 0, tb, CTRL_ATTR_MAX, NULL) ||
	    !tb[CTRL_ATTR_FAMILY_NAME])
		return;
	name = nla_get_string(tb[CTRL_ATTR_FAMILY_NAME]);
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		struct source *source = &sources[i];

		if (strcmp(source->name, name))
			continue;
		if (genl->cmd == CTRL_CMD_NEWFAMILY && !source->family) {
			join(source);
		} else if (genl->cmd == CTRL_CMD_DELFAMILY && source->family) {
			source->family = 0;
			note("%s was unloaded", name);
			/* Join now: the module was possibly loaded again before this event. */
			join(source);
		}
	}
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	char stamp[STAMP_SIZE];
	size_t i;

	(void)arg;
	if (hdr->nlmsg_type == GENL_ID_CTRL) {
		on_family(hdr);
		return NL_OK;
	}
	make_stamp(stamp);
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].family == hdr->nlmsg_type)
			sources[i].print(hdr, stamp);
	}
	return NL_OK;
}

static struct nl_sock *open_socket(void)
{
	struct nl_sock *sock = nl_socket_alloc();
	int ret;

	if (!sock) {
		err("out of memory");
		return NULL;
	}
	ret = genl_connect(sock);
	if (ret < 0) {
		err("cannot open a netlink socket: %s", nl_geterror(ret));
		nl_socket_free(sock);
		return NULL;
	}
	return sock;
}

static int open_sources(void)
{
	bool some = false;
	size_t i;
	int ret;

	/* Events are not replies, so their sequence numbers match no request. */
	nl_socket_disable_seq_check(events);
	nl_socket_modify_cb(events, NL_CB_VALID, NL_CB_CUSTOM, on_event, NULL);
	nl_socket_set_nonblocking(events);
	/* Ignore a failure: the command works with a smaller buffer, too. */
	nl_socket_set_buffer_size(events, EVENT_BUFFER, 0);

	ret = genl_ctrl_resolve_grp(queries, "nlctrl", "notify");
	if (ret >= 0)
		ret = nl_socket_add_membership(events, ret);
	if (ret < 0) {
		err("cannot listen to the kernel: %s", nl_geterror(ret));
		return RNBD_EXIT_FAIL;
	}
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		join(&sources[i]);
		some |= sources[i].family;
	}
	if (some)
		return RNBD_EXIT_OK;
	if (denied)
		err("not permitted; run it as root");
	else
		err("neither of the modules is loaded; "
		    "run: modprobe rnbd, or: modprobe rnbd-target");
	return RNBD_EXIT_FAIL;
}

/* Print events until a signal arrives or stdout fails. Returns an exit code. */
static int print_events(int signals)
{
	struct pollfd fds[] = {
		{ .fd = nl_socket_get_fd(events), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	int ret;

	while (!ferror(stdout)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
			if (errno == EINTR)
				continue;
			err("cannot wait for events: %s", strerror(errno));
			return RNBD_EXIT_FAIL;
		}
		if (fds[1].revents)
			break;
		ret = nl_recvmsgs_default(events);
		if (ret == -NLE_NOMEM) {
			/* libnl maps ENOBUFS to this error. */
			note("events were lost");
		} else if (ret < 0 && ret != -NLE_AGAIN && ret != -NLE_INTR) {
			err("cannot receive from the kernel: %s", nl_geterror(ret));
			return RNBD_EXIT_FAIL;
		}
	}
	return RNBD_EXIT_OK;
}

int cmd_monitor(const struct args *args)
{
	int ret = RNBD_EXIT_FAIL;
	sigset_t ending;
	int signals;

	json = args_has(args, "json");
	setvbuf(stdout, NULL, _IOLBF, 0);

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, NULL);
	signals = signalfd(-1, &ending, SFD_CLOEXEC);
	if (signals < 0) {
		err("cannot wait for signals: %s", strerror(errno));
		return RNBD_EXIT_FAIL;
	}

	queries = open_socket();
	events = queries ? open_socket() : NULL;
	if (events) {
		ret = open_sources();
		if (ret == RNBD_EXIT_OK)
			ret = print_events(signals);
	}
	nl_socket_free(events);
	nl_socket_free(queries);
	close(signals);
	return ret;
}
