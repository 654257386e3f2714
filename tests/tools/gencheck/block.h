/* SPDX-License-Identifier: GPL-2.0-only */
/* The contents of a block: how to make and how to inspect one. */
#ifndef GENCHECK_BLOCK_H
#define GENCHECK_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK		4096
#define SECTOR		512
#define SECTORS		(BLOCK / SECTOR)

/*
 * A version is one word that holds a generation (upper 48 bits) and the writer (lower 16 bits), so
 * that one store replaces both. Each write of a block increments the generation of the block.
 * Version 0 stands for the block before any write.
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
 * struct stamp - the identity of a write, stored in the block
 * @seed: Seed of the journal; a block with another seed is foreign
 * @address: Number of the block on the disk
 * @version: Generation and writer
 * @sequence: Number of the write among all writes of the run
 * @time_ns: Time of the write in ns, CLOCK_REALTIME
 */
struct stamp {
	uint64_t seed;
	uint64_t address;
	uint64_t version;
	uint64_t sequence;
	uint64_t time_ns;
};

/**
 * enum content - classification of the contents of a block
 * @CONTENT_UNIFORM: All bytes are equal
 * @CONTENT_ALIEN: No sector has a valid tag, and not all bytes are equal
 * @CONTENT_MIXED: Sectors of several writes, or of one write and sectors whose bytes are all equal
 * @CONTENT_CORRUPT: All valid tags belong to one write, but other bytes are wrong
 * @CONTENT_WHOLE: All bytes belong to one write
 */
enum content {
	CONTENT_UNIFORM,
	CONTENT_ALIEN,
	CONTENT_MIXED,
	CONTENT_CORRUPT,
	CONTENT_WHOLE,
};

/**
 * struct found - result of inspecting a block
 * @content: Classification
 * @byte: For UNIFORM: the byte
 * @stamp: For MIXED, CORRUPT and WHOLE: stamp in the first sector that has a valid tag
 * @other: For MIXED: version in the first sector that differs from @stamp, 0 if its tag is invalid
 * @split: For MIXED: number of the first sector that differs from @stamp
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

/* two implementations of the same CRC; a test compares them */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
uint32_t crc32c_table(uint32_t crc, const void *data, size_t size);

#endif /* GENCHECK_BLOCK_H */
