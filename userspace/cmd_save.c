// SPDX-License-Identifier: GPL-2.0-only
/*
 * rnbd save, restore and clear: save, restore and remove the configuration of the target.
 *
 * Operation: "save" first parses the text that it would write, as "restore" does, and
 * fails if "restore" would reject it. "save" then writes a new file to stable storage and
 * renames it, so that readers see the old or the new file as a whole, also after a power
 * failure. With --wait, "restore" waits for missing devices of exports. Before the wait it
 * restores everything, except that it does not enable the exports that lack their device.
 * Ownership: the file belongs to the administrator; a replaced file keeps its owner. A
 * symbolic link stays, and the file that it leads to is replaced; a link that leads to no
 * file is an error. Only the owner of the file may read it, because it lists the UUIDs of
 * the hosts: any client that knows the UUID of a host without a secret can attach as this
 * host.
 * Concurrency: after two concurrent saves, the file is that of the save that renamed its new
 * file last.
 * Errors: one line for each error. A "save" that fails leaves no temporary file, and leaves
 * the old file unchanged unless only the last step has failed, the sync of the directory.
 * "clear" also ends sessions that begin while it runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "configfs.h"
#include "file_replace.h"
#include "netlink_target.h"
#include "secret_store.h"
#include "target_apply.h"

#define TARGET_CONFIG_DIR	"/etc/rnbd"
#define TARGET_CONFIG_FILE	TARGET_CONFIG_DIR "/target.json"
#define PATH_NAP_MS	500
#define FILE_MAX	(32U << 20)	/* bytes; tens of thousands of exports */

static const char *file_operand(const struct args *args)
{
	return args->nr_operands ? args->operand[0] : TARGET_CONFIG_FILE;
}

/* ------------------------------------------------------------------------
 * Reading
 */

/*
 * Read a file into a string, but at most FILE_MAX + 1 bytes, which suffice to detect a file
 * that is too large. Returns NULL after an error message.
 */
static char *read_file(const char *file, size_t *len)
{
	FILE *in = strcmp(file, "-") ? fopen(file, "re") : stdin;
	char *text = xcalloc(FILE_MAX + 2, 1);
	bool bad = !in;

	if (in) {
		*len = fread(text, 1, FILE_MAX + 1, in);
		bad = ferror(in);
	}
	if (bad) {
		err("cannot read it: %s", strerror(errno));
		free(text);
		text = NULL;
	}
	if (in && in != stdin)
		fclose(in);
	return text;
}

/*
 * Read and parse a file. Returns an exit code: RNBD_EXIT_USAGE if the contents are invalid, or
 * RNBD_EXIT_FAIL if the file cannot be read; only in this case can a retry succeed.
 */
static int load(const char *file, struct target_config *config)
{
	size_t len;
	char *text = read_file(file, &len);
	int ret = RNBD_EXIT_OK;

	*config = (struct target_config) { };
	if (!text)
		return RNBD_EXIT_FAIL;
	if (len > FILE_MAX)
		ret = usage_err("it is larger than %u bytes", FILE_MAX);
	else if (target_config_parse(text, len, config))
		ret = RNBD_EXIT_USAGE;
	free(text);
	return ret;
}

/* Return the path of the storage of an export if nothing exists at this path, otherwise NULL. */
static const char *absent_path(const struct target_config_object *export)
{
	const char *path = export->value[target_config_schema[TARGET_CONFIG_EXPORT].wanted_on];
	struct stat st;

	return path && *path && stat(path, &st) && errno == ENOENT ? path : NULL;
}

/* ------------------------------------------------------------------------
 * Writing
 */

static int write_file(const char *file, const char *text)
{
	char *real = realpath(file, NULL);
	const char *path = real ?: file;
	bool there;
	struct stat st;
	int ret;

	there = !lstat(path, &st);
	if (there && S_ISLNK(st.st_mode)) {
		err("it is a dangling symbolic link; create its target, or remove the link");
		free(real);
		return -ENOENT;
	}
	if (there && !S_ISREG(st.st_mode)) {
		err("it is not a regular file; use - for standard output");
		free(real);
		return -EINVAL;
	}
	ret = file_replace(path, text, there ? &st : NULL);
	if (ret) {
		err("cannot write it: %s; the previous file is unchanged", strerror(-ret));
	} else {
		ret = file_sync_dir(path);
		if (ret)
			err("it is written, but may be lost in a crash: %s", strerror(-ret));
	}
	free(real);
	return ret;
}

/* Check that "restore" would accept the text. */
static int check_text(const char *text)
{
	struct target_config config;
	int ret;

	if (strlen(text) > FILE_MAX) {
		err("the configuration is larger than %u bytes", FILE_MAX);
		return -EFBIG;
	}
	ret = target_config_parse(text, strlen(text), &config);
	if (ret)
		err("nothing is saved: restore would reject it; was it changed concurrently?");
	target_config_free(&config);
	return ret;
}

static bool has_absent(const struct target_config *config)
{
	const struct target_config_list *exports = &config->list[TARGET_CONFIG_EXPORT];
	size_t i;

	for (i = 0; i < exports->nr; i++)
		if (!target_config_enabled(TARGET_CONFIG_EXPORT, &exports->object[i]) &&
		    absent_path(&exports->object[i]))
			return true;
	return false;
}

/*
 * Let the new file enable each export that the old file enables and that is disabled now, if
 * its device is missing: such an export cannot be enabled, so its state does not show that
 * the administrator has disabled it.
 */
static void keep_enabled(const char *file, struct target_config *config)
{
	struct target_config_list *exports = &config->list[TARGET_CONFIG_EXPORT];
	const int enable = target_config_schema[TARGET_CONFIG_EXPORT].enable;
	struct target_config old;
	struct stat st;
	size_t i;

	if (!has_absent(config) || !strcmp(file, "-") || stat(file, &st) ||
	    !S_ISREG(st.st_mode))
		return;
	if (load(file, &old)) {
		note("the existing file is not a configuration, see above; none of it is kept");
		target_config_free(&old);
		return;
	}
	for (i = 0; i < exports->nr; i++) {
		struct target_config_object *export = &exports->object[i];
		const char *path = absent_path(export);

		if (!path || !target_config_was_enabled(&old, config, export))
			continue;
		note("export %s is disabled because %s is missing; the file keeps it enabled",
		     export->name, path);
		free(export->value[enable]);
		export->value[enable] = xstrdup("1");
	}
	target_config_free(&old);
}

/* Check that the copy of each secret is readable: "restore" needs it, as configfs hides secrets. */
static int check_secrets(const struct target_config *config)
{
	const struct target_config_schema *schema = &target_config_schema[TARGET_CONFIG_HOST];
	const struct target_config_list *hosts = &config->list[TARGET_CONFIG_HOST];
	uint8_t secret[RNBD_SECRET_SIZE];
	int ret = 0;
	size_t n;
	int i;

	for (n = 0; n < hosts->nr; n++) {
		const struct target_config_object *host = &hosts->object[n];

		for (i = 0; i < schema->nr_attrs; i++) {
			if (schema->attr[i].type != TARGET_CONFIG_SECRET || !host->value[i] ||
			    !secret_read(host->value[i], secret))
				continue;
			err("nothing is saved: no copy of the secret of %s; run: rnbd host secret",
			    host->name);
			ret = -ENOENT;
		}
	}
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

int cmd_save(const struct args *args)
{
	const char *file = file_operand(args);
	struct target_config config = { };
	char *text = NULL;
	int ret;

	context_set("save %s", file);
	if (configfs_check())
		return RNBD_EXIT_FAIL;
	ret = target_config_read(&config);
	if (!ret)
		ret = check_secrets(&config);
	if (!ret) {
		keep_enabled(file, &config);
		text = target_config_text(&config);
		ret = check_text(text);
	}
	if (!ret && !args->nr_operands && mkdir(TARGET_CONFIG_DIR, 0755) && errno != EEXIST) {
		ret = -errno;
		err("cannot create %s: %s", TARGET_CONFIG_DIR, strerror(-ret));
	}
	if (!ret && !strcmp(file, "-"))
		fputs(text, stdout);
	else if (!ret)
		ret = write_file(file, text);
	free(text);
	target_config_free(&config);
	return ret ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/* ------------------------------------------------------------------------
 * Clearing
 */

static bool is_attached(const struct session *session)
{
	return !strcmp(session->state, "login") || !strcmp(session->state, "live");
}

/* Check that no client is logged in. Returns 0 or a negative errno after messages. */
static int check_no_sessions(const char *remedy)
{
	struct sessions sessions = { };
	char host[UUID_TEXT_SIZE];
	int ret = 0;
	size_t i;

	if (rnbd_open_target()) {
		err("%s", rnbd_error());
		return -EIO;
	}
	if (rnbd_session_list(&sessions)) {
		err("%s", rnbd_error());
		ret = -EIO;
	}
	rnbd_close();
	for (i = 0; i < sessions.nr; i++) {
		const struct session *session = &sessions.session[i];

		if (!is_attached(session))
			continue;
		format_uuid(session->host_id, host);
		err("session %u: host %s at %s uses export %s; detach it there, or %s",
		    session->serial, host, session->address, session->export, remedy);
		ret = -EBUSY;
	}
	free(sessions.session);
	return ret;
}

int cmd_clear(const struct args *args)
{
	if (configfs_check())
		return RNBD_EXIT_FAIL;
	if (!args_has(args, "force") && check_no_sessions("use --force"))
		return RNBD_EXIT_FAIL;
	return target_config_clear() ? RNBD_EXIT_FAIL : RNBD_EXIT_OK;
}

/* ------------------------------------------------------------------------
 * Restoring
 */

static int secret_attr(void)
{
	const struct target_config_schema *schema = &target_config_schema[TARGET_CONFIG_HOST];
	int i = 0;

	while (schema->attr[i].type != TARGET_CONFIG_SECRET)
		i++;
	return i;
}

/*
 * If the file names no secret for a host, use the copy that "rnbd host secret" has stored, if any:
 * a host restored without its secret could be impersonated by any client that knows its UUID.
 * If the file names another path than that of the copy, use the path in the file, and print a
 * note, because the secret at that path can be older than the copy.
 */
static void use_kept_secrets(struct target_config *config)
{
	struct target_config_list *hosts = &config->list[TARGET_CONFIG_HOST];
	const int secret = secret_attr();
	char text[UUID_TEXT_SIZE];
	uint8_t uuid[UUID_SIZE];
	size_t i;

	for (i = 0; i < hosts->nr; i++) {
		struct target_config_object *host = &hosts->object[i];
		char *path;

		if (parse_uuid(host->name, uuid))
			continue;
		format_uuid(uuid, text);
		path = secret_stored_path(text);
		if (access(path, F_OK) && errno == ENOENT) {
			free(path);
			continue;
		}
		if (host->value[secret]) {
			if (strcmp(host->value[secret], path))
				note("host %s: secret read from %s, and not from %s",
				     host->name, host->value[secret], path);
			free(path);
			continue;
		}
		note("host %s: secret read from %s, not named in the file; run: rnbd save",
		     host->name, path);
		host->value[secret] = path;
	}
}

/* Check that a port can listen at an address: it belongs to this machine or is the wildcard. */
static int try_address(const char *text)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *addr;
	int ret = 0;
	int fd;

	/* The parser has checked the syntax, so only the interface after a % can be unknown. */
	if (getaddrinfo(text, NULL, &hints, &addr))
		return -EADDRNOTAVAIL;
	fd = socket(addr->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, addr->ai_addr, addr->ai_addrlen))
		ret = -errno;
	if (fd >= 0)
		close(fd);
	freeaddrinfo(addr);
	return ret;
}

/*
 * Report the secrets, paths and addresses in @config that are not usable on this machine,
 * except missing paths if @late is true, because "restore" waits for them. Returns how many
 * of the reported secrets, paths and addresses would prevent a complete restore.
 */
static int misfits(const struct target_config *config, bool late)
{
	uint8_t secret[RNBD_SECRET_SIZE];
	int nr = 0, kind, ret;
	size_t i;

	for (kind = 0; kind < TARGET_CONFIG_KINDS; kind++) {
		const struct target_config_schema *schema = &target_config_schema[kind];

		for (i = 0; i < config->list[kind].nr; i++) {
			const struct target_config_object *object = &config->list[kind].object[i];
			const char *value;

			switch (kind) {
			case TARGET_CONFIG_HOST:
				value = object->value[secret_attr()];
				ret = value ? secret_read(value, secret) : 0;
				break;
			case TARGET_CONFIG_EXPORT:
				value = object->value[schema->wanted_on];
				ret = *value && access(value, F_OK) ? -errno : 0;
				if (late && ret == -ENOENT)
					ret = 0;
				break;
			default:
				value = object->value[schema->wanted_on];
				ret = *value ? try_address(value) : 0;
				break;
			}
			if (!ret)
				continue;
			note("%s %s: %s: %s (on this machine, now)", schema->word,
			     object->name, value,
			     kind == TARGET_CONFIG_HOST ? "see above" : strerror(-ret));
			nr += kind == TARGET_CONFIG_HOST || target_config_enabled(kind, object);
		}
	}
	explicit_bzero(secret, sizeof(secret));
	return nr;
}

/* Add to @late each export that @config enables, that is disabled now and whose path is missing. */
static int find_late(const struct target_config *config, struct strlist *late, uint32_t wait)
{
	const struct target_config_list *exports = &config->list[TARGET_CONFIG_EXPORT];
	struct target_config have;
	int ret = target_config_read(&have);
	size_t i;

	for (i = 0; !ret && i < exports->nr; i++) {
		const struct target_config_object *export = &exports->object[i];
		const struct target_config_object *there =
			target_config_find(&have, TARGET_CONFIG_EXPORT, export->name);
		const char *path = absent_path(export);

		if (!path || !target_config_enabled(TARGET_CONFIG_EXPORT, export) ||
		    (there && target_config_enabled(TARGET_CONFIG_EXPORT, there)))
			continue;
		note("waiting %u s for %s (export %s)", wait, path, export->name);
		strlist_add(late, export->name);
	}
	target_config_free(&have);
	return ret;
}

static bool any_absent(const struct target_config *config, const struct strlist *late)
{
	size_t i;

	for (i = 0; i < late->nr; i++)
		if (absent_path(target_config_find(config, TARGET_CONFIG_EXPORT, late->item[i])))
			return true;
	return false;
}

static int apply_within(const struct target_config *config, uint32_t wait)
{
	uint64_t end = now_ms() + wait * 1000ull;
	struct strlist late = { };
	int ret = wait ? find_late(config, &late, wait) : 0;

	if (!ret)
		ret = target_config_apply(config, &late);
	if (late.nr) {
		while (any_absent(config, &late) && now_ms() < end)
			take_nap(PATH_NAP_MS);
		strlist_free(&late);
		ret = target_config_apply(config, &late);
	}
	return ret;
}

static int apply(const struct target_config *config, bool clear, uint32_t wait)
{
	int ret = configfs_check();

	if (!ret && clear)
		ret = check_no_sessions("run: rnbd clear --force");
	if (!ret && clear && misfits(config, wait)) {
		err("nothing is cleared: the file could not be restored completely; see above");
		ret = -EINVAL;
	}
	if (ret)
		return ret;
	if (clear)
		ret = target_config_clear();
	return apply_within(config, wait) ?: ret;
}

int cmd_restore(const struct args *args)
{
	const char *file = file_operand(args);
	bool check = args_has(args, "check");
	bool compare = args_has(args, "compare");
	struct target_config config;
	uint32_t wait = 0;
	int ret;

	context_set("restore %s", file);
	if (check && compare)
		return usage_err("--check and --compare exclude each other");
	if ((check || compare) && (args_has(args, "clear") || args_has(args, "wait")))
		return usage_err("--%s changes nothing and cannot be combined with --%s",
				 check ? "check" : "compare",
				 args_has(args, "clear") ? "clear" : "wait");
	ret = args_number(args, "wait", 0, SECONDS_MAX, &wait);
	if (ret)
		return ret;
	ret = load(file, &config);
	if (!ret && compare) {
		if (configfs_check() || target_config_compare(&config))
			ret = RNBD_EXIT_FAIL;
		target_config_free(&config);
		return ret;
	}
	if (!ret)
		use_kept_secrets(&config);
	if (!ret && check)
		misfits(&config, false);
	else if (!ret && apply(&config, args_has(args, "clear"), wait))
		ret = RNBD_EXIT_FAIL;
	target_config_free(&config);
	return ret;
}
