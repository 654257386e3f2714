/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commands of the tool. Each function gets the parsed command line and returns an
 * exit code; commands.c assigns the functions to the words of the command line.
 */
#ifndef RNBD_CMD_H
#define RNBD_CMD_H

struct args;

int cmd_help(const struct args *args);
int cmd_completion(const struct args *args);
int cmd_attach(const struct args *args);
int cmd_discover(const struct args *args);
int cmd_deactivate(const struct args *args);
int cmd_detach(const struct args *args);
int cmd_secret_set(const struct args *args);
int cmd_list(const struct args *args);
int cmd_show(const struct args *args);
int cmd_stat(const struct args *args);
int cmd_hostid(const struct args *args);
int cmd_monitor(const struct args *args);
int cmd_session_list(const struct args *args);
int cmd_host_fencing(const struct args *args);
int cmd_fence(const struct args *args);
int cmd_unfence(const struct args *args);
int cmd_fenced(const struct args *args);
int cmd_export_add(const struct args *args);
int cmd_export_remove(const struct args *args);
int cmd_export_list(const struct args *args);
int cmd_export_allow(const struct args *args);
int cmd_export_deny(const struct args *args);
int cmd_export_enable(const struct args *args);
int cmd_export_disable(const struct args *args);
int cmd_export_resize(const struct args *args);
int cmd_export_show(const struct args *args);
int cmd_export_stat(const struct args *args);
int cmd_export_window(const struct args *args);
int cmd_export_owner(const struct args *args);
int cmd_export_record_owners(const struct args *args);
int cmd_host_allow(const struct args *args);
int cmd_host_deny(const struct args *args);
int cmd_host_limit(const struct args *args);
int cmd_host_weight(const struct args *args);
int cmd_host_cgroup(const struct args *args);
int cmd_host_secret(const struct args *args);
int cmd_host_remove(const struct args *args);
int cmd_host_list(const struct args *args);
int cmd_host_stat(const struct args *args);
int cmd_port_add(const struct args *args);
int cmd_port_remove(const struct args *args);
int cmd_port_list(const struct args *args);
int cmd_secret_generate(const struct args *args);
int cmd_save(const struct args *args);
int cmd_restore(const struct args *args);
int cmd_clear(const struct args *args);

#endif /* RNBD_CMD_H */
