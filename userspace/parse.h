/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parsers of user input, and formatters of values. Pure functions without I/O and global state
 * that need only the C library, so that unit tests can build parse.c alone.
 */
#ifndef RNBD_PARSE_H
#define RNBD_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_SIZE	16
#define UUID_TEXT_SIZE	37	/* including the NUL */
#define SIZE_TEXT_SIZE	16
#define FENCE_TEXT_SIZE	64
#define OWNER_TEXT_SIZE	112

/**
 * struct fence - fencing state of a host in the kernel, as in fence_state
 * @generation: fence generation, 1 until the host is fenced for the first time
 * @fenced: true if the host is fenced, so that its logins are refused
 * @boot_id: last known boot id of the client module of the host; the null UUID if none is
 *	known
 */
struct fence {
	uint32_t generation;
	bool fenced;
	char boot_id[UUID_TEXT_SIZE];
};

/**
 * struct owner - ownership of an export in the kernel, as in owner_state
 * @generation: raised by each change of the owner; 0 until the export has an owner
 * @host: UUID of the owner, or the null UUID
 * @boot_id: boot id of the owner's client module; the null UUID before its first attach
 * @fence_generation: fence generation that the host had when it became the owner; if the
 *	present fence generation of the host is higher, the host was fenced since then, and the
 *	ownership ends
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
