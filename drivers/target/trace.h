/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the target, keyed by session, queue and tag.
 *
 * Operation: rnbdt_state traces each change of the state of a session. rnbdt_request traces a
 * request of an open attachment when the request is taken out of a frame. rnbdt_reply traces a
 * reply when it is put into a frame; if the session closes before that, there is no event
 * rnbdt_reply. rnbdt_reclaim traces the decision to reclaim a segment: age and size of the segment,
 * the bytes that the session keeps, and the share and the floor of the session.
 * Ownership: events copy all values, strings included.
 * Concurrency: any context. rnbdt_state is called under s->state_lock, so the changes of one
 * session are in order.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnbd_target

#if !defined(RNBDT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RNBDT_TRACE_H

#include <linux/tracepoint.h>

#include "../core/names.h"
#include "../core/op.h"
#include "names.h"
#include "queue.h"
#include "segment.h"
#include "session.h"

TRACE_EVENT(rnbdt_state,
	TP_PROTO(const struct rnbdt_session *s, enum rnbdt_state from),
	TP_ARGS(s, from),
	TP_STRUCT__entry(
		__field(u32, serial)
		__field(u32, epoch)
		__array(u8, host, UUID_SIZE)
		__string(from, rnbdt_state_text(from))
		__string(to, rnbdt_state_text(s->state))
		__string(reason, s->log.reason ?: "")
	),
	TP_fast_assign(
		__entry->serial = s->serial;
		__entry->epoch = s->epoch;
		export_uuid(__entry->host, &s->host_id);
		__assign_str(from);
		__assign_str(to);
		__assign_str(reason);
	),
	TP_printk("session=%u host=%pUb epoch=%u %s -> %s%s%s",
		  __entry->serial, __entry->host, __entry->epoch,
		  __get_str(from), __get_str(to),
		  __get_str(reason)[0] ? ": " : "", __get_str(reason))
);

TRACE_EVENT(rnbdt_request,
	TP_PROTO(const struct rnbdt_req *treq),
	TP_ARGS(treq),
	TP_STRUCT__entry(
		__field(u32, serial)
		__field(u16, queue)
		__field(u16, tag)
		__field(u8, op)
		__field(u32, length)
		__field(u64, offset)
	),
	TP_fast_assign(
		__entry->serial = treq->queue->session->serial;
		__entry->queue = treq->queue->index;
		__entry->tag = treq->req.tag;
		__entry->op = treq->req.op;
		__entry->length = treq->req.length;
		__entry->offset = treq->req.offset;
	),
	TP_printk("session=%u queue=%u tag=%u %s offset=%llu length=%u",
		  __entry->serial, __entry->queue, __entry->tag,
		  rnbd_op_text(__entry->op), __entry->offset, __entry->length)
);

TRACE_EVENT(rnbdt_reply,
	TP_PROTO(const struct rnbdt_req *treq),
	TP_ARGS(treq),
	TP_STRUCT__entry(
		__field(u32, serial)
		__field(u16, queue)
		__field(u16, tag)
		__field(u8, op)
		__field(u16, status)
		__field(u32, length)
		__field(u64, offset)
	),
	TP_fast_assign(
		__entry->serial = treq->queue->session->serial;
		__entry->queue = treq->queue->index;
		__entry->tag = treq->req.tag;
		__entry->op = treq->req.op;
		__entry->status = treq->status;
		__entry->length = treq->req.length;
		__entry->offset = treq->req.offset;
	),
	TP_printk("session=%u queue=%u tag=%u %s offset=%llu length=%u status=%u",
		  __entry->serial, __entry->queue, __entry->tag,
		  rnbd_op_text(__entry->op), __entry->offset, __entry->length,
		  __entry->status)
);

TRACE_EVENT(rnbdt_reclaim,
	TP_PROTO(const struct rnbdt_session *s, const struct rnbdt_segment *seg),
	TP_ARGS(s, seg),
	TP_STRUCT__entry(
		__field(u32, serial)
		__field(u32, slot)
		__field(u32, generation)
		__field(u32, age_ms)
		__field(u64, bytes)
		__field(u64, keeps)
		__field(u64, share)
		__field(u64, floor)
	),
	TP_fast_assign(
		__entry->serial = s->serial;
		__entry->slot = seg->slot;
		__entry->generation = seg->generation;
		__entry->age_ms = jiffies_to_msecs(jiffies - seg->granted_at);
		__entry->bytes = (u64)seg->units * RNBD_UNIT_SIZE;
		__entry->keeps = s->account.held_bytes -
				 (u64)s->lease.reclaiming * RNBD_UNIT_SIZE;
		__entry->share = s->lease.share;
		__entry->floor = s->account.floor_bytes;
	),
	TP_printk("session=%u segment=%u/%u age_ms=%u bytes=%llu keeps=%llu share=%llu floor=%llu",
		  __entry->serial, __entry->slot, __entry->generation,
		  __entry->age_ms, __entry->bytes, __entry->keeps,
		  __entry->share, __entry->floor)
);

#endif /* RNBDT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
