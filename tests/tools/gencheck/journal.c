// SPDX-License-Identifier: GPL-2.0-only
/*
 * The journal: the writes to each block, recorded outside of the disk under test.
 *
 * Operation: the file has a head and an entry of 64 bytes for each block. The file is mapped, and
 * the entry of a block is updated in place before a write is issued and after its acknowledgment.
 * Stores reach the page cache in program order, and after each store the entry describes all
 * contents that the block can have at this time. So the journal is valid whenever the checker is
 * killed:
 *
 *   issue:  issued = new, doubt = new (if no version was in doubt), pending = new
 *   write
 *   ack:    flushed = acked (if that is durable), acked_seq, acked = new,
 *           pending = 0
 *
 * A failed write leaves its version pending; the next write extends the range of versions in doubt
 * up to its own version.
 *
 * If the file cannot be mapped for writing (9p without a cache), or if the journal must survive a
 * crash of the machine, a changed entry is written to the file by pwrite() before the next step. An
 * entry never crosses a page boundary, so one pwrite() updates all of it.
 *
 * Flushes: a flush does not update the entries. Acknowledgments are numbered, and a flush that
 * begins at number S makes all writes up to S durable (flushed_seq). When a new version replaces an
 * acknowledged one, the entry records whether a completed flush covers the replaced version. A
 * flush that completes later does not count for the replaced version, so the check can be too
 * lenient but never too strict.
 *
 * Ownership: the caller owns struct journal; journal_close() removes the mapping.
 * Concurrency: only the thread that owns a block changes its entry. Threads share the head:
 * flushed_seq only grows, and counters are atomic.
 * Errors: making and opening a journal returns a negative errno after a message. A failed update of
 * the journal ends the program (exit 4), because no verdict is possible without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gencheck.h"

#define MAGIC		0x316c6e7275636e67ull	/* "gncurnl1" */
#define HEAD		4096

_Static_assert(sizeof(struct entry) == 64, "divides a page");
_Static_assert(sizeof(struct journal_head) <= HEAD, "one page");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "in one step");

static uint64_t get(const atomic_ulong *p)
{
	return atomic_load_explicit(p, memory_order_acquire);
}

static void set(atomic_ulong *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_release);
}

static struct entry *entry_of(const struct journal *j, uint64_t address)
{
	return &j->entry[address - j->head->layout.first];
}

static bool write_all(int fd, const void *data, size_t size, off_t at)
{
	const char *p = data;

	while (size) {
		ssize_t n = pwrite(fd, p, size, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += n;
		size -= n;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t size)
{
	char *p = data;
	off_t at = 0;

	while (size) {
		ssize_t n = pread(fd, p + at, size < 1 << 20 ? size : 1 << 20, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

/* Write @n changed entries to the file, unless the file is mapped and so already has them. */
static void store(struct journal *j, uint64_t address, unsigned int n)
{
	struct entry *entry = entry_of(j, address);

	if (j->by_pwrite &&
	    !write_all(j->fd, entry, n * sizeof(*entry), (char *)entry - (char *)j->head))
		fatal("%s: %s", j->path, strerror(errno));
}

void journal_sync_head(struct journal *j)
{
	bool ok;

	if (!j->by_pwrite || !j->writable)
		return;
	pthread_mutex_lock(&j->head_lock);
	ok = write_all(j->fd, j->head, sizeof(*j->head), 0);
	pthread_mutex_unlock(&j->head_lock);
	if (!ok)
		fatal("%s: %s", j->path, strerror(errno));
}

/* --- files --------------------------------------------------------------- */

/**
 * journal_make() - make a journal that does not contain any writes yet
 * @path: File name; an existing journal is replaced
 * @layout: Area of the disk that the journal covers
 * @io: Method by which the journal will be updated
 */
int journal_make(const char *path, const struct layout *layout, enum journal_io io)
{
	struct journal_head head = { .magic = MAGIC, .layout = *layout };
	char unfinished[PATH_MAX];
	off_t size = HEAD + layout->blocks * sizeof(struct entry);
	int fd, err = 0;

	/*
	 * Write a new file and rename it: another process can have the old journal open, and a
	 * killed process must leave a complete journal, the old one or the new one.
	 */
	if (snprintf(unfinished, sizeof(unfinished), "%s.%d.new", path, getpid()) >=
	    (int)sizeof(unfinished)) {
		message("%s: %s", path, strerror(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	fd = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST && !unlink(unfinished))
		fd = open(unfinished, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0) {
		err = errno;
		message("%s: %s", unfinished, strerror(err));
		return -err;
	}
	if (ftruncate(fd, size))
		err = errno;
	/* a store to a mapped page raises SIGBUS if the file system is full: reserve the space */
	if (!err && io != JOURNAL_PWRITE) {
		err = posix_fallocate(fd, 0, size);
		if (err == EOPNOTSUPP || err == EINVAL)
			err = 0;
	}
	if (!err && !write_all(fd, &head, sizeof(head), 0))
		err = errno;
	close(fd);
	if (!err && rename(unfinished, path))
		err = errno;
	if (err) {
		message("%s: %s", path, strerror(err));
		unlink(unfinished);
	}
	return -err;
}

static int map(struct journal *j, enum journal_io io)
{
	int prot = PROT_READ | (j->writable ? PROT_WRITE : 0);
	void *p = MAP_FAILED;

	if (j->writable && io != JOURNAL_PWRITE) {
		p = mmap(NULL, j->size, prot, MAP_SHARED, j->fd, 0);
		if (p == MAP_FAILED && io == JOURNAL_MMAP) {
			message("%s: cannot be mapped for writing: %s", j->path, strerror(errno));
			return -errno;
		}
	}
	if (p == MAP_FAILED) {
		p = mmap(NULL, j->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		j->by_pwrite = true;
		if (!read_all(j->fd, p, j->size)) {
			message("%s: cannot be read", j->path);
			munmap(p, j->size);
			return -EIO;
		}
	}
	j->head = p;
	j->entry = (struct entry *)((char *)p + HEAD);
	return 0;
}

static bool valid(const struct journal_head *head, off_t size)
{
	const struct layout *l = &head->layout;

	return head->magic == MAGIC && l->blocks && l->chunk && l->shares &&
	       l->share < l->shares &&
	       (uint64_t)size == HEAD + l->blocks * sizeof(struct entry);
}

/**
 * journal_open() - open an existing journal
 * @j: Result
 * @path: File name; must stay valid until journal_close()
 * @use: Purpose; determines the lock on the file
 * @io: Method of writing changes
 */
int journal_open(struct journal *j, const char *path, enum journal_use use, enum journal_io io)
{
	bool writable = use == JOURNAL_WRITE;
	struct journal_head head;
	struct stat st;
	uint64_t i;
	int err;

	memset(j, 0, sizeof(*j));
	j->path = path;
	j->writable = writable;
	pthread_mutex_init(&j->head_lock, NULL);
	j->fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (j->fd < 0 || fstat(j->fd, &st)) {
		err = errno;
		message("%s: %s", path, strerror(err));
		goto fail;
	}
	if (use != JOURNAL_LOOK && flock(j->fd, (writable ? LOCK_EX : LOCK_SH) | LOCK_NB) &&
	    errno == EWOULDBLOCK) {
		err = EBUSY;
		message("%s: in use by another gencheck", path);
		goto fail;
	}
	if (pread(j->fd, &head, sizeof(head), 0) != sizeof(head) || !valid(&head, st.st_size)) {
		err = EINVAL;
		message("%s: not a journal", path);
		goto fail;
	}
	j->size = st.st_size;
	err = -map(j, io);
	if (err)
		goto fail;
	j->clock = j->head->flushed_seq;
	for (i = 0; i < j->head->layout.blocks; i++)
		if (j->entry[i].acked_seq > j->clock)
			j->clock = j->entry[i].acked_seq;
	return 0;
fail:
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
	return -err;
}

void journal_close(struct journal *j)
{
	if (j->fd < 0)
		return;
	journal_sync_head(j);
	munmap(j->head, j->size);
	close(j->fd);
	j->fd = -1;
}

/* Begin a run: reset the counters in the journal, and add @writer to its mask of writers. */
void journal_take_up(struct journal *j, unsigned int writer)
{
	j->head->writers |= 1ull << writer;
	j->head->runs++;
	j->head->started_ns = real_ns();
	memset(j->head->counters, 0, sizeof(j->head->counters));
	journal_sync_head(j);
}

/* --- updates of an entry ------------------------------------------------- */

bool journal_owns(const struct journal *j, uint64_t address)
{
	const struct layout *l = &j->head->layout;

	return address >= l->first && address - l->first < l->blocks &&
	       (address - l->first) / l->chunk % l->shares == l->share;
}

static bool durable_now(const struct journal *j, const struct entry *entry)
{
	return get(&entry->acked_seq) <= get(&j->head->flushed_seq);
}

/**
 * journal_issue() - assign versions to writes and mark them in flight
 * @j: Journal
 * @address: First block
 * @n: Number of blocks
 * @writer: Writer of the new versions
 * @versions: Result: version to write for each block
 */
void journal_issue(struct journal *j, uint64_t address, unsigned int n, unsigned int writer,
		   uint64_t *versions)
{
	struct entry *entry = entry_of(j, address);
	unsigned int i;

	for (i = 0; i < n; i++, entry++) {
		versions[i] = version_make(version_generation(get(&entry->issued)) + 1, writer);
		set(&entry->issued, versions[i]);
		/*
		 * pending and acked are equal if a process was killed in journal_ack() between the
		 * two stores: then no version is in doubt
		 */
		if (!get(&entry->pending) || get(&entry->pending) == get(&entry->acked))
			set(&entry->doubt, versions[i]);
		set(&entry->pending, versions[i]);
	}
	store(j, address, n);
}

/**
 * journal_ack() - record that the last writes issued to these blocks have succeeded
 * @j: Journal
 * @address: First block
 * @n: Number of blocks
 * @durable: The writes are durable without a flush
 */
void journal_ack(struct journal *j, uint64_t address, unsigned int n, bool durable)
{
	uint64_t seq = atomic_fetch_add(&j->clock, 1) + 1;
	struct entry *entry = entry_of(j, address);
	unsigned int i;

	for (i = 0; i < n; i++, entry++) {
		if (durable_now(j, entry))
			set(&entry->flushed, get(&entry->acked));
		set(&entry->acked_seq, seq);
		set(&entry->acked, get(&entry->pending));
		set(&entry->pending, 0);
		if (durable)
			set(&entry->flushed, get(&entry->acked));
	}
	store(j, address, n);
}

/* Record that a version in doubt was read back: later reads must not return an older one. */
void journal_seen(struct journal *j, uint64_t address, uint64_t version)
{
	struct entry *entry = entry_of(j, address);

	if (!get(&entry->pending) || version <= get(&entry->acked) ||
	    version <= get(&entry->seen))
		return;
	set(&entry->seen, version);
	store(j, address, 1);
}

/* Return the number of the last acknowledgment that a flush beginning now will cover. */
uint64_t journal_flush_begin(struct journal *j)
{
	return get(&j->clock);
}

void journal_flushed(struct journal *j, uint64_t seq)
{
	uint64_t old = get(&j->head->flushed_seq);

	while (old < seq && !atomic_compare_exchange_weak(&j->head->flushed_seq, &old, seq))
		;
	journal_sync_head(j);
}

/* Make @version, found on the disk after a crash, the acknowledged version of the block. */
void journal_adopt(struct journal *j, uint64_t address, uint64_t version)
{
	struct entry *entry = entry_of(j, address);

	if (durable_now(j, entry))
		set(&entry->flushed, get(&entry->acked));
	if (version < get(&entry->flushed))
		set(&entry->flushed, version);
	set(&entry->acked_seq, atomic_fetch_add(&j->clock, 1) + 1);
	set(&entry->acked, version);
	set(&entry->seen, 0);
	set(&entry->pending, 0);
	store(j, address, 1);
}

/**
 * journal_expect() - collect the expected state of a block
 * @j: Journal
 * @address: Block in the area of the journal
 * @rule: Events before the verification
 * @expect: Result
 */
void journal_expect(const struct journal *j, uint64_t address, const struct rule *rule,
		    struct expect *expect)
{
	const struct layout *layout = &j->head->layout;
	const struct entry *entry = entry_of(j, address);

	memset(expect, 0, sizeof(*expect));
	expect->seed = layout->seed;
	expect->address = address;
	expect->fill = layout->fill;
	expect->writers = j->head->writers;
	expect->acked = get(&entry->acked);
	expect->pending = get(&entry->pending);
	/* equal: a process was killed in journal_ack() between the stores to acked and pending */
	if (expect->pending == expect->acked)
		expect->pending = 0;
	expect->doubt = expect->pending ? get(&entry->doubt) : 0;
	expect->seen = expect->pending ? get(&entry->seen) : 0;
	expect->flushed = durable_now(j, entry) ? expect->acked : get(&entry->flushed);
	expect->issued = get(&entry->issued);
	expect->crashed = rule->after_crash;
	expect->may_go_back = rule->after_crash && rule->errors_seen;
}
