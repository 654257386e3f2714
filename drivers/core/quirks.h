/* SPDX-License-Identifier: GPL-2.0-only */
/* Work-arounds for RDMA devices. See quirks.c. */
#ifndef RNBD_CORE_QUIRKS_H
#define RNBD_CORE_QUIRKS_H

#include <rdma/ib_verbs.h>

/**
 * struct rnbd_quirks - work-arounds that a device or a connection needs
 * @too_long: second completion status, besides IB_WC_LOC_LEN_ERR, for a message longer than
 *	its receive slot
 * @reset_first: a queue pair must be in the reset state when it is destroyed
 * @guard_reads: long RDMA READs need guards, see quirks.c
 * @guard_over: bytes; the completion of a longer RDMA READ does not prove that its data have
 *	arrived. U32_MAX without @guard_reads
 * @read_limit: maximum bytes of one RDMA READ; U32_MAX if there is no limit
 *
 * Written while the connection is made, constant afterwards.
 */
struct rnbd_quirks {
	enum ib_wc_status too_long;
	bool reset_first;
	bool guard_reads;
	u32 guard_over;
	u32 read_limit;
};

void rnbd_quirks_init(struct rnbd_quirks *quirks, const struct ib_device *dev);
int rnbd_quirks_add_port(struct rnbd_quirks *quirks, struct ib_device *dev,
			 u32 port, bool lossy);
int rnbd_quirks_add_path(struct rnbd_quirks *quirks, struct ib_qp *qp);
bool rnbd_quirks_lossy(bool lossy, unsigned long live_at);
void rnbd_quirks_reset_qp(const struct rnbd_quirks *quirks, struct ib_qp *qp);

/**
 * rnbd_quirks_too_long - test whether a message was longer than its receive slot
 * @quirks: quirks of the device
 * @status: status of the completion
 *
 * Return: true if so.
 */
static inline bool rnbd_quirks_too_long(const struct rnbd_quirks *quirks,
					enum ib_wc_status status)
{
	return status == IB_WC_LOC_LEN_ERR || status == quirks->too_long;
}

/**
 * rnbd_quirks_limits_reads - test whether long RDMA READs are split
 * @quirks: quirks of the connection
 *
 * Return: true if so.
 */
static inline bool rnbd_quirks_limits_reads(const struct rnbd_quirks *quirks)
{
	return quirks->read_limit != U32_MAX;
}

#endif /* RNBD_CORE_QUIRKS_H */
