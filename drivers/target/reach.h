/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which exports a host reaches on a port. See reach.c.
 */
#ifndef RNBDT_REACH_H
#define RNBDT_REACH_H

#include <linux/types.h>

struct rnbdt_allow;
struct rnbdt_export;
struct rnbdt_host;
struct rnbdt_offer;
struct rnbdt_port;

int rnbdt_reach_allow(struct rnbdt_allow *allow);
void rnbdt_reach_deny(struct rnbdt_allow *allow);
int rnbdt_reach_offer(struct rnbdt_offer *offer);
void rnbdt_reach_withdraw(struct rnbdt_offer *offer);
void rnbdt_reach_enable(struct rnbdt_export *export, bool enabled);
struct rnbdt_allow *rnbdt_find_allow(const struct rnbdt_export *export,
				     struct rnbdt_host *host);
struct rnbdt_export *rnbdt_port_find_export(struct rnbdt_port *port,
					    struct rnbdt_host *host, const char *name);
struct rnbdt_export *rnbdt_port_next_export(struct rnbdt_port *port,
					    struct rnbdt_host *host, unsigned long id);
bool rnbdt_port_has_export(struct rnbdt_port *port, struct rnbdt_host *host);
bool rnbdt_port_knows_host(struct rnbdt_port *port, struct rnbdt_host *host);

#endif /* RNBDT_REACH_H */
