// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text that both ends authenticate at a login, before a list of exports, and when a further
 * connection joins.
 *
 * Operation: see Documentation/reference/protocol-authentication.rst. The text is the input of
 * the HMAC. It has a fixed form and begins with a label for its purpose, so a proof for one
 * purpose is not valid for another. Each end builds the text by encoding values: the client
 * its own ones, the target those that it has decoded. The decoders accept only bytes that the
 * encoders would send, so both ends build the same text.
 *
 * Ownership: nothing is allocated or kept.
 * Concurrency: pure functions, any context.
 * Errors: none.
 */
#include "auth.h"

/**
 * rnbd_auth_begin - begin the text that is authenticated on connection 0
 * @text: result; the caller adds nonces, target UUID and label
 * @req: connection request of connection 0
 * @login: login, or NULL if the client requests a list of exports
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
 * rnbd_auth_label - set the label of a text
 * @label: result, the first RNBD_LABEL_SIZE bytes of the text
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
 * rnbd_auth_join - begin the text that is authenticated on a connection other than 0
 * @text: result; the caller adds nonces and label
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
