// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is proven at a login.
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
 * @text: filled, but for the nonces and the label
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
 * rnbd_auth_label - say what is proven with a text
 * @text: text with both nonces
 * @label: RNBD_LABEL_CLIENT or RNBD_LABEL_TARGET
 *
 * Context: any.
 */
void rnbd_auth_label(struct rnbd_auth_text *text, const char *label)
{
	memset(text->label, 0, sizeof(text->label));
	memcpy(text->label, label, strnlen(label, sizeof(text->label)));
	memset(&text->queue, 0, sizeof(text->queue));
}
EXPORT_SYMBOL_GPL(rnbd_auth_label);

/**
 * rnbd_auth_queue - make the text whose HMAC begins with the token of a queue
 * @text: text with both nonces
 * @req: connection request of that queue; its host id, or its token, is left out
 *
 * Context: any.
 */
void rnbd_auth_queue(struct rnbd_auth_text *text, const struct rnbd_conn_req *req)
{
	rnbd_auth_label(text, RNBD_LABEL_QUEUE);
	rnbd_encode_cm_req(&text->queue, req);
	memset(text->queue.host_id, 0, sizeof(text->queue.host_id));
}
EXPORT_SYMBOL_GPL(rnbd_auth_queue);
