// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that errors are mapped as in the table of Documentation/reference/protocol-errors.rst: the
 * errno of the storage to the status of the reply, and this status to the errno of the disk.
 */
#include "unit.h"
#include "status.h"
#include <rnbd/wire.h>

struct row {
	int storage;
	u16 status;
	int disk;
};

static const struct row rows[] = {
	{ 0, RNBD_ST_OK, 0 },
	{ -EIO, RNBD_ST_IO, -EREMOTEIO },
	{ -EREMOTEIO, RNBD_ST_REFUSED, -EREMOTEIO },
	{ -EINVAL, RNBD_ST_REFUSED, -EREMOTEIO },
	{ -ENODATA, RNBD_ST_MEDIUM, -ENODATA },
	{ -EILSEQ, RNBD_ST_PROTECTION, -EILSEQ },
	{ -ENOSPC, RNBD_ST_NOSPC, -ENOSPC },
	{ -EDQUOT, RNBD_ST_NOSPC, -ENOSPC },
	{ -EFBIG, RNBD_ST_NOSPC, -ENOSPC },
	{ -EOPNOTSUPP, RNBD_ST_NOTSUPP, -EOPNOTSUPP },
	{ -EBADE, RNBD_ST_RESV, -EBADE },
	{ -EROFS, RNBD_ST_READONLY, -EREMOTEIO },
	{ -EPERM, RNBD_ST_READONLY, -EREMOTEIO },
	{ -ENODEV, RNBD_ST_GONE, -ENOLINK },
	{ -ENXIO, RNBD_ST_GONE, -ENOLINK },
	{ -ESTALE, RNBD_ST_GONE, -ENOLINK },
	{ -ENOLINK, RNBD_ST_GONE, -ENOLINK },
	{ -ETIMEDOUT, RNBD_ST_GONE, -ENOLINK },
	{ -ENOMEM, RNBD_ST_NOMEM, -ENOMEM },
	{ -EAGAIN, RNBD_ST_NOMEM, -ENOMEM },
};

static const struct row *find(int error)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].storage == error)
			return &rows[i];
	return NULL;
}

/* An errno that is not in the table is mapped like EIO. */
static void test_rows(void **state)
{
	int error;

	(void)state;
	for (error = 0; error > -4096; error--) {
		const struct row *row = find(error) ?: find(-EIO);
		u16 status = rnbd_errno_status(error);

		assert_int_equal(status, row->status);
		assert_int_equal(rnbd_status_errno(status), row->disk);
	}
	assert_int_equal(rnbd_status_errno(RNBD_ST_RANGE), -EREMOTEIO);
}

/*
 * All statuses except OK are errors, also unknown numbers. Only GONE is a path error. Only NOMEM
 * and CLOSED yield ENOMEM: the target has not executed the request, and the client sends it again.
 */
static void test_statuses(void **state)
{
	u32 status;

	(void)state;
	for (status = 0; status <= 0xffff; status++) {
		int error = rnbd_status_errno(status);

		assert_int_equal(!error, status == RNBD_ST_OK);
		assert_int_equal(error == -ENOLINK, status == RNBD_ST_GONE);
		assert_int_equal(error == -ENOMEM,
				 status == RNBD_ST_NOMEM || status == RNBD_ST_CLOSED);
		assert_true(error != -EIO && error != -ETIMEDOUT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
