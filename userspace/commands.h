/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_COMMANDS_H
#define RNBD_COMMANDS_H

#include "args.h"

extern const struct command commands[];

#endif /* RNBD_COMMANDS_H */
