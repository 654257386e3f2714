// SPDX-License-Identifier: GPL-2.0-only
/*
 * logreplay - print a log of dm-log-writes, or write a part of it to a disk.
 *
 * Operation: "list" prints a line for each entry. "replay" writes the entries FROM to TO-1 to a
 * disk or file that already holds the entries before FROM. The result is like the logged disk after
 * a power cut directly after entry TO-1. The kernel's
 * Documentation/admin-guide/device-mapper/log-writes.rst defines the format: a sector with the head
 * of the log, then for each entry a sector that describes the entry, and the data of the entry.
 *
 * Ownership: static buffers for the sector of an entry and for the piece of data that is copied.
 * Concurrency: none; the log must not be in use.
 * Errors: a message that names the file, exit code 1. An inconsistent log is rejected.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC		0x6a736677736872ull
#define VERSION		1
#define SECTOR_MAX	65536
#define PIECE		1048576

enum {
	LOG_FLUSH	= 1,
	LOG_FUA		= 2,
	LOG_DISCARD	= 4,
	LOG_MARK	= 8,
};

struct log_head {
	uint64_t magic;
	uint64_t version;
	uint64_t entries;
	uint32_t sector_size;
};

/* Start of the sector of an entry; @sector and @sectors count sectors of head.sector_size bytes. */
struct log_entry {
	uint64_t sector;
	uint64_t sectors;
	uint64_t flags;
	uint64_t mark_size;
};

static const char *log_path;
static int log_fd;
static uint32_t sector_size;
static uint64_t nr_entries;
static char entry_sector[SECTOR_MAX];

static void __attribute__((noreturn, format(printf, 1, 2))) fatal(const char *fmt, ...)
{
	va_list ap;

	fputs("logreplay: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void read_log(void *data, size_t size, uint64_t at)
{
	ssize_t n = pread(log_fd, data, size, at);

	if (n < 0)
		fatal("%s: %s", log_path, strerror(errno));
	if ((size_t)n != size)
		fatal("%s: ends at byte %" PRIu64, log_path, at + n);
}

static void open_log(const char *path)
{
	struct log_head head;

	log_path = path;
	log_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (log_fd < 0)
		fatal("%s: %s", path, strerror(errno));
	read_log(&head, sizeof(head), 0);
	sector_size = le32toh(head.sector_size);
	nr_entries = le64toh(head.entries);
	if (le64toh(head.magic) != MAGIC || le64toh(head.version) != VERSION ||
	    sector_size < 512 || sector_size > SECTOR_MAX)
		fatal("%s: not a log of dm-log-writes", path);
}

/* Read the entry at @at; return the offset of its data. */
static uint64_t read_entry(struct log_entry *entry, uint64_t at)
{
	struct log_entry raw;

	read_log(entry_sector, sector_size, at);
	memcpy(&raw, entry_sector, sizeof(raw));
	entry->sector = le64toh(raw.sector);
	entry->sectors = le64toh(raw.sectors);
	entry->flags = le64toh(raw.flags);
	entry->mark_size = le64toh(raw.mark_size);
	if (entry->mark_size > sector_size - sizeof(raw) ||
	    entry->sectors > INT64_MAX / sector_size ||
	    entry->sector > INT64_MAX / sector_size - entry->sectors)
		fatal("%s: no entry at byte %" PRIu64, log_path, at);
	return at + sector_size;
}

/* Return the offset of the next entry; @data is the offset of the data of this entry. */
static uint64_t next_entry(const struct log_entry *entry, uint64_t data)
{
	return entry->flags & LOG_DISCARD ? data : data + entry->sectors * sector_size;
}

static void print_entry(uint64_t index, const struct log_entry *entry)
{
	const char *mark = entry_sector + sizeof(*entry);

	printf("entry=%" PRIu64 " sector=%" PRIu64 " sectors=%" PRIu64 " flags=", index,
	       entry->sector, entry->sectors);
	if (!(entry->flags & (LOG_FLUSH | LOG_FUA | LOG_DISCARD | LOG_MARK)))
		fputs("write", stdout);
	if (entry->flags & LOG_FLUSH)
		fputs("flush,", stdout);
	if (entry->flags & LOG_FUA)
		fputs("fua,", stdout);
	if (entry->flags & LOG_DISCARD)
		fputs("discard,", stdout);
	if (entry->flags & LOG_MARK)
		printf("mark, mark=%.*s", (int)strnlen(mark, entry->mark_size), mark);
	putchar('\n');
}

static void write_disk(int fd, const char *path, const void *data, size_t size, uint64_t at)
{
	const char *p = data;

	while (size) {
		ssize_t n = pwrite(fd, p, size, at);

		if (n <= 0)
			fatal("%s: %s", path, n ? strerror(errno) : "cannot be written");
		p += n;
		at += n;
		size -= n;
	}
}

/* Write the data of an entry to the disk; a discard writes zeros. */
static void apply(int fd, const char *path, const struct log_entry *entry, uint64_t data)
{
	static char piece[PIECE];
	uint64_t left = entry->sectors * sector_size, at = entry->sector * sector_size;

	while (left) {
		size_t size = left < PIECE ? left : PIECE;

		if (entry->flags & LOG_DISCARD)
			memset(piece, 0, size);
		else
			read_log(piece, size, data);
		write_disk(fd, path, piece, size, at);
		data += size;
		at += size;
		left -= size;
	}
}

static uint64_t parse_entry(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9')
		fatal("'%s' is not the number of an entry", text);
	return value;
}

int main(int argc, char **argv)
{
	bool list = argc == 3 && !strcmp(argv[1], "list");
	uint64_t from = 0, to = UINT64_MAX, at, data, i;
	struct log_entry entry;
	const char *disk = NULL;
	int fd = -1;

	if (!list && !(argc == 6 && !strcmp(argv[1], "replay")))
		fatal("usage: logreplay list LOG | replay LOG DISK FROM TO");
	open_log(argv[2]);
	if (!list) {
		disk = argv[3];
		from = parse_entry(argv[4]);
		to = parse_entry(argv[5]);
		if (from > to || to > nr_entries)
			fatal("%s: has no entries from %" PRIu64 " to %" PRIu64 ", only %" PRIu64,
			      log_path, from, to, nr_entries);
		fd = open(disk, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			fatal("%s: %s", disk, strerror(errno));
	}
	at = sector_size;
	for (i = 0; i < nr_entries && i < to; i++) {
		data = read_entry(&entry, at);
		if (list)
			print_entry(i, &entry);
		else if (i >= from)
			apply(fd, disk, &entry, data);
		at = next_entry(&entry, data);
	}
	if (fd >= 0 && (fsync(fd) || close(fd)))
		fatal("%s: %s", disk, strerror(errno));
	return 0;
}
