/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space versions of those list functions of the kernel that the code under test uses.
 */
#ifndef RNBD_LIST_H
#define RNBD_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_head {
	struct list_head *next, *prev;
};

#define list_entry(ptr, type, member)	((type *)((char *)(ptr) - offsetof(type, member)))
#define list_first_entry(head, type, member)	list_entry((head)->next, type, member)
#define list_for_each_entry(pos, head, member)					\
	for (pos = list_entry((head)->next, __typeof__(*pos), member);		\
	     &pos->member != (head);						\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_link(struct list_head *entry, struct list_head *prev,
			     struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	prev->next = entry;
	next->prev = entry;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_link(entry, head->prev, head);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

static inline void list_splice_tail_init(struct list_head *list, struct list_head *head)
{
	while (!list_empty(list))
		list_move_tail(list->next, head);
}

#endif /* RNBD_LIST_H */
