// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd - the administration tool.
 *
 * Operation: the table below names every command with its operands and
 * options. main() finds the row, parses the command line by it, and runs it;
 * help.c makes help and completion of the same rows.
 *
 * Ownership: strings of the command line are used in place.
 * Concurrency: one thread.
 * Errors: one line on stderr, and the exit codes of util.h.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rnbd/version.h>

#include "command.h"
#include "parse.h"
#include "util.h"

static const struct opt attach_opts[] = {
	{ "port", "N", "port of the target (default 4427)" },
	{ "queues", "N", "queues, each with its own connection" },
	{ "poll-queues", "N", "further queues for I/O that polls (default 0)" },
	{ "queue-depth", "N", "requests in flight on one queue" },
	{ "ring-slots", "N", "slots of the control ring" },
	{ "slot-size", "BYTES", "size of such a slot" },
	{ "pool", "SIZE", "size of the delegated buffer pool" },
	{ "max-io", "SIZE", "largest request" },
	{ "policy", "POLICY", "without a connection I/O waits (queue, default) or fails (fail)",
	  "queue fail" },
	{ "fast-io-fail", "SECONDS",
	  "without a connection for so long I/O fails (default 0: never)" },
	{ "loss-timeout", "SECONDS", "then give up connecting (default 600, 0: never)" },
	{ "keepalive", "MS", "time between signs of life (default 2000)" },
	{ "inline-read", "SIZE", "reads up to this come inside the reply (default 4K)" },
	{ "inline-write", "SIZE", "writes up to this go inside the request (default 4K)" },
	{ "read-only", NULL, "never write" },
	{ "transfer", "MODE", "zero-copy (default), or copy: through bounce buffers" },
	{ "early-release", NULL, "reuse pool space behind the fence" },
	{ "secret-file", "FILE", "prove to the target who this is, and have it prove that too",
	  COMPLETE_FILE },
	{ "name", "NAME", "call the disk so, besides rnbdN" },
	{ "idempotent", NULL, "it is fine if it is attached already, and just so" },
	{ "host-id", "UUID", "identity of this machine (default: rnbd hostid)" },
	{ "config", "FILE", "take all that from a file, rnbd-attach.conf(5)", COMPLETE_FILE },
	{ "wait", "SECONDS", "ask for so long while the target is not there (default 0)" },
	{ "json", NULL, "print what was granted as JSON" },
	{ }
};

static const struct opt detach_opts[] = {
	{ "all", NULL, "all disks of this machine" },
	{ "force", NULL, "even if it is in use; its I/O fails" },
	{ "wait", "SECONDS", "wait for so long while it is in use (default 2)" },
	{ "idempotent", NULL, "it is fine if it is not attached" },
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

static const struct opt stat_opts[] = {
	{ "all", NULL, "all disks: what stands first is INTERVAL" },
	{ "json", NULL, "print a JSON object per line" },
	{ "prometheus", NULL, "print the text format of Prometheus" },
	{ "output", "FILE", "replace FILE by that, in one step", COMPLETE_FILE },
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
	{ "host", "UUID", "allow this host; may be repeated", COMPLETE_HOST,
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
	{ "secret-file", "FILE", "the host has to prove that it knows this", COMPLETE_FILE },
	{ "clear", NULL, "it has not to prove anything any more" },
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
	  "for rnbd list, also if it is a number; rates of all disks: rnbd stat --all 1",
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
	{ "export allow", "NAME UUID...", "let hosts attach an export", NULL,
	  NULL, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_allow },
	{ "export deny", "NAME UUID...", "end that, and their sessions", NULL,
	  NULL, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_export_deny },
	{ "export enable", "NAME", "open an export to its hosts", NULL,
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_enable },
	{ "export disable", "NAME", "end its sessions and close it", NULL,
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_disable },
	{ "export resize", "NAME", "take over the size of what is exported",
	  "Grow or shrink the block device or file first. Whoever has the export\n"
	  "attached sees the new size at once.",
	  NULL, 1, 1, COMPLETE_EXPORT, NULL, cmd_export_resize },
	{ "host allow", "EXPORT UUID...", "let hosts attach an export",
	  "The same as rnbd export allow.",
	  NULL, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_allow },
	{ "host deny", "EXPORT UUID...", "end that, and their sessions",
	  "The same as rnbd export deny.",
	  NULL, 2, -1, COMPLETE_EXPORT, COMPLETE_HOST, cmd_host_deny },
	{ "host limit", "UUID [SIZE | none]", "bound the pools and the sessions of a host",
	  "SIZE is for all its pools on this target together; none: no limit of its own,\n"
	  "those of the module count. A size takes a suffix K, M or G. What is not given\n"
	  "stays. It counts for logins to come; pools that are given out stay.",
	  host_limit_opts, 1, 2, COMPLETE_HOST, "none", cmd_host_limit },
	{ "host secret", "UUID --secret-file FILE | UUID --clear", "demand proof of who a host is",
	  "Give the same file to rnbd attach on that host. Its sessions end if the secret is\n"
	  "another one than before. A copy is kept in /etc/rnbd/secrets for rnbd restore.",
	  host_secret_opts, 1, 1, COMPLETE_HOST, NULL, cmd_host_secret },
	{ "host remove", "UUID", "forget a host that may attach nothing", NULL,
	  NULL, 1, 1, COMPLETE_HOST, NULL, cmd_host_remove },
	{ "host list", "", "show hosts and what they may attach", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_host_list },
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
	{ "session list", "", "show who is attached to this target", NULL,
	  json_opts, 0, 0, NULL, NULL, cmd_session_list },
	{ "monitor", "", "print changes of state as they happen",
	  "Of the disks and of the target's sessions of this machine, one line each,\n"
	  "until it is interrupted. A module may be loaded or unloaded meanwhile.",
	  monitor_opts, 0, 0, NULL, NULL, cmd_monitor },
	{ "help", "[COMMAND]", "explain a command", NULL,
	  NULL, 0, 2, COMPLETE_COMMAND, COMPLETE_COMMAND, cmd_help },
	{ "completion", "bash", "print a completion script", NULL,
	  NULL, 1, 1, "bash", NULL, cmd_completion },
};

const size_t nr_commands = ARRAY_SIZE(commands);

/**
 * args_next() - the values of an option that may be repeated
 * @args: command line
 * @name: of the option
 * @pos: where to go on, 0 at first
 *
 * Return: the next value ("" if the option takes none), NULL at the end.
 */
const char *args_next(const struct args *args, const char *name, size_t *pos)
{
	while (*pos < args->nr_given) {
		size_t i = (*pos)++;

		if (!strcmp(args->given[i].opt->name, name))
			return args->given[i].value ? args->given[i].value : "";
	}
	return NULL;
}

const char *args_value(const struct args *args, const char *name)
{
	size_t pos = 0;

	return args_next(args, name, &pos);
}

bool args_has(const struct args *args, const char *name)
{
	return args_value(args, name);
}

/* Reads an optional number; returns an exit code, 0 if all is well. */
int args_number(const struct args *args, const char *name, uint32_t min, uint32_t max,
		uint32_t *out)
{
	const char *value = args_value(args, name);

	if (value && parse_u32(value, min, max, out))
		return usage_err("--%s %s: wanted a number from %u to %u", name,
				 value, min, max);
	return 0;
}

/* Options as getopt wants them; the value is the index into cmd->opts + 256. */
static struct option *long_options(const struct command *cmd)
{
	size_t nr = 0, i;
	struct option *options;

	while (cmd->opts && cmd->opts[nr].name)
		nr++;

	options = xcalloc(nr + 2, sizeof(*options));
	for (i = 0; i < nr; i++) {
		options[i].name = cmd->opts[i].name;
		options[i].has_arg = cmd->opts[i].arg ? required_argument :
							no_argument;
		options[i].val = i + 256;
	}
	options[nr].name = "help";
	options[nr].val = 'h';
	return options;
}

/* Says what is wrong with an option that getopt, which stands behind it, did not take. */
static int bad_option(const struct command *cmd, const struct option *options, const char *word)
{
	const size_t len = strcspn(word, "=") - 2;
	struct strlist names = { };
	char *joined;

	/* the value of a long option that takes none, or the letter of a short one */
	if (optopt == 'h' || optopt >= 256)
		return usage_err("%s: the option takes no value; see: rnbd help %s", word,
				 cmd->name);
	if (optopt)
		return usage_err("-%c is not understood; see: rnbd help %s",
				 isascii(optopt) ? optopt : '?', cmd->name);
	for (; options->name; options++) {
		if (!strncmp(options->name, word + 2, len)) {
			joined = xasprintf("--%s", options->name);
			strlist_add(&names, joined);
			free(joined);
		}
	}
	joined = strlist_join(&names, " or ");
	if (names.nr)
		usage_err("%s may be %s; see: rnbd help %s", word, joined, cmd->name);
	else
		usage_err("%s is not understood; see: rnbd help %s", word, cmd->name);
	free(joined);
	strlist_free(&names);
	return RNBD_EXIT_USAGE;
}

/*
 * Parses argv by the row of the command, argv[0] being the (last) word of its
 * name. Returns -1 if the command is to run, otherwise an exit code.
 */
static int parse_args(struct args *args, int argc, char **argv)
{
	const struct command *cmd = args->cmd;
	struct option *options = long_options(cmd);
	int ret = -1;
	int c;

	args->given = xcalloc(argc, sizeof(*args->given));
	opterr = 0;
	/* 0, not 1: the GNU way to start over, with permutation */
	optind = 0;

	while (ret < 0 && (c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		const struct opt *opt;

		switch (c) {
		case 'h':
			help_command(cmd);
			ret = RNBD_EXIT_OK;
			break;
		case ':':
			ret = usage_err("%s needs a value; see: rnbd help %s",
					argv[optind - 1], cmd->name);
			break;
		case '?':
			ret = bad_option(cmd, options, argv[optind - 1]);
			break;
		default:
			opt = &cmd->opts[c - 256];
			if (!opt->repeat && args_has(args, opt->name)) {
				ret = usage_err("--%s is given twice", opt->name);
				break;
			}
			args->given[args->nr_given].opt = opt;
			args->given[args->nr_given].value = optarg;
			args->nr_given++;
		}
	}
	free(options);
	if (ret >= 0)
		return ret;

	args->operand = argv + optind;
	args->nr_operands = argc - optind;
	if (args->nr_operands < cmd->min)
		return usage_err("an operand is missing; usage: rnbd %s %s",
				 cmd->name, cmd->operands);
	if (cmd->max >= 0 && args->nr_operands > cmd->max)
		return usage_err("\"%s\" is too much; usage: rnbd %s %s",
				 args->operand[cmd->max], cmd->name,
				 cmd->operands);
	return -1;
}

/* Finds the command of one word or two; *words says how many. */
static const struct command *find_command(int argc, char **argv, int *words)
{
	size_t i;

	for (i = 0; i < nr_commands; i++) {
		const char *name = commands[i].name;
		const char *second = strchr(name, ' ');
		size_t len = second ? (size_t)(second - name) : strlen(name);

		if (strlen(argv[0]) != len || strncmp(argv[0], name, len))
			continue;
		if (second && (argc < 2 || strcmp(argv[1], second + 1)))
			continue;
		*words = second ? 2 : 1;
		return &commands[i];
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	struct args args = { };
	int words = 1;
	int ret;

	if (argc < 2) {
		help_all();
		return RNBD_EXIT_USAGE;
	}
	argc--;
	argv++;

	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		puts("rnbd " RNBD_RELEASE);
		return RNBD_EXIT_OK;
	}
	if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		help_all();
		return RNBD_EXIT_OK;
	}

	args.cmd = find_command(argc, argv, &words);
	if (!args.cmd && is_group(argv[0])) {
		if (argc > 1 && (!strcmp(argv[1], "--help") ||
				 !strcmp(argv[1], "-h")))
			return help_group(argv[0]);
		if (argc > 1)
			return usage_err("there is no command \"%s %s\"; see: rnbd help %s",
					 argv[0], argv[1], argv[0]);
		return usage_err("%s needs a command; see: rnbd help %s",
				 argv[0], argv[0]);
	}
	if (!args.cmd)
		return usage_err("there is no command \"%s\"; see: rnbd help",
				 argv[0]);

	context_set("%s", args.cmd->name);
	ret = parse_args(&args, argc - words + 1, argv + words - 1);
	if (ret < 0)
		ret = args.cmd->run(&args);
	free(args.given);
	return ret;
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv);

	/* A full disk behind "rnbd list >file" is a failure too. */
	if (fflush(stdout) || ferror(stdout)) {
		context_set("%s", "");
		err("cannot write the output: %s", strerror(errno));
		if (ret == RNBD_EXIT_OK)
			ret = RNBD_EXIT_FAIL;
	}
	return ret;
}
