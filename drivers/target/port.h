/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports: addresses that listen for clients. See port.c.
 */
#ifndef RNBDT_PORT_H
#define RNBDT_PORT_H

struct rnbdt_port;

void rnbdt_port_init(struct rnbdt_port *port);
void rnbdt_port_exit(struct rnbdt_port *port);
int rnbdt_port_enable(struct rnbdt_port *port);
void rnbdt_port_disable(struct rnbdt_port *port);

#endif /* RNBDT_PORT_H */
