// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a target is.
 *
 * Operation: the first operand of a command names the target, a name or an address
 * with or without a port. All addresses of a name are tried in order while the
 * target cannot be reached; a target that refuses has the last word.
 * Ownership: the caller frees what find_addresses() found.
 * Concurrency: one thread.
 * Errors: one line for a wrong operand, otherwise a text for the caller to tell.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include <rnbd/wire.h>

#include "address.h"
#include "netlink_client.h"
#include "parse.h"
#include "util.h"

/**
 * get_target() - read the first operand and --port
 * @args: command line
 * @host: name or address
 * @port: port
 * @where: both, for messages
 *
 * Return: 0, or an exit code after the fault has been told.
 */
int get_target(const struct args *args, char host[NI_MAXHOST], uint16_t *port,
	       char where[WHERE_SIZE])
{
	const char *value = args_value(args, "port");
	uint32_t number = RNBD_DEFAULT_PORT;

	if (parse_addr(args->operand[0], host, NI_MAXHOST, port))
		return usage_err("%s: wanted ADDR, ADDR:PORT or [IPV6]:PORT",
				 args->operand[0]);
	if (*port && value)
		return usage_err("the port is given twice");
	if (value && parse_u32(value, 1, UINT16_MAX, &number))
		return usage_err("--port %s: wanted a number from 1 to %u", value,
				 UINT16_MAX);
	if (!*port)
		*port = number;
	if (format_addr(host, *port, where, WHERE_SIZE))
		where[0] = '\0';
	return 0;
}

/**
 * find_addresses() - all addresses of a target
 * @host: name or address
 * @list: for freeaddrinfo()
 * @why: text for people, also if none of them can be used
 *
 * Return: 0 or -ENOENT.
 */
int find_addresses(const char *host, struct addrinfo **list, const char **why)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int ret = getaddrinfo(host, NULL, &hints, list);

	*why = ret ? gai_strerror(ret) : "the name has no address that can be used";
	return ret ? -ENOENT : 0;
}

/**
 * unreachable() - may another address of the target do better?
 * @error: negative errno
 */
bool unreachable(int error)
{
	return error == -EHOSTUNREACH || error == -ENETUNREACH ||
	       error == -ETIMEDOUT || error == -ENODEV ||
	       error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

/**
 * ask_addresses() - ask at one address after another
 * @list: addresses
 * @ask: is given what getnameinfo() makes of an address: the kernel takes and tells
 *	nothing else
 * @arg: for @ask
 * @go_on: given what @ask returned: is it to be asked at the next one?
 *
 * Return: what @ask returned last, or -ENOENT if there was no address.
 */
int ask_addresses(const struct addrinfo *list, int (*ask)(const char *address, void *arg),
		  void *arg, bool (*go_on)(int ret))
{
	const struct addrinfo *ai;
	char numeric[ADDR_SIZE];
	int ret = -ENOENT;

	for (ai = list; ai; ai = ai->ai_next) {
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, numeric,
				sizeof(numeric), NULL, 0, NI_NUMERICHOST))
			continue;
		ret = ask(numeric, arg);
		if (!go_on(ret))
			break;
	}
	return ret;
}
