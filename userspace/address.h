/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_ADDRESS_H
#define RNBD_ADDRESS_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "args.h"

#define WHERE_SIZE	(NI_MAXHOST + 16)

int get_target(const struct args *args, char host[NI_MAXHOST], uint16_t *port,
	       char where[WHERE_SIZE]);
int find_addresses(const char *host, struct addrinfo **list, const char **why);
bool unreachable(int error);
int ask_addresses(const struct addrinfo *list, int (*ask)(const char *address, void *arg),
		  void *arg, bool (*go_on)(int ret));

#endif /* RNBD_ADDRESS_H */
