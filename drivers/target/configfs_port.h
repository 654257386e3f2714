/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * configfs: ports/<id>/. See configfs_port.c.
 */
#ifndef RNBDT_CONFIGFS_PORT_H
#define RNBDT_CONFIGFS_PORT_H

#include <linux/configfs.h>

extern const struct config_item_type rnbdt_port_type;
extern const struct config_item_type rnbdt_ports_type;

#endif /* RNBDT_CONFIGFS_PORT_H */
