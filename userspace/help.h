/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_HELP_H
#define RNBD_HELP_H

#include <stdbool.h>

struct command;

void help_all(const struct command *table);
void help_command(const struct command *cmd);
int help_group(const struct command *table, const char *group);
bool help_in_group(const struct command *cmd, const char *word);
bool help_is_group(const struct command *table, const char *word);

#endif /* RNBD_HELP_H */
