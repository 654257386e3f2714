/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RNBD_UTIL_H
#define RNBD_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes, documented in rnbd(8). */
enum {
	RNBD_EXIT_OK	= 0,
	RNBD_EXIT_FAIL	= 1,
	RNBD_EXIT_USAGE	= 2,
};

#define __printf(a, b)	__attribute__((format(printf, a, b)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

void context_set(const char *fmt, ...) __printf(1, 2);
void err(const char *fmt, ...) __printf(1, 2);
void note(const char *fmt, ...) __printf(1, 2);
int usage_err(const char *fmt, ...) __printf(1, 2);
char *printable(char *text);

void *xcalloc(size_t nmemb, size_t size);
void *xrealloc(void *ptr, size_t nmemb, size_t size);
void *grow(void *array, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __printf(1, 2);

uint64_t now_ms(void);
void take_nap(unsigned int ms);

/**
 * take_longer_naps() - sleep between two attempts, longer each time
 * @ms: duration of this sleep in milliseconds
 * @most: maximum duration in milliseconds
 *
 * Return: duration of the next sleep in milliseconds.
 */
unsigned int take_longer_naps(unsigned int ms, unsigned int most);

/**
 * struct strlist - growing list of strings
 * @item: array of strings; the list owns array and strings
 * @nr: number of strings
 * @mixed: true if the strings are not in the order of strlist_sort(), so that a look-up is a
 *	linear search
 */
struct strlist {
	char **item;
	size_t nr;
	bool mixed;
};

void strlist_add(struct strlist *list, const char *s);
bool strlist_has(const struct strlist *list, const char *s);
char *strlist_join(const struct strlist *list, const char *between);
void strlist_sort(struct strlist *list);
void strlist_free(struct strlist *list);

#endif /* RNBD_UTIL_H */
