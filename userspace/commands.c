// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command table: every command of the tool with its operands and options.
 *
 * Operation: main.c finds the row of a command in this table, args.c parses the
 * command line by that row, and help.c and cmd_completion.c print help and the
 * completion script from all rows. A new command is one row here.
 *
 * Ownership, concurrency: the table is constant.
 * Errors: none.
 */
#include <stddef.h>

#include "args.h"
#include "cmd.h"
#include "commands.h"
#include "options.h"

static const struct opt detach_opts[] = {
	{ "all", NULL, "all disks of this machine" },
	{ "force", NULL, "detach a disk that is in use; its I/O fails" },
	{ "wait", "SECONDS", "how long to wait while the disk is in use (default 2)" },
	{ "idempotent", NULL, "succeed if the disk is not attached" },
	{ }
};

static const struct opt secret_set_opts[] = {
	{ "secret-file", "FILE", "the new secret; -: standard input (required)", COMPLETE_FILE },
	{ "all", NULL, "all disks of this machine" },
	{ }
};

static const struct opt discover_opts[] = {
	{ "port", "N", "port of the target (default 4427)" },
	{ "secret-file", "FILE", "secret of this machine, if the target requires one",
	  COMPLETE_FILE },
	{ "host-id", "UUID", "identity of this machine (default: rnbd hostid)" },
	{ "json", NULL, "print JSON" },
	{ }
};

static const struct opt json_opts[] = {
	{ "json", NULL, "print JSON" },
	{ }
};

static const struct opt session_list_opts[] = {
	{ "client", NULL, "only the sessions of disks of this machine" },
	{ "target", NULL, "only the sessions of clients of this target" },
	{ "json", NULL, "print JSON" },
	{ }
};

static const struct opt stat_opts[] = {
	{ "all", NULL, "all disks: the first operand is INTERVAL" },
	{ "json", NULL, "print a JSON object per line" },
	{ "prometheus", NULL, "print the text format of Prometheus" },
	{ "output", "FILE", "with --prometheus: replace FILE atomically", COMPLETE_FILE },
	{ }
};

static const struct opt export_stat_opts[] = {
	{ "all", NULL, "all exports: the first operand is INTERVAL" },
	{ "json", NULL, "print a JSON object per line" },
	{ }
};

static const struct opt host_stat_opts[] = {
	{ "all", NULL, "all hosts: the first operand is INTERVAL" },
	{ "json", NULL, "print a JSON object per line" },
	{ }
};

static const struct opt monitor_opts[] = {
	{ "json", NULL, "print a JSON object per line" },
	{ }
};

static const struct opt export_add_opts[] = {
	{ "path", "PATH", "block device or file to export (required)",
	  COMPLETE_FILE },
	{ "read-only", NULL, "no client may write" },
	{ "cache", "MODE", "none (direct I/O, default) or pagecache",
	  "none pagecache" },
	{ "write-cache", "MODE", "acknowledged writes are durable (through, default) or not (back)",
	  "through back" },
	{ "uuid", "UUID", "identity of the data (default: random)" },
	{ "exclusive", NULL, "one host at a time may attach it" },
	{ "host", "UUID", "allow this host; may be repeated", COMPLETE_HOST,
	  .repeat = true },
	{ "read-only-host", "UUID", "allow this host to read; may be repeated", COMPLETE_HOST,
	  .repeat = true },
	{ "port", "ADDR[:PORT]", "listen at this address; may be repeated",
	  .repeat = true },
	{ "idempotent", NULL, "succeed if the export exists and matches these options" },
	{ }
};

static const struct opt export_remove_opts[] = {
	{ "prune", NULL, "also remove its ports and hosts that no other export uses" },
	{ "idempotent", NULL, "succeed if the export does not exist" },
	{ }
};

static const struct opt export_disable_opts[] = {
	{ "no-wait", NULL, "do not wait; rnbd export list shows when it is disabled" },
	{ "timeout", "SECONDS", "how long to wait for its I/O (default: until it ends)" },
	{ }
};

static const struct opt allow_opts[] = {
	{ "read-only", NULL, "the hosts may only read" },
	{ }
};

static const struct opt export_owner_opts[] = {
	{ "no-wait", NULL, "do not wait for the I/O of the earlier owner" },
	{ "timeout", "SECONDS", "how long to wait for its I/O (default: until it ends)" },
	{ }
};

static const struct opt deny_opts[] = {
	{ "no-wait", NULL, "do not wait; rnbd export show prints how many are closing" },
	{ "timeout", "SECONDS", "how long to wait for their I/O (default: until it ends)" },
	{ }
};

static const struct opt port_remove_opts[] = {
	{ "force", NULL, "remove a port that offers exports; its sessions end" },
	{ }
};

static const struct opt host_limit_opts[] = {
	{ "session-pool", "SIZE", "limit of each pool; none: the limit of the module", "none" },
	{ "sessions", "N", "limit of its sessions; none: the limit of the module", "none" },
	{ }
};

static const struct opt fence_opts[] = {
	{ "timeout", "SECONDS", "how long to wait for its I/O (default: until it ends)" },
	{ }
};

static const struct opt host_secret_opts[] = {
	{ "secret-file", "FILE", "secret by which the host authenticates; -: standard input",
	  COMPLETE_FILE },
	{ "rotate", NULL, "the current secret stays valid until --withdraw" },
	{ "withdraw", NULL, "invalidate the old secret; sessions that rely on it end" },
	{ "clear", NULL, "remove its secrets; the host no longer authenticates" },
	{ }
};

static const char disk_notes[] =
	"DISK is /dev/rnbdN, rnbdN, N, the name given at attach, the UUID of its export\n"
	"if no other disk has that export, or a path that leads to /dev/rnbdN.";

static const struct opt restore_opts[] = {
	{ "check", NULL, "only check the file and report its errors" },
	{ "compare", NULL, "only report what the target lacks of the file" },
	{ "clear", NULL, "first remove all exports, hosts and ports" },
	{ "wait", "SECONDS", "how long to wait for missing paths (default 0)" },
	{ }
};

static const struct opt clear_opts[] = {
	{ "force", NULL, "clear even if clients are attached; their sessions end" },
	{ }
};

const struct command commands[] = {
	{ "attach", "ADDR[:PORT] EXPORT | --config FILE", "attach an export as a local disk",
	  "ADDR is a name, an IPv4 address or an IPv6 address, in brackets if a\n"
	  "port follows. SIZE and BYTES take a suffix K, M or G. The target may\n"
	  "grant less than requested. Prints the device, such as /dev/rnbd0.",
	  attach_opts, 0, 2, NULL, NULL, cmd_attach },
	{ "discover", "ADDR[:PORT]", "show the exports that this machine may attach at a target",
	  "ADDR is written as in rnbd attach. Exports that are disabled, not offered\n"
	  "on this port or not allowed to this machine are not shown.",
	  discover_opts, 1, 1, NULL, NULL, cmd_discover },
	{ "deactivate", "DISK", "fail all I/O of a disk until it is detached", disk_notes,
	  NULL, 1, 1, COMPLETE_DISK, NULL, cmd_deactivate },
	{ "detach", "DISK | --all", "detach a disk", disk_notes,
	  detach_opts, 0, 1, COMPLETE_DISK, NULL, cmd_detach },
	{ "list", "[DISK]", "show attached disks", disk_notes,
	  json_opts, 0, 1, COMPLETE_DISK, NULL, cmd_list },
	{ "show", "DISK", "show everything about a disk", disk_notes,
	  json_opts, 1, 1, COMPLETE_DISK, NULL, cmd_show },
	{ "stat", "[DISK] [INTERVAL [COUNT]]", "show counters or rates of disks",
	  "Without INTERVAL, prints the counters since the attach; with it, rates every\n"
	  "INTERVAL seconds, COUNT times or until interrupted. The first operand is a disk,\n"
	  "as for rnbd list, even if it is a number; rates of all disks: rnbd stat --all 1\n"
	  "For a target: rnbd export stat, rnbd host stat; --prometheus includes its numbers.",
	  stat_opts, 0, 3, COMPLETE_DISK, NULL, cmd_stat },
	{ "hostid", "", "print the identity of this machine",
	  "Targets allow hosts by this UUID. It is created at the first use and kept in\n"
	  "/etc/rnbd/hostid.",
	  json_opts, 0, 0, NULL, NULL, cmd_hostid },
	{ "export add", "NAME", "export a block device or a file",
	  "Without --host no host may attach the export; see rnbd export allow.\n"
	  "Without --port it is offered on all existing ports; if there is none,\n"
	  "a port on 0.0.0.0:4427 is created.",
	  export_add_opts, 1, 1, NULL, NULL, cmd_export_add },
	{ "export remove", "NAME", "disable and remove an export", NULL,
	  export_remove_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_remove },
	{ "export list", "[NAME]", "show exports", NULL,
	  json_opts, 0, 1, COMPLETE_EXPORT, NULL, cmd_export_list },
	{ "export show", "NAME", "show everything about an export", NULL,
	  json_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_show },
	{ "export stat", "[NAME] [INTERVAL [COUNT]]", "show counters or rates of exports",
	  "Without INTERVAL, prints the counters since the export was created; with it, rates\n"
	  "every INTERVAL seconds, COUNT times or until interrupted. Times are those that\n"
	  "requests spent in the target. Rates of all exports: rnbd export stat --all 1",
	  export_stat_opts, 0, 3, COMPLETE_EXPORT, NULL, cmd_export_stat },
	{ "export allow", "NAME UUID...", "allow hosts to attach an export",
	  "With --read-only, a host that may read and write becomes one that may only read;\n"
	  "without it, the reverse. Its attachment is closed, and must be attached again.",
	  allow_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_allow },
	{ "export deny", "NAME UUID...", "deny hosts an export and close their attachments",
	  "Waits until the storage has completed their requests. The attachments close even if\n"
	  "the command is interrupted.",
	  deny_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_deny },
	{ "export enable", "NAME", "enable an export for its hosts", NULL,
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_enable },
	{ "export disable", "NAME", "close the attachments of an export and disable it",
	  "Waits until the storage has completed all requests. The attachments close even if\n"
	  "the command is interrupted.",
	  export_disable_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_disable },
	{ "export resize", "NAME", "update an export to the new size of its storage",
	  "Grow or shrink the block device or file first. Clients that have the\n"
	  "export attached see the new size at once.",
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_resize },
	{ "export window", "NAME [N | default]", "show or set the window of an export",
	  "N is the number of requests of 4 KiB that the storage has at a time; a longer request\n"
	  "counts as several. Further requests wait, and the hosts are served in turn. default:\n"
	  "the module parameter storage_window or rotational_window applies; it is shown as 0.\n"
	  "A new value takes effect at once.",
	  NULL, 1, 2, COMPLETE_EXPORT, "default", cmd_export_window },
	{ "export owner", "NAME [UUID | none]", "show, set or clear the owner of an export",
	  "The host that attaches an exclusive export owns it until it detaches, is fenced or\n"
	  "restarts, whether it is connected or not. none: the next host that attaches it owns\n"
	  "it. UUID: that host owns it. Disks of the earlier owner fail for good. The command\n"
	  "waits until the storage has completed the requests of the earlier owner.",
	  export_owner_opts, 1, 2, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_owner },
	{ "export record-owners", "", "record the owners of exclusive exports until interrupted",
	  "The record survives a crash of the target. The service rnbd-owners runs this command.",
	  NULL, 0, 0, NULL, NULL, cmd_export_record_owners },
	{ "host allow", "EXPORT UUID...", "allow hosts to attach an export",
	  "The same as rnbd export allow.",
	  allow_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_allow },
	{ "host deny", "EXPORT UUID...", "deny hosts an export and close their attachments",
	  "The same as rnbd export deny.",
	  deny_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_deny },
	{ "host limit", "UUID [SIZE | none]", "limit the pools and the sessions of a host",
	  "SIZE limits all its pools on this target together; none: only the limits of the\n"
	  "module apply. A size takes a suffix K, M or G. Limits that are not given do not\n"
	  "change. New limits apply to later logins; pools that are granted stay.",
	  host_limit_opts, 1, 2, COMPLETE_HOST, "none", cmd_host_limit },
	{ "host weight", "UUID [N]", "show or set the weight of a host",
	  "N is from 1 to 10000, and 100 by default. While requests of several hosts wait for\n"
	  "the same storage, each host is served in proportion to its weight. A new value\n"
	  "takes effect at once.",
	  NULL, 1, 2, COMPLETE_HOST, NULL, cmd_host_weight },
	{ "host cgroup", "UUID [PATH | none]", "show or set the cgroup of a host",
	  "PATH is the path of a cgroup of this machine below the mount point of cgroup2. Its\n"
	  "io.max, io.weight and io.stat apply to the requests of the host for exports that\n"
	  "bypass the page cache. While the cgroup is missing, its nearest ancestor applies.",
	  NULL, 1, 2, COMPLETE_HOST, "none", cmd_host_cgroup },
	{ "host secret", "UUID --secret-file FILE [--rotate] | UUID --withdraw | UUID --clear",
	  "require a host to authenticate",
	  "Give the same file to rnbd attach on that host. A changed secret ends the sessions of\n"
	  "the host, unless it is rotated. A copy is kept in /etc/rnbd/secrets.\n"
	  "To rotate a secret while disks are attached: --rotate here, rnbd secret set on that\n"
	  "host, --withdraw here.",
	  host_secret_opts, 1, 1, COMPLETE_HOST, NULL, cmd_host_secret },
	{ "host remove", "UUID", "remove a host that is allowed no export", NULL,
	  NULL, 1, 1, COMPLETE_HOST, NULL, cmd_host_remove },
	{ "host list", "", "show hosts and the exports that they may attach", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_host_list },
	{ "host stat", "[UUID] [INTERVAL [COUNT]]", "show counters or rates of hosts",
	  "The same as rnbd export stat, for all exports that a host uses.",
	  host_stat_opts, 0, 3, COMPLETE_HOST, NULL, cmd_host_stat },
	{ "host fencing", "UUID restart|unfence", "set what ends the fencing of a host",
	  "restart: the host may log in again after its rnbd module was reloaded, so that it\n"
	  "has no earlier request to send. unfence, the default: only after rnbd unfence.",
	  NULL, 2, 2, COMPLETE_HOST, NULL, cmd_host_fencing },
	{ "fence", "UUID", "exclude a host from the storage",
	  "Ends the sessions of the host and rejects its logins until rnbd unfence. Waits until\n"
	  "all requests of the host in flight have ended, and only then exits with code 0.\n"
	  "Disks that the host has attached fail for good.",
	  fence_opts, 1, 1, COMPLETE_HOST, NULL, cmd_fence },
	{ "unfence", "UUID", "allow a fenced host to log in again",
	  "Use it only after the host has certainly restarted or detached its disks.",
	  NULL, 1, 1, COMPLETE_HOST, NULL, cmd_unfence },
	{ "fenced", "[UUID]", "show which hosts are fenced",
	  "Prints no, draining (fenced, but its I/O has not ended yet) or fenced.",
	  json_opts, 0, 1, COMPLETE_HOST, NULL, cmd_fenced },
	{ "secret generate", "[FILE]", "generate a secret for a host",
	  "FILE is created, readable by its owner only; an existing file is not replaced.\n"
	  "Without FILE the secret is printed.",
	  NULL, 0, 1, COMPLETE_FILE, NULL, cmd_secret_generate },
	{ "secret set", "DISK | --all", "replace the secret of an attached disk",
	  "The connection stays. From the next login on, client and target authenticate each\n"
	  "other with the new secret. DISK is written as in rnbd detach.",
	  secret_set_opts, 0, 1, COMPLETE_DISK, NULL, cmd_secret_set },
	{ "port add", "ADDR[:PORT]", "listen at an address of this machine",
	  "ADDR is numeric, and in brackets if it is IPv6 and a port follows. Prints\n"
	  "the ID of the port.",
	  NULL, 1, 1, NULL, NULL, cmd_port_add },
	{ "port remove", "ID | ADDR[:PORT]", "stop listening and remove a port", NULL,
	  port_remove_opts, 1, 1, COMPLETE_PORT, NULL, cmd_port_remove },
	{ "port list", "", "show ports and the exports that they offer", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_port_list },
	{ "save", "[FILE]", "write the target's configuration to a file",
	  "FILE is /etc/rnbd/target.json by default; - is standard output.",
	  NULL, 0, 1, COMPLETE_FILE, NULL, cmd_save },
	{ "restore", "[FILE]", "configure the target from a file",
	  "FILE is /etc/rnbd/target.json by default; - is standard input. Existing objects\n"
	  "are not changed; differences between them and the file are reported.",
	  restore_opts, 0, 1, COMPLETE_FILE, NULL, cmd_restore },
	{ "clear", "", "remove all exports, hosts and ports", NULL,
	  clear_opts, 0, 0, NULL, NULL, cmd_clear },
	{ "session list", "", "show the sessions of this machine with targets and clients",
	  "First the sessions of its disks, then those of the clients of this target. Disks that\n"
	  "are attached at one address share a session. A module that is not loaded has none.",
	  session_list_opts, 0, 0, NULL, NULL, cmd_session_list },
	{ "monitor", "", "print changes of state as they happen",
	  "Prints one line for each change of a disk or of a session of the target of this\n"
	  "machine, until interrupted. The modules may be loaded or unloaded concurrently.",
	  monitor_opts, 0, 0, NULL, NULL, cmd_monitor },
	{ "help", "[COMMAND]", "show the help of a command", NULL,
	  NULL, 0, 2, COMPLETE_COMMAND, COMPLETE_COMMAND, cmd_help },
	{ "completion", "bash", "print a shell completion script", NULL,
	  NULL, 1, 1, "bash", NULL, cmd_completion },
	{ }
};
