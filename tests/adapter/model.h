/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that the files of the modelled adapter share.
 *
 * Operation: the comment above each block of declarations names the file that defines the
 * functions and has their kernel-doc.
 * Ownership, concurrency: see objects.h.
 * Errors: a function of type enum ib_wc_status returns the status for the work completion. A
 * function of type const char * returns a description of the error, or NULL for success.
 */
#ifndef MDL_MODEL_H
#define MDL_MODEL_H

#include "clock.h"
#include "objects.h"

static inline void mdl_count(struct mdl_dev *dev, enum mdl_stat stat)
{
	atomic64_inc(&dev->stats[stat]);
}

static inline void mdl_add(struct mdl_dev *dev, enum mdl_stat stat, s64 n)
{
	atomic64_add(n, &dev->stats[stat]);
}

/**
 * mdl_object_add - count a new object of a device
 * @dev: device
 * @kind: kind of object
 * @max: largest number of objects of this kind that the profile allows
 *
 * Context: any.
 * Return: true if the object was counted; when the object is destroyed, the caller must call
 * mdl_object_del(). False if @max objects exist already.
 */
static inline bool mdl_object_add(struct mdl_dev *dev, enum mdl_object kind, u32 max)
{
	return atomic_add_unless(&dev->objects[kind], 1, max);
}

static inline void mdl_object_del(struct mdl_dev *dev, enum mdl_object kind)
{
	atomic_dec(&dev->objects[kind]);
}

/* main.c */
extern struct workqueue_struct *mdl_wq;

/* device.c */
int mdl_newlink(const char *name, struct net_device *ndev);
void mdl_port_changed(struct mdl_dev *dev);

/* gid.c */
extern struct list_head mdl_devices;
extern spinlock_t mdl_devices_lock;
int mdl_add_gid(const struct ib_gid_attr *attr, void **context);
int mdl_del_gid(const struct ib_gid_attr *attr, void **context);
struct mdl_dev *mdl_find_gid(const union ib_gid *gid);

/* pd.c */
int mdl_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mdl_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int mdl_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata);
int mdl_destroy_ah(struct ib_ah *ibah, u32 flags);
void mdl_av_set(struct mdl_av *av, const struct rdma_ah_attr *attr);

/* mr.c */
struct ib_mr *mdl_get_dma_mr(struct ib_pd *ibpd, int access);
#ifdef MDL_HAVE_DMAH
struct ib_mr *mdl_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata);
#else
struct ib_mr *mdl_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt,
			      int access, struct ib_udata *udata);
#endif
struct ib_mr *mdl_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_num_sg);
int mdl_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int mdl_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents,
		  unsigned int *offset);
const char *mdl_mr_register(struct mdl_dev *dev, struct ib_pd *pd,
			    const struct mdl_swqe *wqe);
const char *mdl_mr_invalidate(struct mdl_dev *dev, struct ib_pd *pd, u32 key);
bool mdl_mr_is_dma(struct mdl_dev *dev, u32 key);
const char *mdl_mr_check(struct mdl_dev *dev, struct ib_pd *pd, u32 key, u64 addr,
			 u64 len, int access);
const char *mdl_mr_translate(struct mdl_dev *dev, u32 key, u64 addr, u64 *dma, u32 *len);

/* cq.c */
int mdl_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int mdl_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int mdl_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int mdl_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int mdl_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
bool mdl_cq_write(struct mdl_cq *cq, const struct mdl_cqe *cqe);
bool mdl_cq_add(struct mdl_cq *cq, const struct mdl_cqe *cqe, u64 due);
void mdl_cq_interrupt(struct mdl_cq *cq);
void mdl_cq_clean(struct mdl_cq *cq, struct mdl_qp *qp);

/* delay.c */
int mdl_delay_cq_init(struct mdl_cq *cq, u32 cqe);
void mdl_delay_cq_exit(struct mdl_cq *cq);
bool mdl_delay_cqe(struct mdl_cq *cq, const struct mdl_cqe *cqe, ktime_t due);
void mdl_delay_cq_clean(struct mdl_cq *cq, struct mdl_qp *qp);
struct mdl_qp *mdl_delay_due(struct mdl_cq *cq);
void mdl_delay_event(struct mdl_cq *cq);
void mdl_delay_qp_init(struct mdl_qp *qp);
void mdl_delay_qp_exit(struct mdl_qp *qp);
void mdl_delay_qp(struct mdl_qp *qp, ktime_t due);

/* vector.c */
int mdl_vectors_init(struct mdl_dev *dev);
void mdl_vectors_exit(struct mdl_dev *dev);
void mdl_vector_count(struct mdl_vector *v);
void mdl_vector_raise(struct mdl_cq *cq);
void mdl_vector_drop(struct mdl_cq *cq);

/* qp.c */
int mdl_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int mdl_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
struct mdl_qp *mdl_qp_get(struct mdl_dev *dev, u32 qpn);
void mdl_qp_put(struct mdl_qp *qp);
bool mdl_qp_serve(struct mdl_qp *qp);
void mdl_qp_served(struct mdl_qp *qp);
void mdl_qp_fail(struct mdl_qp *qp);
bool mdl_qp_recv_done(struct mdl_qp *qp, const struct mdl_rwqe *wqe, struct ib_wc *wc,
		      bool solicited, u64 due);

/* modify.c */
int mdl_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int mdl_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);

/* rq.c */
int mdl_rq_init(struct mdl_rq *rq, u32 size, u32 max_sge);
void mdl_rq_exit(struct mdl_rq *rq);
int mdl_rq_post(struct mdl_dev *dev, struct mdl_qp *qp, struct mdl_rq *rq,
		const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr);
bool mdl_rq_take(struct mdl_rq *rq, struct mdl_rwqe *wqe, struct ib_sge *sge,
		 bool *below_limit);
void mdl_rq_reset(struct mdl_rq *rq);
static inline struct mdl_rq *mdl_qp_rq(struct mdl_qp *qp)
{
	return qp->ib.srq ? &mdl_srq_of(qp->ib.srq)->rq : &qp->rq;
}

/* srq.c */
int mdl_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		   struct ib_udata *udata);
int mdl_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ib_udata *udata);
int mdl_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int mdl_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int mdl_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);

/* post.c */
int mdl_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int mdl_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

/* retire.c */
void mdl_hold_send(struct mdl_qp *qp, const struct mdl_swqe *wqe);
void mdl_hold_recv(struct mdl_qp *qp, const struct mdl_rwqe *wqe);
void mdl_retire(const struct mdl_cqe *cqe);
void mdl_retire_all(struct mdl_qp *qp);

/* sq.c */
int mdl_sq_init(struct mdl_sq *sq, const struct ib_qp_cap *cap);
void mdl_sq_exit(struct mdl_sq *sq);
void mdl_sq_reset(struct mdl_sq *sq);
enum ib_wc_status mdl_sq_execute(struct mdl_qp *qp, struct mdl_swqe *wqe);
void mdl_sq_finished(struct mdl_qp *qp, struct mdl_swqe *wqe, enum ib_wc_status status);
bool mdl_sq_run(struct mdl_qp *qp, int *budget);
void mdl_sq_timer(struct timer_list *timer);
u64 mdl_sq_rnr_delay(const struct mdl_qp *qp);

/* read.c */
enum ib_wc_status mdl_read_issue(struct mdl_qp *qp, struct mdl_swqe *wqe);
void mdl_read_go_on(struct mdl_qp *qp);

/* engine.c */
int mdl_engine_init(struct mdl_dev *dev);
void mdl_engine_exit(struct mdl_dev *dev);
void mdl_engine_kick(struct mdl_qp *qp);
void mdl_engine_run(struct mdl_qp *qp);

/* request.c */
enum ib_wc_status mdl_request(struct mdl_qp *qp, struct mdl_swqe *wqe);

/* place.c */
struct mdl_place;
struct mdl_place *mdl_place_alloc(struct mdl_qp *qp, const struct mdl_swqe *wqe);
void *mdl_place_data(struct mdl_place *place);
void mdl_place_free(struct mdl_place *place);
void mdl_place_add(struct mdl_qp *qp, struct mdl_place *place);
void mdl_place_before(struct mdl_qp *qp, const struct mdl_swqe *wqe);
void mdl_place_all(struct mdl_qp *qp);
void mdl_place_end(struct mdl_qp *qp);
void mdl_place_key(struct mdl_dev *dev, u32 key);

/* gsi.c */
enum ib_wc_status mdl_datagram(struct mdl_qp *qp, struct mdl_swqe *wqe);

/* mem.c */
enum ib_wc_status mdl_mem_check(struct mdl_mem *mem);
void mdl_mem_skip(struct mdl_mem *mem, u32 len);
enum ib_wc_status mdl_mem_move(struct mdl_mem *mem, void *buf, u32 len);
u64 mdl_mem_length(const struct ib_sge *sge, u32 num_sge);

/* dma.c */
void mdl_dma_init(struct mdl_dev *dev);
void mdl_dma_exit(struct mdl_dev *dev);
const char *mdl_dma_access(struct mdl_dev *dev, u64 addr, void *buf, u32 len, bool write);
u64 mdl_dma_reserve(struct mdl_dev *dev, u64 pages);
/*
 * Flags of mdl_dma_map(): MDL_MAP_COPY copies the memory to the shadow pages, MDL_MAP_COHERENT
 * maps the memory without shadow pages.
 */
#define MDL_MAP_COPY		BIT(0)
#define MDL_MAP_COHERENT	BIT(1)
dma_addr_t mdl_dma_map(struct mdl_dev *dev, phys_addr_t phys, size_t size,
		       enum dma_data_direction dir, u32 how, u64 room);
void mdl_dma_join(struct mdl_dev *dev, u64 addr);
u32 mdl_dma_set_nents(struct mdl_dev *dev, u64 addr, u32 nents);
void mdl_dma_unmap(struct mdl_dev *dev, dma_addr_t addr, size_t size,
		   enum dma_data_direction dir, bool copy);
void mdl_dma_pin(struct mdl_dev *dev, u64 addr, u32 qpn, u64 wr_id);
void mdl_dma_unpin(struct mdl_dev *dev, u64 addr);
void mdl_dma_sync(struct mdl_dev *dev, dma_addr_t addr, size_t size,
		  enum dma_data_direction dir, bool to_device);

/* dma_sg.c */
int mdl_op_map_sg(struct device *dev, struct scatterlist *sgl, int nents,
		  enum dma_data_direction dir, unsigned long attrs);
void mdl_op_unmap_sg(struct device *dev, struct scatterlist *sgl, int nents,
		     enum dma_data_direction dir, unsigned long attrs);
void mdl_op_sync_sg_for_cpu(struct device *dev, struct scatterlist *sgl, int nents,
			    enum dma_data_direction dir);
void mdl_op_sync_sg_for_device(struct device *dev, struct scatterlist *sgl, int nents,
			       enum dma_data_direction dir);

/* dma_ops.c */
extern bool mdl_dma_direct;
int mdl_dma_ops_set(struct mdl_dev *dev);

/* event.c */
void mdl_event_qp(struct mdl_qp *qp, enum ib_event_type type);
void mdl_event_cq(struct mdl_cq *cq, enum ib_event_type type);
void mdl_event_srq(struct mdl_srq *srq, enum ib_event_type type);

/* nasty.c */
extern const char *const mdl_nasty_names[MDL_NASTY_COUNT];
void mdl_nasty_init(struct mdl_dev *dev);
u32 mdl_random(struct mdl_dev *dev, u32 below);
bool mdl_nasty(struct mdl_dev *dev, enum mdl_nasty kind);
ktime_t mdl_nasty_cqe(struct mdl_dev *dev);
bool mdl_nasty_rnr(struct mdl_dev *dev, const struct mdl_qp *qp, u64 delay_us);
bool mdl_nasty_error(struct mdl_dev *dev, const struct mdl_swqe *wqe,
		     enum ib_wc_status *status, bool *executed);
void mdl_nasty_sleep(struct mdl_dev *dev, enum mdl_nasty kind);
static inline void mdl_nasty_count(struct mdl_dev *dev, enum mdl_nasty kind)
{
	mdl_count(dev, MDL_STAT_NASTY + kind);
}

static inline bool mdl_is_nasty(const struct mdl_dev *dev, enum mdl_nasty kind)
{
	return dev->dice.kinds & BIT(kind);
}

/* nasty_event.c */
void mdl_nasty_events_start(struct mdl_dev *dev);
void mdl_nasty_events_stop(struct mdl_dev *dev);

/* report.c */
__printf(4, 5)
void mdl_violation(struct mdl_dev *dev, const struct mdl_qp *qp, u64 wr_id,
		   const char *fmt, ...);

/* stats.c */
extern const char *const mdl_stat_names[MDL_STAT_NASTY];
void mdl_stats_init(void);
void mdl_stats_exit(void);
void mdl_stats_add(struct mdl_dev *dev);
void mdl_stats_remove(struct mdl_dev *dev);

#endif
