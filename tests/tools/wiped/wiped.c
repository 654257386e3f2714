// SPDX-License-Identifier: GPL-2.0-only
/*
 * Report a secret that a program frees without wiping it, or receives from the kernel.
 *
 *	WIPED_HEX=DIGITS WIPED_TO=FILE LD_PRELOAD=/usr/local/bin/wiped.so COMMAND...
 *
 * Operation: the library replaces free() and recvmsg(). It searches each freed block and each
 * received message for the 32 bytes of the secret and for their hexadecimal form, and appends a
 * line to FILE for each block or message that contains either form. At the end of the program it
 * appends a further line, which shows that the library was loaded. It does not search the
 * stack, or blocks that are still allocated at the end.
 * Ownership: the secret is copied from the environment at the start.
 * Concurrency: none; the programs have one thread.
 * Errors: if WIPED_HEX or WIPED_TO is missing or invalid, the program ends at once.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET_SIZE	32

typedef ssize_t receive_fn(int fd, struct msghdr *msg, int flags);
typedef void free_fn(void *block);

static char hex[2 * SECRET_SIZE + 1];
static unsigned char bytes[SECRET_SIZE];
static int report = -1;

static void say(const char *line)
{
	if (write(report, line, strlen(line)) < 0)
		_exit(98);
}

static int holds(const void *memory, size_t size)
{
	return report >= 0 && (memmem(memory, size, bytes, sizeof(bytes)) ||
			       memmem(memory, size, hex, 2 * SECRET_SIZE));
}

void free(void *block)
{
	static free_fn *real;

	if (!real)
		real = dlsym(RTLD_NEXT, "free");
	if (block && holds(block, malloc_usable_size(block)))
		say("freed\n");
	real(block);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	receive_fn *real = dlsym(RTLD_NEXT, "recvmsg");
	ssize_t len = real(fd, msg, flags);
	size_t i;

	for (i = 0; len > 0 && i < msg->msg_iovlen; i++) {
		if (holds(msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len)) {
			say("received\n");
			break;
		}
	}
	return len;
}

__attribute__((constructor)) static void begin(void)
{
	const char *digits = getenv("WIPED_HEX"), *file = getenv("WIPED_TO");
	unsigned int i, byte;

	if (!digits || !file || strlen(digits) != 2 * SECRET_SIZE)
		_exit(97);
	for (i = 0; i < SECRET_SIZE; i++) {
		if (sscanf(digits + 2 * i, "%2x", &byte) != 1)
			_exit(97);
		bytes[i] = byte;
	}
	memcpy(hex, digits, sizeof(hex));
	report = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (report < 0)
		_exit(97);
}

__attribute__((destructor)) static void end(void)
{
	say("watched\n");
}
