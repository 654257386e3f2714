// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk under test: a block device or a file.
 *
 * Operation: I/O is synchronous and bypasses the page cache unless --buffered is given. A failed
 * operation is counted under its errno, and retried with --on-error=retry. Before it retries, or
 * continues with --on-error=continue, the thread pauses, because operations on a lost disk fail
 * immediately.
 *
 * Ownership: the caller owns the buffers and the file descriptor.
 * Concurrency: any number of threads.
 * Errors: disk_io() returns whether the operation finally succeeded. A failure ends the run with
 * --on-error=stop, and with --on-error=retry when the time limit of the retries is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gencheck.h"

#define PAUSE_MS	10

/**
 * disk_open() - open the disk of the command line
 * @writable: Open for reading and writing, else for reading only
 * @blocks: Result: length of the disk in blocks
 * Return: a file descriptor, or -1 after a message
 */
int disk_open(bool writable, uint64_t *blocks)
{
	int flags = O_CLOEXEC | (writable ? O_RDWR : O_RDONLY) | (opt.buffered ? 0 : O_DIRECT);
	struct stat st;
	uint64_t size;
	int fd;

	fd = open(opt.disk, flags);
	if (fd < 0) {
		message("%s: %s", opt.disk, strerror(errno));
		return -1;
	}
	if (fstat(fd, &st))
		goto fail;
	if (S_ISREG(st.st_mode)) {
		size = st.st_size;
	} else if (ioctl(fd, BLKGETSIZE64, &size)) {
		message("%s: neither a block device nor a file", opt.disk);
		close(fd);
		return -1;
	}
	*blocks = size / BLOCK;
	return fd;
fail:
	message("%s: %s", opt.disk, strerror(errno));
	close(fd);
	return -1;
}

/* Extend a disk that is a file to @blocks blocks. Return: 0, or -1 after a message. */
int disk_extend(int fd, uint64_t blocks, uint64_t *have)
{
	struct stat st;

	if (*have >= blocks)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		message("%s: only %llu blocks long", opt.disk, (unsigned long long)*have);
		return -1;
	}
	if (ftruncate(fd, blocks * BLOCK)) {
		message("%s: %s", opt.disk, strerror(errno));
		return -1;
	}
	*have = blocks;
	return 0;
}

void *disk_buffer(unsigned int blocks)
{
	void *buffer;

	if (posix_memalign(&buffer, BLOCK, (size_t)blocks * BLOCK))
		fatal("out of memory");
	memset(buffer, 0, (size_t)blocks * BLOCK);
	return buffer;
}

/* Do an operation once. Return: 0 or an errno. */
static int attempt(int fd, enum op op, void *buffer, uint64_t address, unsigned int n)
{
	size_t size = (size_t)n * BLOCK, done = 0;
	off_t at = address * BLOCK;

	if (op == OP_FLUSH)
		return fdatasync(fd) ? errno : 0;
	while (done < size) {
		struct iovec iov = { .iov_base = (char *)buffer + done, .iov_len = size - done };
		ssize_t got;

		if (op == OP_READ)
			got = preadv2(fd, &iov, 1, at + done, 0);
		else
			got = pwritev2(fd, &iov, 1, at + done, op == OP_DURABLE ? RWF_DSYNC : 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		/* the disk has become shorter */
		if (!got)
			return op == OP_READ ? ENODATA : ENOSPC;
		done += got;
	}
	return 0;
}

/* Read once; do not count a failure. */
bool disk_try_read(int fd, void *buffer, uint64_t address, unsigned int n)
{
	uint64_t start = now_ns();

	if (attempt(fd, OP_READ, buffer, address, n))
		return false;
	tally_latency(now_ns() - start);
	return true;
}

/**
 * disk_io() - do an operation, with retries if --on-error allows them
 * @fd: Disk
 * @op: Operation
 * @buffer: Data to write, or memory for the data to read
 * @address: First block
 * @n: Number of blocks
 * Return: true if the operation succeeded
 */
bool disk_io(int fd, enum op op, void *buffer, uint64_t address, unsigned int n)
{
	uint64_t first = now_ns(), start = first;

	for (;;) {
		int err = attempt(fd, op, buffer, address, n);

		if (!err) {
			tally_latency(now_ns() - start);
			return true;
		}
		tally_error(err);
		if (opt.on_error == ON_ERROR_RETRY && !give_up &&
		    now_ns() - first < opt.retry_seconds * 1000000000ull) {
			pause_ms(PAUSE_MS);
			start = now_ns();
			continue;
		}
		tally(COUNT_FAILED, 1);
		if (opt.on_error == ON_ERROR_CONTINUE) {
			pause_ms(PAUSE_MS);
		} else {
			give_up = true;
			stop_requested = true;
		}
		return false;
	}
}
