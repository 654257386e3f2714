// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages, memory, time, lists of strings.
 *
 * Operation: a command says once what it is about to do and to what
 * (context_set), and every message then starts with it: "rnbd: attach disk0
 * at 10.9.0.1:4427: ...". A message is one line and one write, whatever a name
 * or the kernel put in it.
 *
 * Ownership: x*() return memory that the caller frees.
 * Concurrency: the program has one thread.
 * Errors: out of memory ends the program; nothing here undoes half-done work.
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
 * printable() - text for a line of a terminal, without what would control it
 * @text: ASCII or UTF-8; is changed
 *
 * What a peer, a file or the command line says may have an end of line in it, or
 * an escape sequence. White space becomes a space, all else a question mark for each byte.
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

/* Something failed. */
void err(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(fmt, ap);
	va_end(ap);
}

/* Something to know or to do next; not a failure. */
void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message(fmt, ap);
	va_end(ap);
}

/* The command line is wrong; returns the exit code for that. */
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
 * grow() - make room for another element of an array
 * @array: elements, NULL without any; grown by this function only
 * @nr: number of elements
 * @size: bytes of an element
 *
 * The space doubles, so that adding n elements takes time in proportion to n.
 *
 * Return: the array, which may have moved.
 */
void *grow(void *array, size_t nr, size_t size)
{
	/* It is full if the number is a power of two. */
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

/* For deadlines. */
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
	/* disk2 before disk10, port 2 before port 10 */
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

/* All of them in one string; "" if there is none. */
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
