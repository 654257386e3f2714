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
	{ "force", NULL, "even if it is in use; its I/O fails" },
	{ "wait", "SECONDS", "wait for so long while it is in use (default 2)" },
	{ "idempotent", NULL, "it is fine if it is not attached" },
	{ }
};

static const struct opt secret_set_opts[] = {
	{ "secret-file", "FILE", "the new secret; -: standard input (needed)", COMPLETE_FILE },
	{ "all", NULL, "all disks of this machine" },
	{ }
};

static const struct opt discover_opts[] = {
	{ "port", "N", "port of the target (default 4427)" },
	{ "secret-file", "FILE", "secret of this machine, if the target asks for it",
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
	{ "all", NULL, "all disks: what stands first is INTERVAL" },
	{ "json", NULL, "print a JSON object per line" },
	{ "prometheus", NULL, "print the text format of Prometheus" },
	{ "output", "FILE", "replace FILE by that, in one step", COMPLETE_FILE },
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
	{ "path", "PATH", "block device or file to export (needed)",
	  COMPLETE_FILE },
	{ "read-only", NULL, "no client may write" },
	{ "cache", "MODE", "none (direct I/O, default) or pagecache",
	  "none pagecache" },
	{ "write-cache", "MODE", "acknowledged means durable (through, default) or not (back)",
	  "through back" },
	{ "uuid", "UUID", "identity of the data (default: random)" },
	{ "exclusive", NULL, "one host at a time may attach it" },
	{ "host", "UUID", "allow this host; may be repeated", COMPLETE_HOST,
	  .repeat = true },
	{ "read-only-host", "UUID", "allow this host to read; may be repeated", COMPLETE_HOST,
	  .repeat = true },
	{ "port", "ADDR[:PORT]", "listen there; may be repeated",
	  .repeat = true },
	{ "idempotent", NULL, "fine if it is there and fulfils these wishes" },
	{ }
};

static const struct opt export_remove_opts[] = {
	{ "prune", NULL, "also its ports and hosts that no other export uses" },
	{ "idempotent", NULL, "fine if it is not there" },
	{ }
};

static const struct opt export_disable_opts[] = {
	{ "no-wait", NULL, "only begin; rnbd export list shows when it is disabled" },
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
	{ "no-wait", NULL, "do not wait; rnbd export show tells how many are closing" },
	{ "timeout", "SECONDS", "how long to wait for their I/O (default: until it ends)" },
	{ }
};

static const struct opt port_remove_opts[] = {
	{ "force", NULL, "even if it offers exports; their sessions there end" },
	{ }
};

static const struct opt host_limit_opts[] = {
	{ "session-pool", "SIZE", "each of them; or none: no limit of its own", "none" },
	{ "sessions", "N", "how many sessions it may have; or none", "none" },
	{ }
};

static const struct opt fence_opts[] = {
	{ "timeout", "SECONDS", "how long to wait for its I/O (default: until it ends)" },
	{ }
};

static const struct opt host_secret_opts[] = {
	{ "secret-file", "FILE", "the host must prove that it knows this; -: standard input",
	  COMPLETE_FILE },
	{ "rotate", NULL, "the present secret counts as well, until --withdraw" },
	{ "withdraw", NULL, "the old secret no longer counts; sessions that rely on it end" },
	{ "clear", NULL, "remove its secrets; the host no longer authenticates" },
	{ }
};

static const char disk_notes[] =
	"DISK is /dev/rnbdN, rnbdN, N, the name that it was attached with, the UUID of\n"
	"its export if no other disk has that, or a path that leads to /dev/rnbdN.";

static const struct opt restore_opts[] = {
	{ "check", NULL, "only say what is wrong with the file" },
	{ "compare", NULL, "only say what of the file is not there" },
	{ "clear", NULL, "first remove all exports, hosts and ports there are" },
	{ "wait", "SECONDS", "wait so long for paths that are not there (default 0)" },
	{ }
};

static const struct opt clear_opts[] = {
	{ "force", NULL, "even if clients are attached; their sessions end" },
	{ }
};

const struct command commands[] = {
	{ "attach", "ADDR[:PORT] EXPORT | --config FILE", "attach an export as a local disk",
	  "ADDR is a name, an IPv4 address or an IPv6 address, in brackets if a\n"
	  "port follows. SIZE and BYTES take a suffix K, M or G. Numbers are\n"
	  "wishes: the target may grant less. Prints the device, /dev/rnbd0.",
	  attach_opts, 0, 2, NULL, NULL, cmd_attach },
	{ "discover", "ADDR[:PORT]", "show what this machine may attach at a target",
	  "ADDR is written as in rnbd attach. Exports that are disabled, not offered\n"
	  "on this port or not for this machine are not shown.",
	  discover_opts, 1, 1, NULL, NULL, cmd_discover },
	{ "deactivate", "DISK", "let all I/O of a disk fail, until it is detached", disk_notes,
	  NULL, 1, 1, COMPLETE_DISK, NULL, cmd_deactivate },
	{ "detach", "DISK | --all", "detach a disk", disk_notes,
	  detach_opts, 0, 1, COMPLETE_DISK, NULL, cmd_detach },
	{ "list", "[DISK]", "show attached disks", disk_notes,
	  json_opts, 0, 1, COMPLETE_DISK, NULL, cmd_list },
	{ "show", "DISK", "show everything about a disk", disk_notes,
	  json_opts, 1, 1, COMPLETE_DISK, NULL, cmd_show },
	{ "stat", "[DISK] [INTERVAL [COUNT]]", "show counters or rates of disks",
	  "Without INTERVAL the counters since the attach, with it rates each so many\n"
	  "seconds, COUNT times or until it is interrupted. The first operand is a disk, as\n"
	  "for rnbd list, also if it is a number; rates of all disks: rnbd stat --all 1\n"
	  "Of a target: rnbd export stat, rnbd host stat; --prometheus has its numbers too.",
	  stat_opts, 0, 3, COMPLETE_DISK, NULL, cmd_stat },
	{ "hostid", "", "print the identity of this machine",
	  "A target allows hosts by it. It is made at the first use and kept in\n"
	  "/etc/rnbd/hostid.",
	  json_opts, 0, 0, NULL, NULL, cmd_hostid },
	{ "export add", "NAME", "export a block device or a file",
	  "Without --host nobody may attach it; see rnbd export allow. Without\n"
	  "--port it is offered on all ports there are; if there is none, a port\n"
	  "on 0.0.0.0:4427 is made.",
	  export_add_opts, 1, 1, NULL, NULL, cmd_export_add },
	{ "export remove", "NAME", "stop exporting and forget", NULL,
	  export_remove_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_remove },
	{ "export list", "[NAME]", "show exports", NULL,
	  json_opts, 0, 1, COMPLETE_EXPORT, NULL, cmd_export_list },
	{ "export show", "NAME", "show all about an export", NULL,
	  json_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_show },
	{ "export stat", "[NAME] [INTERVAL [COUNT]]", "show counters or rates of exports",
	  "Without INTERVAL the counters since the export was made, with it rates each so\n"
	  "many seconds, COUNT times or until it is interrupted. Times are those that requests\n"
	  "spent in the target. Rates of all exports: rnbd export stat --all 1",
	  export_stat_opts, 0, 3, COMPLETE_EXPORT, NULL, cmd_export_stat },
	{ "export allow", "NAME UUID...", "let hosts attach an export",
	  "A host that may read and write becomes one that may only read with --read-only, and\n"
	  "the other way round without it. Its attachment is closed; it has to be attached again.",
	  allow_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_allow },
	{ "export deny", "NAME UUID...", "end that, and close their attachments",
	  "That waits for the storage. It ends nevertheless if you stop waiting.",
	  deny_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_deny },
	{ "export enable", "NAME", "open an export to its hosts", NULL,
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_enable },
	{ "export disable", "NAME", "end its attachments and close it",
	  "That waits for the storage. It ends nevertheless if you stop waiting.",
	  export_disable_opts, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_disable },
	{ "export resize", "NAME", "take over the size of what is exported",
	  "Grow or shrink the block device or file first. Whoever has the export\n"
	  "attached sees the new size at once.",
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_resize },
	{ "export window", "NAME [N | default]", "show or set how many requests its storage gets",
	  "N is a number of requests of 4 KiB; a longer request counts as several. When the\n"
	  "storage has so many, further requests wait, and the hosts take turns. default: the\n"
	  "module parameter storage_window or rotational_window applies; it is shown as 0.\n"
	  "A new value takes effect at once.",
	  NULL, 1, 2, COMPLETE_EXPORT, "default", cmd_export_window },
	{ "export owner", "NAME [UUID | none]", "show, move or end the ownership of an export",
	  "The host that attaches an exclusive export owns it until it detaches, is fenced or\n"
	  "restarts, whether it is connected or not. none: the next host that attaches it owns\n"
	  "it. UUID: that host owns it. Disks of the earlier owner fail for good. The command\n"
	  "waits for the I/O of that host which the storage has.",
	  export_owner_opts, 1, 2, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_owner },
	{ "export keep", "", "record who owns exclusive exports, until it is interrupted",
	  "So that the owners outlive a crash of the target; the service rnbd-owners runs it.",
	  NULL, 0, 0, NULL, NULL, cmd_export_keep },
	{ "host allow", "EXPORT UUID...", "let hosts attach an export",
	  "The same as rnbd export allow.",
	  allow_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_allow },
	{ "host deny", "EXPORT UUID...", "end that, and close their attachments",
	  "The same as rnbd export deny.",
	  deny_opts, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_deny },
	{ "host limit", "UUID [SIZE | none]", "bound the pools and the sessions of a host",
	  "SIZE is for all its pools on this target together; none: no limit of its own,\n"
	  "those of the module count. A size takes a suffix K, M or G. What is not given\n"
	  "stays. It counts for logins to come; pools that are given out stay.",
	  host_limit_opts, 1, 2, COMPLETE_HOST, "none", cmd_host_limit },
	{ "host weight", "UUID [N]", "show or set the share of a host in the storage",
	  "N is from 1 to 10000, and 100 by default. While requests of several hosts wait for\n"
	  "the same storage, each host is served in proportion to its weight. A new value\n"
	  "takes effect at once.",
	  NULL, 1, 2, COMPLETE_HOST, NULL, cmd_host_weight },
	{ "host cgroup", "UUID [PATH | none]", "show or set the cgroup of a host",
	  "PATH is that of a cgroup of this machine, below the mount of cgroup2. Its io.max,\n"
	  "io.weight and io.stat are those of the requests of the host for exports that bypass\n"
	  "the page cache. While it does not exist, those of its nearest ancestor are.",
	  NULL, 1, 2, COMPLETE_HOST, "none", cmd_host_cgroup },
	{ "host secret", "UUID --secret-file FILE [--rotate] | UUID --withdraw | UUID --clear",
	  "demand proof of who a host is",
	  "Give the same file to rnbd attach on that host. Its sessions end if the secret is\n"
	  "another one than before, unless it is rotated. A copy is kept in /etc/rnbd/secrets.\n"
	  "To rotate a secret while disks are attached: --rotate here, rnbd secret set on that\n"
	  "host, --withdraw here.",
	  host_secret_opts, 1, 1, COMPLETE_HOST, NULL, cmd_host_secret },
	{ "host remove", "UUID", "forget a host that may attach nothing", NULL,
	  NULL, 1, 1, COMPLETE_HOST, NULL, cmd_host_remove },
	{ "host list", "", "show hosts and what they may attach", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_host_list },
	{ "host stat", "[UUID] [INTERVAL [COUNT]]", "show counters or rates of hosts",
	  "The same as rnbd export stat, for all exports that a host uses.",
	  host_stat_opts, 0, 3, COMPLETE_HOST, NULL, cmd_host_stat },
	{ "host fencing", "UUID restart|unfence", "set until when a host stays fenced",
	  "restart: until its rnbd module was loaded anew, so that it has nothing left to\n"
	  "send. unfence, the default: only until rnbd unfence.",
	  NULL, 2, 2, COMPLETE_HOST, NULL, cmd_host_fencing },
	{ "fence", "UUID", "let nothing of a host reach the storage any more",
	  "Its sessions end and it is not let in until rnbd unfence. The command ends when\n"
	  "all that the host had under way is at its end, and only then with exit code 0.\n"
	  "Disks that the host has attached fail for good.",
	  fence_opts, 1, 1, COMPLETE_HOST, NULL, cmd_fence },
	{ "unfence", "UUID", "let a host in again",
	  "Not before it was certainly started anew, or has let go of its disks.",
	  NULL, 1, 1, COMPLETE_HOST, NULL, cmd_unfence },
	{ "fenced", "[UUID]", "show which hosts are fenced",
	  "no; draining: fenced, but its I/O has not ended yet; or fenced.",
	  json_opts, 0, 1, COMPLETE_HOST, NULL, cmd_fenced },
	{ "secret generate", "[FILE]", "make a secret for a host",
	  "FILE is made, for its owner only; one that is there is not replaced. Without\n"
	  "FILE the secret is printed.",
	  NULL, 0, 1, COMPLETE_FILE, NULL, cmd_secret_generate },
	{ "secret set", "DISK | --all", "replace the secret of a disk that is attached",
	  "The connection stays. From its next login on the disk proves the new secret, and\n"
	  "asks the target for it. DISK is written as in rnbd detach.",
	  secret_set_opts, 0, 1, COMPLETE_DISK, NULL, cmd_secret_set },
	{ "port add", "ADDR[:PORT]", "listen at an address of this machine",
	  "ADDR is numeric, and in brackets if it is IPv6 and a port follows. Prints\n"
	  "the ID of the port.",
	  NULL, 1, 1, NULL, NULL, cmd_port_add },
	{ "port remove", "ID | ADDR[:PORT]", "stop listening and forget", NULL,
	  port_remove_opts, 1, 1, COMPLETE_PORT, NULL, cmd_port_remove },
	{ "port list", "", "show ports and what they offer", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_port_list },
	{ "save", "[FILE]", "write the target's configuration to a file",
	  "FILE is /etc/rnbd/target.json if it is not given, and - for standard output.",
	  NULL, 0, 1, COMPLETE_FILE, NULL, cmd_save },
	{ "restore", "[FILE]", "make the target as a file says",
	  "FILE is /etc/rnbd/target.json if it is not given, and - for standard input.\n"
	  "What is there already stays, also if the file says something else of it;\n"
	  "that is reported then.",
	  restore_opts, 0, 1, COMPLETE_FILE, NULL, cmd_restore },
	{ "clear", "", "remove all exports, hosts and ports", NULL,
	  clear_opts, 0, 0, NULL, NULL, cmd_clear },
	{ "session list", "", "show the sessions of this machine with targets and clients",
	  "First those of its disks, then those of the clients of this target. Disks that are\n"
	  "attached at one address share a session. A module that is not loaded has none.",
	  session_list_opts, 0, 0, NULL, NULL, cmd_session_list },
	{ "monitor", "", "print changes of state as they happen",
	  "Of the disks and of the target's sessions of this machine, one line each,\n"
	  "until it is interrupted. A module may be loaded or unloaded meanwhile.",
	  monitor_opts, 0, 0, NULL, NULL, cmd_monitor },
	{ "help", "[COMMAND]", "explain a command", NULL,
	  NULL, 0, 2, COMPLETE_COMMAND, COMPLETE_COMMAND, cmd_help },
	{ "completion", "bash", "print a completion script", NULL,
	  NULL, 1, 1, "bash", NULL, cmd_completion },
	{ }
};
