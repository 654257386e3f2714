// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is proven at a login, and by the further connections of a session.
 *
 * Operation: see auth.h and "Authentication" in Documentation/protocol.rst. The text
 * that is proven has one fixed form for every purpose, and begins with the purpose,
 * so that no proof can stand for another. It is made of what the decoders accepted;
 * since they accept only what the encoders would send, byte for byte, both ends
 * come to the same text.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: none.
 */
#include "auth.h"

/**
 * rnbd_auth_begin - begin a text that is to be proven
 * @text: filled, but for the nonces, the UUID of the target and the label
 * @req: connection request of queue 0
 * @login: login, or NULL if the client asks for a list of exports
 *
 * Context: any.
 */
void rnbd_auth_begin(struct rnbd_auth_text *text, const struct rnbd_conn_req *req,
		     const struct rnbd_login_info *login)
{
	memset(text, 0, sizeof(*text));
	rnbd_encode_cm_req(&text->req, req);
	if (login)
		rnbd_encode_login(&text->login, login);
}
EXPORT_SYMBOL_GPL(rnbd_auth_begin);

/**
 * rnbd_auth_label - write what is proven with a text
 * @label: RNBD_LABEL_SIZE bytes at the begin of the text
 * @purpose: RNBD_LABEL_*
 *
 * Context: any.
 */
void rnbd_auth_label(char *label, const char *purpose)
{
	memset(label, 0, RNBD_LABEL_SIZE);
	memcpy(label, purpose, strnlen(purpose, RNBD_LABEL_SIZE));
}
EXPORT_SYMBOL_GPL(rnbd_auth_label);

/**
 * rnbd_auth_join - begin the text that is proven on a connection other than 0
 * @text: filled, but for the nonces and the label
 * @req: connection request of that connection
 *
 * Context: any.
 */
void rnbd_auth_join(struct rnbd_join_text *text, const struct rnbd_conn_req *req)
{
	memset(text, 0, sizeof(*text));
	rnbd_encode_cm_req(&text->req, req);
}
EXPORT_SYMBOL_GPL(rnbd_auth_join);
