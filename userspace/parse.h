/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns what people type into values, and values into text. Pure functions:
 * no I/O, no globals, nothing but the C library, so that unit tests can build
 * parse.c alone.
 */
#ifndef RNBD_PARSE_H
#define RNBD_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_SIZE	16
#define UUID_TEXT_SIZE	37	/* with its NUL */
#define SIZE_TEXT_SIZE	16
#define FENCE_TEXT_SIZE	64
#define OWNER_TEXT_SIZE	112

/**
 * struct fence - what the kernel knows of the fences of a host
 * @generation: of the last one, 1 before the first
 * @fenced: it is not let in
 * @boot_id: of its client module when it was let in last
 */
struct fence {
	uint32_t generation;
	bool fenced;
	char boot_id[UUID_TEXT_SIZE];
};

/**
 * struct owner - what the kernel knows of the owner of an export
 * @generation: of the latest change of the owner, 0 before the first
 * @host: UUID of the owner, or null
 * @boot_id: of its client module
 * @fence_generation: of the owner
 */
struct owner {
	uint32_t generation;
	char host[UUID_TEXT_SIZE];
	char boot_id[UUID_TEXT_SIZE];
	uint32_t fence_generation;
};

int parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *out);
int parse_size(const char *s, uint64_t max, uint64_t *out);
int parse_addr(const char *s, char *host, size_t host_size, uint16_t *port);
int parse_uuid(const char *s, uint8_t uuid[UUID_SIZE]);
int parse_disk(const char *s, char *name, size_t name_size);
int parse_partition(const char *s, char *whole, size_t size);
bool export_name_valid(const char *s);
bool disk_name_valid(const char *s);

void format_uuid(const uint8_t uuid[UUID_SIZE], char text[UUID_TEXT_SIZE]);
void format_size(uint64_t bytes, char text[SIZE_TEXT_SIZE]);
int format_addr(const char *host, uint16_t port, char *text, size_t text_size);

int fence_parse(const char *text, struct fence *fence);
void fence_text(const struct fence *fence, char text[FENCE_TEXT_SIZE]);
int owner_parse(const char *text, struct owner *owner);
void owner_text(const struct owner *owner, char text[OWNER_TEXT_SIZE]);

#endif /* RNBD_PARSE_H */
