/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ends of the connections that test cases of the modelled adapter use.
 *
 * Operation: plant_end.c implements the functions; plant.c and plant_nasty.c call them.
 * Ownership, concurrency: see plant_end.c.
 * Errors: errno.
 */
#ifndef MDL_PLANT_H
#define MDL_PLANT_H

#include <rdma/ib_verbs.h>

#define PLANT_WRS	4
#define PLANT_SGE	2
#define PLANT_CQE	64

/**
 * struct mdl_plant - one end of the connections
 * @dev: device
 * @pd: protection domain
 * @cq: completion queue of both queue pairs, polled directly
 * @qp: queue pair
 * @second: another queue pair, connected to @second of the peer
 * @send_wrs: granted number of work requests of the send queue of @qp
 * @mr: region for fast registration
 * @page: memory that the test cases transfer
 * @addr: DMA address of @page, mapped in both directions, 0 if not mapped
 * @status: status of the last completion
 * @byte_len: byte_len of the last completion
 * @enables: whether the event handler enables interrupts, as a handler that sleeps does
 * @first: queue pair of the first completion since the last successful mdl_plant_wait()
 * @done: number of completions since the last successful mdl_plant_wait()
 * @cqe: completion entry of all work requests
 */
struct mdl_plant {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_qp *second;
	u32 send_wrs;
	struct ib_mr *mr;
	struct page *page;
	u64 addr;
	enum ib_wc_status status;
	u32 byte_len;
	bool enables;
	struct ib_qp *first;
	u32 done;
	struct ib_cqe cqe;
};

int mdl_plant_wait(struct mdl_plant *end, u32 n);
int mdl_plant_open(struct mdl_plant *end, const char *netdev, u32 cqe);
void mdl_plant_close(struct mdl_plant *end);
int mdl_plant_connect(struct mdl_plant *end, struct mdl_plant *peer);
int mdl_plant_send(struct mdl_plant *end, u64 addr, u32 len, int num_sge);
int mdl_plant_recv(struct mdl_plant *end, u64 addr, int num_sge);
int mdl_plant_rdma(struct mdl_plant *end, enum ib_wr_opcode opcode, u64 remote,
		   u32 rkey, u32 len);
int mdl_plant_register_key(struct mdl_plant *end, u32 key, int access);
int mdl_plant_register(struct mdl_plant *end, int access);
int mdl_plant_invalidate(struct mdl_plant *end);

/* plant_nasty.c */
int mdl_plant_nasty(const char *name, struct mdl_plant *end, struct mdl_plant *peer);

#endif
