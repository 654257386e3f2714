/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_TOOL_VERSION_H
#define RNBD_TOOL_VERSION_H

#define RNBD_TOOL_VERSION "0.1.0"

#endif /* RNBD_TOOL_VERSION_H */
