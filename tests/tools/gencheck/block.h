/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a block: how it is made, and what is found in one.
 */
#ifndef GENCHECK_BLOCK_H
#define GENCHECK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK		4096
#define SECTOR		512
#define SECTORS		(BLOCK / SECTOR)

/*
 * A version is a generation and who wrote it, in one word that is changed in
 * one step: the generation counts in the upper 48 bits, the writer is below.
 * 0 is the block as it was before any write.
 */
#define WRITER_BITS	16
#define WRITER_MAX	63

static inline uint64_t version_make(uint64_t generation, unsigned int writer)
{
	return generation << WRITER_BITS | writer;
}

static inline uint64_t version_generation(uint64_t version)
{
	return version >> WRITER_BITS;
}

static inline unsigned int version_writer(uint64_t version)
{
	return version & ((1u << WRITER_BITS) - 1);
}

/**
 * struct stamp - what a block says of itself
 * @seed: of the run of tests it belongs to; others are foreign
 * @address: number of the block on the disk
 * @version: generation and writer
 * @sequence: of the write among all of its writer
 * @time_ns: when it was written, CLOCK_REALTIME
 */
struct stamp {
	uint64_t seed;
	uint64_t address;
	uint64_t version;
	uint64_t sequence;
	uint64_t time_ns;
};

/**
 * enum content - what a block turned out to be
 * @CONTENT_UNIFORM: one and the same byte everywhere
 * @CONTENT_ALIEN: not one sector of it is ours
 * @CONTENT_MIXED: sectors of several writes, or of a write and of nothing
 * @CONTENT_CORRUPT: of one write, as its sectors say, but the bytes differ
 * @CONTENT_WHOLE: of one write, every byte
 */
enum content {
	CONTENT_UNIFORM,
	CONTENT_ALIEN,
	CONTENT_MIXED,
	CONTENT_CORRUPT,
	CONTENT_WHOLE,
};

/**
 * struct found - a block as it was read
 * @content: what it is
 * @byte: CONTENT_UNIFORM: the byte
 * @stamp: all but UNIFORM and ALIEN: of the first sector that is ours
 * @other: MIXED: version in the first sector that differs, 0 if it is not ours
 * @split: MIXED: number of that sector
 */
struct found {
	enum content content;
	uint8_t byte;
	struct stamp stamp;
	uint64_t other;
	unsigned int split;
};

void block_make(void *block, const struct stamp *stamp);
void block_inspect(const void *block, struct found *found);

uint64_t hash64(uint64_t x);

/* sums of the same bytes, for the test that compares them */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size);

#endif /* GENCHECK_BLOCK_H */
