// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages, memory, time, and lists of strings.
 *
 * Operation: a command calls context_set() with a description of its action and object; each
 * later message begins with this description: "rnbd: attach disk0 at 10.9.0.1:4427: ...". A
 * message is one line and one write. Control characters in names and in texts of the kernel are
 * replaced.
 *
 * Ownership: the caller frees the memory that x*() functions return.
 * Concurrency: the program has one thread.
 * Errors: if memory is exhausted, the program exits without undoing earlier steps.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util.h"

static char context[512];

void context_set(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
}

/**
 * printable() - replace the control characters in a text for a line of the terminal
 * @text: text in ASCII or UTF-8; changed in place
 *
 * Texts from a peer, a file or the command line may have ends of line or escape sequences.
 * A tab, line feed or carriage return becomes a space; each byte of another control character
 * becomes a question mark.
 *
 * Return: @text.
 */
char *printable(char *text)
{
	unsigned char *p;

	for (p = (unsigned char *)text; *p; p++) {
		if (*p == '\n' || *p == '\t' || *p == '\r')
			*p = ' ';
		else if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			memset(p, '?', 2);
	}
	return text;
}

static void message(const char *fmt, va_list ap)
{
	char text[4096], line[sizeof(context) + sizeof(text) + 2];

	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(line, sizeof(line), "%s%s%s", context, *context ? ": " : "", text);
	fflush(stdout);
	fprintf(stderr, "rnbd: %s\n", printable(line));
}

/* Print an error message. */
void err(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(fmt, ap);
	va_end(ap);
}

/* Print information or a remedy that is not an error. */
void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(fmt, ap);
	va_end(ap);
}

/* Print an error message about the command line, and return the exit code for wrong usage. */
int usage_err(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(fmt, ap);
	va_end(ap);
	return RNBD_EXIT_USAGE;
}

static void *check(void *ptr)
{
	if (!ptr) {
		fputs("rnbd: out of memory\n", stderr);
		exit(RNBD_EXIT_FAIL);
	}
	return ptr;
}

void *xcalloc(size_t nmemb, size_t size)
{
	return check(calloc(nmemb ? nmemb : 1, size));
}

void *xrealloc(void *ptr, size_t nmemb, size_t size)
{
	return check(reallocarray(ptr, nmemb ? nmemb : 1, size));
}

/**
 * grow() - make space for another element of an array
 * @array: array, NULL if it is empty; allocated only by this function
 * @nr: number of elements in use
 * @size: size of an element in bytes
 *
 * The capacity doubles, so that the time to add n elements is proportional to n.
 *
 * Return: the array, which may have moved.
 */
void *grow(void *array, size_t nr, size_t size)
{
	/* The array is full if it is empty or if the number of elements is a power of two. */
	return nr & (nr - 1) ? array : xrealloc(array, nr ? 2 * nr : 1, size);
}

char *xstrdup(const char *s)
{
	return check(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return check(s);
}

/* Return the monotonic time in milliseconds, for deadlines. */
uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

void take_nap(unsigned int ms)
{
	const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&nap, NULL);
}

unsigned int take_longer_naps(unsigned int ms, unsigned int most)
{
	take_nap(ms);
	return ms + ms / 2 < most ? ms + ms / 2 : most;
}

static int compare(const void *a, const void *b)
{
	/* Compare numbers by value: disk2 before disk10, port 2 before port 10. */
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void strlist_add(struct strlist *list, const char *s)
{
	list->item = grow(list->item, list->nr, sizeof(*list->item));
	list->item[list->nr] = xstrdup(s);
	if (list->nr && compare(&list->item[list->nr - 1], &list->item[list->nr]) > 0)
		list->mixed = true;
	list->nr++;
}

bool strlist_has(const struct strlist *list, const char *s)
{
	size_t i;

	if (!list->mixed)
		return list->nr &&
		       bsearch(&s, list->item, list->nr, sizeof(*list->item), compare);
	for (i = 0; i < list->nr; i++) {
		if (!strcmp(list->item[i], s))
			return true;
	}
	return false;
}

/* Join all strings with a separator; "" if the list is empty. */
char *strlist_join(const struct strlist *list, const char *between)
{
	size_t gap = strlen(between), len = 1, i;
	char *all, *end;

	for (i = 0; i < list->nr; i++)
		len += strlen(list->item[i]) + gap;
	all = xcalloc(len, 1);
	end = all;
	for (i = 0; i < list->nr; i++) {
		if (i)
			end = stpcpy(end, between);
		end = stpcpy(end, list->item[i]);
	}
	return all;
}

void strlist_sort(struct strlist *list)
{
	if (list->nr > 1)
		qsort(list->item, list->nr, sizeof(*list->item), compare);
	list->mixed = false;
}

void strlist_free(struct strlist *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct strlist) { };
}
