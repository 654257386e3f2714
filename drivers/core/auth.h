/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that both ends authenticate at a login. See auth.c. */
#ifndef RNBD_CORE_AUTH_H
#define RNBD_CORE_AUTH_H

#include "cm.h"
#include "login.h"

void rnbd_auth_begin(struct rnbd_auth_text *text, const struct rnbd_conn_req *req,
		     const struct rnbd_login_info *login);
void rnbd_auth_label(char *label, const char *purpose);
void rnbd_auth_join(struct rnbd_join_text *text, const struct rnbd_conn_req *req);

#endif /* RNBD_CORE_AUTH_H */
