// SPDX-License-Identifier: GPL-2.0-only
/*
 * The schema of the configuration of a target: kinds of objects, their attributes and links.
 *
 * Operation: target_config_schema defines the attributes and links of each kind of object once.
 * Parsing, writing, comparing and applying follow it, so a new attribute of the kernel needs
 * one new row only.
 *
 * Ownership: a check function may change the value that it is given in place.
 * Concurrency: the table is constant.
 * Errors: a check function returns an error message for an invalid value.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "target_config.h"

#define PATH_SIZE	4095	/* size limit of a configfs value with the end of line */
#define PORT_ADDR_SIZE	64	/* as in the kernel */

/* Test that a value has no white space at its ends, which configfs would strip. */
static bool is_trimmed(const char *value)
{
	static const char space[] = " \t\n\v\f\r";
	size_t len = strlen(value);

	return !len || (!strchr(space, value[0]) && !strchr(space, value[len - 1]));
}

static const char *check_path(char *value)
{
	if (!*value)
		return NULL;
	if (*value != '/')
		return "wanted an absolute path";
	if (!is_trimmed(value))
		return "a path cannot end in white space";
	return strlen(value) < PATH_SIZE ? NULL : "too long for a path";
}

static const char *check_cache(char *value)
{
	return !strcmp(value, "none") || !strcmp(value, "pagecache") ? NULL :
	       "wanted none or pagecache";
}

static const char *check_write_cache(char *value)
{
	return !strcmp(value, "through") || !strcmp(value, "back") ? NULL :
	       "wanted through or back";
}

static const char *check_uuid(char *value)
{
	uint8_t uuid[UUID_SIZE];

	if (parse_uuid(value, uuid))
		return "not a UUID";
	format_uuid(uuid, value);
	return NULL;
}

static const char *check_name(char *name)
{
	return export_name_valid(name) ? NULL :
	       "a name has 1 to 63 of A-Z a-z 0-9 . _ : - and no dot in front";
}

/* Accept an IPv4 address, or an IPv6 address with an optional %INTERFACE at its end. */
static const char *check_addr(char *value)
{
	char addr[PORT_ADDR_SIZE];
	struct in6_addr in6;
	struct in_addr in;
	char *zone;

	if (!*value)
		return NULL;
	if (snprintf(addr, sizeof(addr), "%s", value) >= (int)sizeof(addr))
		return "too long for an address";
	if (inet_pton(AF_INET, addr, &in) == 1)
		return NULL;
	zone = strchr(addr, '%');
	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, addr, &in6) != 1 ||
	    (zone && (!*zone || !is_trimmed(zone))))
		return "wanted a numeric IPv4 or IPv6 address";
	return NULL;
}

static const char *check_port(char *value)
{
	uint32_t port;

	return parse_u32(value, 1, UINT16_MAX, &port) ? "wanted 1 to 65535" : NULL;
}

/* json-c reads a number above UINT64_MAX as UINT64_MAX, which this check refuses, too. */
static const char *check_pool_bytes(char *value)
{
	return strtoull(value, NULL, 10) <= INT64_MAX ? NULL :
	       "too large; wanted at most 9223372036854775807, or 0 for no limit";
}

static const char *check_sessions(char *value)
{
	return strtoull(value, NULL, 10) <= UINT32_MAX ? NULL :
	       "too large; wanted at most 4294967295, or 0 for no limit of its own";
}

static const char *check_weight(char *value)
{
	uint32_t weight;

	return parse_u32(value, 1, TARGET_WEIGHT_MAX, &weight) ? "wanted 1 to 10000" : NULL;
}

/* Accept a path as the kernel shows it: absolute, without empty components. */
static const char *check_cgroup(char *value)
{
	static const char wanted[] =
		"wanted a path of a cgroup such as /rnbd.slice/rnbd-a.slice, or nothing";
	size_t len = strlen(value);

	if (!len)
		return NULL;
	if (*value != '/' || value[len - 1] == '/' || strstr(value, "//") || strchr(value, '\n'))
		return wanted;
	return len < PATH_SIZE ? NULL : "too long for a path";
}

static const char *check_window(char *value)
{
	uint32_t window;

	return parse_u32(value, 0, TARGET_WINDOW_MAX, &window) ?
	       "too large; wanted at most 65536, or 0 for the value of the module" : NULL;
}

/* The highest generation that the kernel accepts is UINT32_MAX - 1. */
static const char *check_fence(char *value)
{
	struct fence fence;

	return !fence_parse(value, &fence) && fence.generation < UINT32_MAX ? NULL :
	       "not what rnbd save writes; omit it if the host was never fenced";
}

/*
 * The kernel refuses a very high generation, because too few higher ones would be left for later
 * changes of the owner.
 */
static const char *check_owner(char *value)
{
	struct owner owner;

	return !owner_parse(value, &owner) && owner.generation &&
	       owner.generation <= TARGET_OWNER_GENERATION_MAX ? NULL :
	       "not what rnbd save writes; omit it if the export never had an owner";
}

static const char *check_secret(char *value)
{
	return *value == '/' && is_trimmed(value) ? NULL :
	       "wanted an absolute path; omit it if the host has no secret";
}

static const struct target_config_attr host_attrs[] = {
	{ "max_pool_bytes", TARGET_CONFIG_NUMBER, .otherwise = "0", .check = check_pool_bytes },
	{ "max_session_pool_bytes", TARGET_CONFIG_NUMBER, .otherwise = "0",
	  .check = check_pool_bytes },
	{ "max_sessions", TARGET_CONFIG_NUMBER, .otherwise = "0", .check = check_sessions },
	{ "weight", TARGET_CONFIG_NUMBER, .otherwise = "100", .check = check_weight },
	{ "cgroup", TARGET_CONFIG_STRING, .otherwise = "", .check = check_cgroup },
	{ "unfence_on_restart", TARGET_CONFIG_BOOL, .otherwise = "0" },
	{ "fence_state", TARGET_CONFIG_STATE, .check = check_fence },
	{ "secret_file", TARGET_CONFIG_SECRET, .check = check_secret },
};

static const struct target_config_attr export_attrs[] = {
	[TARGET_EXPORT_PATH] = { "path", TARGET_CONFIG_STRING, .needed = true,
				 .check = check_path },
	[TARGET_EXPORT_READONLY] = { "readonly", TARGET_CONFIG_BOOL, .otherwise = "0" },
	[TARGET_EXPORT_CACHE] = { "cache", TARGET_CONFIG_STRING, .otherwise = "none",
				  .check = check_cache },
	[TARGET_EXPORT_WRITE_CACHE] = { "write_cache", TARGET_CONFIG_STRING, .otherwise = "through",
					.check = check_write_cache },
	[TARGET_EXPORT_WINDOW] = { "window", TARGET_CONFIG_NUMBER, .tunable = true,
				   .otherwise = "0", .check = check_window },
	/* The file need not have a UUID: the kernel makes one for each new export. */
	[TARGET_EXPORT_UUID] = { "uuid", TARGET_CONFIG_STRING, .check = check_uuid },
	[TARGET_EXPORT_EXCLUSIVE] = { "exclusive", TARGET_CONFIG_BOOL, .otherwise = "0" },
	[TARGET_EXPORT_OWNER] = { "owner_state", TARGET_CONFIG_STATE, .check = check_owner },
	[TARGET_EXPORT_ENABLE] = { "enable", TARGET_CONFIG_BOOL, .otherwise = "1" },
};

static const struct target_config_attr port_attrs[] = {
	[TARGET_PORT_ADDR] = { "addr", TARGET_CONFIG_STRING, .needed = true, .check = check_addr },
	[TARGET_PORT_PORT] = { "port", TARGET_CONFIG_NUMBER, .otherwise = "4427",
			       .check = check_port },
	[TARGET_PORT_ENABLE] = { "enable", TARGET_CONFIG_BOOL, .otherwise = "1" },
};

_Static_assert(ARRAY_SIZE(host_attrs) <= TARGET_CONFIG_ATTRS &&
	       ARRAY_SIZE(export_attrs) <= TARGET_CONFIG_ATTRS &&
	       ARRAY_SIZE(port_attrs) <= TARGET_CONFIG_ATTRS, "raise TARGET_CONFIG_ATTRS");

const struct target_config_schema target_config_schema[TARGET_CONFIG_KINDS] = {
	[TARGET_CONFIG_HOST] = {
		.word = "host", .dir = "hosts", .key = "uuid",
		.check_name = check_uuid,
		.attr = host_attrs, .nr_attrs = ARRAY_SIZE(host_attrs), .enable = -1,
	},
	[TARGET_CONFIG_EXPORT] = {
		.word = "export", .dir = "exports", .key = "name",
		.check_name = check_name,
		.attr = export_attrs, .nr_attrs = ARRAY_SIZE(export_attrs),
		.enable = TARGET_EXPORT_ENABLE, .wanted_on = TARGET_EXPORT_PATH,
		.link = {
			[TARGET_EXPORT_HOSTS] = {
				"hosts", "allowed_hosts", "allows host", TARGET_CONFIG_HOST,
			},
			[TARGET_EXPORT_READONLY_HOSTS] = {
				"readonly_hosts", "readonly_hosts", "allows host to read",
				TARGET_CONFIG_HOST,
			},
		},
	},
	[TARGET_CONFIG_PORT] = {
		.word = "port", .dir = "ports", .key = "id",
		.check_name = check_name,
		.attr = port_attrs, .nr_attrs = ARRAY_SIZE(port_attrs),
		.enable = TARGET_PORT_ENABLE, .wanted_on = TARGET_PORT_ADDR,
		.link = { { "exports", "exports", "offers export", TARGET_CONFIG_EXPORT } },
	},
};
