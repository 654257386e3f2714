// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contents of a block.
 *
 * Operation: each of the eight sectors begins with a tag of seed, address and version, so
 * block_inspect() detects a block with sectors of several writes. The first sector also holds the
 * time of the write, its sequence number, and the CRC32C of the whole block. The rest of each
 * sector is a pattern derived from the tag and the sector number, so no two sectors are equal.
 *
 * Ownership: the caller owns all buffers; they are aligned to 8 bytes.
 * Concurrency: the only shared state is the CRC table, filled before main().
 * Errors: none; block_inspect() accepts any contents.
 */
#include <string.h>

#include "block.h"

#define MAGIC		0x6b636568636e6567ull	/* "gencheck" */
#define GOLDEN		0x9e3779b97f4a7c15ull

struct tag {
	uint64_t magic;
	uint64_t seed;
	uint64_t address;
	uint64_t version;
};

struct head {
	struct tag tag;
	uint64_t sequence;
	uint64_t time_ns;
	uint32_t crc;
	uint32_t zero;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is that of the memory");
_Static_assert(sizeof(void *) == 8, "64 bits");
_Static_assert(sizeof(struct head) == 56, "no holes");

/* The finalizer of splitmix64: every bit of the result depends on all of x. */
uint64_t hash64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* --- CRC32C -------------------------------------------------------------- */

static uint32_t table[8][256];

__attribute__((constructor)) static void crc32c_init(void)
{
	unsigned int i, k;

	for (i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
		table[0][i] = crc;
	}
	for (k = 1; k < 8; k++)
		for (i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
}

/* Compute a CRC32C in steps of eight bytes, with one table for each of the eight bytes. */
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (; size >= 8; size -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		word ^= crc;
		crc = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
		      table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
		      table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	for (; size; size--, p++)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t crc32c_instruction(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t sum = ~crc;

	for (; size >= 8; size -= 8, p += 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		sum = __builtin_ia32_crc32di(sum, word);
	}
	crc = sum;
	for (; size; size--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return ~crc;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_instruction(crc, data, size);
	return crc32c_table(crc, data, size);
}
#else
uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
	return crc32c_table(crc, data, size);
}
#endif

/* Return the CRC of a block; the four bytes of the CRC itself count as zeros. */
static uint32_t block_crc(const void *block)
{
	static const uint8_t none[4];
	const uint8_t *p = block;
	size_t at = offsetof(struct head, crc);
	uint32_t crc;

	crc = crc32c(0, p, at);
	crc = crc32c(crc, none, sizeof(none));
	return crc32c(crc, p + at + sizeof(none), BLOCK - at - sizeof(none));
}

/* --- a block ------------------------------------------------------------- */

/**
 * block_make() - fill a block with tags and pattern
 * @block: Buffer of 4096 bytes
 * @stamp: Seed, address, version, sequence number and time to store in the block
 */
void block_make(void *block, const struct stamp *stamp)
{
	uint64_t base = hash64(stamp->seed ^ hash64(stamp->address ^ hash64(stamp->version)));
	struct head *head = block;
	unsigned int sector, i;

	for (sector = 0; sector < SECTORS; sector++) {
		uint64_t *word = (uint64_t *)((uint8_t *)block + sector * SECTOR);
		struct tag *tag = (struct tag *)word;
		uint64_t value = base + sector;

		tag->magic = MAGIC + sector;
		tag->seed = stamp->seed;
		tag->address = stamp->address;
		tag->version = stamp->version;
		for (i = sizeof(*tag) / 8; i < SECTOR / 8; i++)
			word[i] = value += GOLDEN;
	}
	head->sequence = stamp->sequence;
	head->time_ns = stamp->time_ns;
	head->zero = 0;
	head->crc = block_crc(block);
}

static bool uniform(const uint8_t *p, size_t size)
{
	return !memcmp(p, p + 1, size - 1);
}

static bool same(const struct tag *a, const struct tag *b)
{
	return a->seed == b->seed && a->address == b->address && a->version == b->version;
}

/**
 * block_inspect() - classify the contents of a block
 * @block: Any 4096 bytes
 * @found: Result
 */
void block_inspect(const void *block, struct found *found)
{
	const uint8_t *p = block;
	const struct head *head = block;
	const struct tag *tag[SECTORS] = { };
	const struct tag *first = NULL;
	bool blank = false, odd = false;
	unsigned int i;

	memset(found, 0, sizeof(*found));
	for (i = 0; i < SECTORS; i++) {
		const struct tag *t = (const struct tag *)(p + i * SECTOR);

		if (t->magic == MAGIC + i) {
			tag[i] = t;
			if (!first)
				first = t;
		} else if (uniform(p + i * SECTOR, SECTOR)) {
			blank = true;
		} else {
			odd = true;
		}
	}
	if (!first) {
		found->content = uniform(p, BLOCK) ? CONTENT_UNIFORM : CONTENT_ALIEN;
		found->byte = p[0];
		return;
	}
	found->stamp.seed = first->seed;
	found->stamp.address = first->address;
	found->stamp.version = first->version;
	if (tag[0]) {
		found->stamp.sequence = head->sequence;
		found->stamp.time_ns = head->time_ns;
	}
	for (i = 0; i < SECTORS; i++) {
		if (tag[i] ? same(tag[i], first) : !blank || odd)
			continue;
		found->content = CONTENT_MIXED;
		found->split = i;
		found->other = tag[i] ? tag[i]->version : 0;
		return;
	}
	if (odd || head->crc != block_crc(block))
		found->content = CONTENT_CORRUPT;
	else
		found->content = CONTENT_WHOLE;
}
