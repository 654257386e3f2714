/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the client: changes of the state of disks, sent request frames, replies, and
 * stops and starts of hardware queues (watermarks). The events name the session or the disk, and
 * the queue, the wire tag and the frame number where they apply.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnbd

#if !defined(RNBDC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RNBDC_TRACE_H

#include <linux/tracepoint.h>

#include "../core/names.h"
#include "../core/op.h"
#include "disk.h"
#include "names.h"
#include "queue.h"
#include "session.h"

TRACE_EVENT(rnbdc_state,
	TP_PROTO(const struct rnbdc_disk *disk, enum rnbdc_state from,
		 enum rnbdc_state to),
	TP_ARGS(disk, from, to),
	TP_STRUCT__entry(
		__field(int, index)
		__array(u8, session, UUID_SIZE)
		__field(u32, epoch)
		__field(u8, from)
		__field(u8, to)
		__string(reason, disk->log.reason ?: "")
	),
	TP_fast_assign(
		__entry->index = disk->index;
		memcpy(__entry->session, disk->sess->id, UUID_SIZE);
		__entry->epoch = disk->sess->epoch;
		__entry->from = from;
		__entry->to = to;
		__assign_str(reason);
	),
	TP_printk("disk=%d session=%pU epoch=%u %s -> %s%s%s",
		  __entry->index, __entry->session, __entry->epoch,
		  rnbdc_state_text(__entry->from), rnbdc_state_text(__entry->to),
		  __get_str(reason)[0] ? ": " : "", __get_str(reason))
);

TRACE_EVENT(rnbdc_frame,
	TP_PROTO(const struct rnbdc_queue *q, u32 seq, u32 entries, u32 wrs),
	TP_ARGS(q, seq, entries, wrs),
	TP_STRUCT__entry(
		__array(u8, session, UUID_SIZE)
		__field(u32, queue)
		__field(u32, seq)
		__field(u32, entries)
		__field(u32, wrs)
	),
	TP_fast_assign(
		memcpy(__entry->session, q->sess->id, UUID_SIZE);
		__entry->queue = q->index;
		__entry->seq = seq;
		__entry->entries = entries;
		__entry->wrs = wrs;
	),
	TP_printk("session=%pU queue=%u seq=%u entries=%u wrs=%u", __entry->session,
		  __entry->queue, __entry->seq, __entry->entries, __entry->wrs)
);

TRACE_EVENT(rnbdc_reply,
	TP_PROTO(const struct rnbdc_queue *q, const struct rnbdc_req *req),
	TP_ARGS(q, req),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u32, queue)
		__field(u16, tag)
		__field(u8, op)
		__field(u8, status)
		__field(u32, seq)
		__field(u32, length)
		__field(u64, offset)
	),
	TP_fast_assign(
		__entry->index = req->hwq->disk->index;
		__entry->queue = q->index;
		__entry->tag = req->wire.tag;
		__entry->op = req->wire.op;
		__entry->status = (__force u8)req->status;
		__entry->seq = req->frame_seq;
		__entry->length = req->wire.length;
		__entry->offset = req->wire.offset;
	),
	TP_printk("disk=%d queue=%u tag=%u seq=%u %s offset=%llu length=%u status=%u",
		  __entry->index, __entry->queue, __entry->tag, __entry->seq,
		  rnbd_op_text(__entry->op), __entry->offset, __entry->length,
		  __entry->status)
);

DECLARE_EVENT_CLASS(rnbdc_watermark,
	TP_PROTO(const struct rnbdc_queue *q, int stall),
	TP_ARGS(q, stall),
	TP_STRUCT__entry(
		__array(u8, session, UUID_SIZE)
		__field(u32, queue)
		__field(int, stall)
		__field(u32, credits)
		__field(u32, sq_free)
		__field(u32, pool_used)
	),
	TP_fast_assign(
		memcpy(__entry->session, q->sess->id, UUID_SIZE);
		__entry->queue = q->index;
		__entry->stall = stall;
		__entry->credits = q->ring.out.credits;
		__entry->sq_free = q->sq_free;
		__entry->pool_used = q->cache.pool.used;
	),
	TP_printk("session=%pU queue=%u for=%s credits=%u sq_free=%u pool_used=%u",
		  __entry->session, __entry->queue,
		  __print_symbolic(__entry->stall, { -1, "all" }, { 0, "credit" },
				   { 1, "sq" }, { 2, "pool" }, { 3, "share" }),
		  __entry->credits, __entry->sq_free, __entry->pool_used)
);

DEFINE_EVENT(rnbdc_watermark, rnbdc_stop,
	TP_PROTO(const struct rnbdc_queue *q, int stall),
	TP_ARGS(q, stall)
);

DEFINE_EVENT(rnbdc_watermark, rnbdc_start,
	TP_PROTO(const struct rnbdc_queue *q, int stall),
	TP_ARGS(q, stall)
);

#endif /* RNBDC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
