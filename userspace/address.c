// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the addresses of a target.
 *
 * Operation: the first operand of rnbd attach and rnbd discover names the target: a host
 * name or an address, with or without a port. These commands try the addresses of a host
 * name in order until a target answers. A refusal is an answer, so no further address is tried.
 * Ownership: the caller frees the list that find_addresses() returns.
 * Concurrency: one thread.
 * Errors: get_target() prints one line; the caller prints the other error messages.
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
 * get_target() - parse the first operand and --port
 * @args: command line
 * @host: where the host name or address is stored
 * @port: where the port is stored; the default port if the command line has none
 * @where: where host and port are stored as one text for messages
 *
 * Return: 0, or an exit code after an error message.
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
 * find_addresses() - look up all addresses of a target
 * @host: host name or address
 * @list: where the addresses are stored; the caller calls freeaddrinfo()
 * @why: where the error message is stored; on success, the message for the case that the
 *	caller can use none of the addresses
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
 * unreachable() - check whether the caller should try another address of the target
 * @error: negative errno of the attempt with one address
 *
 * Return: true if the attempt reached no target.
 */
bool unreachable(int error)
{
	return error == -EHOSTUNREACH || error == -ENETUNREACH ||
	       error == -ETIMEDOUT || error == -ENODEV ||
	       error == -EADDRNOTAVAIL || error == -EAFNOSUPPORT;
}

/**
 * ask_addresses() - call a function with one address after another
 * @list: addresses
 * @ask: function to call; it gets the address in the numeric form of getnameinfo(), the
 *	only form that the kernel accepts and reports
 * @arg: second argument of @ask
 * @go_on: returns whether to try the next address after the result @ret of @ask
 *
 * Return: the last result of @ask, or -ENOENT if @ask was never called.
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
