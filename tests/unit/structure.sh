#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test scripts/structure: a clean tree passes, and each planted violation is reported.
#
#   structure.sh DIR      DIR is created and kept

. "$(dirname "$0")/../lib/unit.sh"
checker=$(realpath "$(dirname "$0")/../../scripts/structure")
rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit

# put FILE <TEXT: write a source file; a C file begins with SPDX line and head comment
put() {
	mkdir -p "$(dirname "$1")"
	if [[ $1 = *.[ch] ]]; then
		printf '// SPDX-License-Identifier: GPL-2.0-only\n/*\n * File %s.\n */\n' "$1" >"$1"
	fi
	cat >>"$1"
}

# make_tree: make a clean tree. It contains texts that look like uses but are none: prototypes,
# comments, members.
make_tree() {
	put drivers/compat/block.h <<-'END'
		/* RNBD_HAVE_NOTHING and KERNEL_VERSION stand in a comment */
		#ifndef RNBD_HAVE_BDEV_ROT
		static inline int bdev_rot(struct block_device *bdev)
		{
			return !bdev_nonrot(bdev);
		}
		#endif
	END
	put drivers/compat/probes/bdev_rot.c <<-'END'
		#ifdef RNBD_PROBE_NEW
		static_assert(__same_type(bdev_rot, int (struct block_device *)));
		#endif
	END
	put drivers/core/ring.h <<-'END'
		struct rnbd_ring_ops {
			void (*frame)(int seq);
		};
		void rnbd_ring_run(const struct rnbd_ring_ops *ops);
		#define RNBD_TWICE(x) ((x) + (x))
		#define RNBD_NUMBER(name) \
		static int name; \
		static int name##_get(void) { return name; } \
		module_param(name, int, 0444)
		#ifndef __KERNEL__
		#define min(a, b) ((a) < (b) ? (a) : (b))
		#endif
	END
	put drivers/core/ring.c <<-'END'
		#include "ring.h"
		void rnbd_ring_run(const struct rnbd_ring_ops *ops)
		{
			ops->frame(RNBD_TWICE(1));
		}
	END
	put drivers/client/main.c <<-'END'
		#include "disk.h"
		static int __init rnbdc_init(void)
		{
			return rnbdc_disk_add(NULL);
		}
		module_init(rnbdc_init);
	END
	put drivers/client/disk.h <<-'END'
		int rnbdc_disk_add(struct rnbdc_state *state);
	END
	put drivers/client/disk.c <<-'END'
		#include "../compat/block.h"
		#include "../core/ring.h"
		#include "disk.h"
		#include "state.h"
		RNBD_NUMBER(depth);
		static int rnbdc_disk_rot(struct block_device *bdev)
		{
			return bdev_rot(bdev);
		}
		static void rnbdc_disk_frame(int seq)
		{
		}
		static void rnbdc_disk_work(struct work_struct *work)
		{
		}
		static void rnbdc_disk_find(int n)
		{
		}
		static int rnbdc_disk_show(struct seq_file *m, void *unused)
		{
			return 0;
		}
		/* one that we call through a pointer, and one that only the kernel calls */
		static const struct rnbd_ring_ops rnbdc_disk_ring_ops = { .frame = rnbdc_disk_frame };
		static const struct seq_operations rnbdc_disk_seq = { .show = rnbdc_disk_show };
		static ssize_t size_show(struct device *dev)
		{
			return 0;
		}
		static DEVICE_ATTR_RO(size);
		int rnbdc_disk_add(struct rnbdc_state *state)
		{
			rnbd_ring_run(&rnbdc_disk_ring_ops);
			INIT_WORK(&state->work, rnbdc_disk_work);
			return rnbdc_state_next(state) == RNBDC_LIVE;
		}
	END
	put drivers/client/queue.c <<-'END'
		/* one floor with disk.c, which has rnbdc_disk_add(), and not a user of it */
		static const char *const rnbdc_queue_text = "rnbdc_disk_add()";
		static void rnbdc_queue_use(struct rnbdc_entry *entry)
		{
			entry->rnbdc_disk_add = 1;
			m->show(m, NULL);
		}
	END
	put drivers/client/state.h <<-'END'
		enum rnbdc_state_name {
			RNBDC_DEAD,
			RNBDC_LIVE,
		};
		struct rnbdc_state {
			struct work_struct work;
			int n;
		};
		struct rnbdc_hooks {
			void (*run)(void);
		};
		extern int rnbdc_state_count;
		int rnbdc_state_next(struct rnbdc_state *state);
	END
	put drivers/client/state.c <<-'END'
		#include "state.h"
		int rnbdc_state_count;
		void rnbdc_state_each(void (*call)(int n))
		{
		}
		int rnbdc_state_next(struct rnbdc_state *state)
		{
			state->n++;
			return RNBDC_LIVE;
		}
	END
	put drivers/target/main.c <<-'END'
		static int rnbdt_main;
	END
	mkdir -p scripts/lint.d tests/golden
	printf '%s\n' 'floor block' 'name bdev_rot: of the kernel' >scripts/lint.d/compat.floors
	echo 'floor ring' >scripts/lint.d/core.floors
	echo 'allow ring -> client/* frame: its user supplies it' >>scripts/lint.d/core.floors
	printf 'floor %s\n' main "disk queue" state >scripts/lint.d/client.floors
	echo 'floor main' >scripts/lint.d/target.floors
	seq 700 >tests/golden/long.sh
	seq 600 >tests/short.sh
}

# reported WHAT TEXT: the checker must report TEXT for the tree; then make the tree clean again
reported() {
	says 1 "$2" "$1" "$checker" --top tree
	rm -rf tree
	cp -r clean tree
}

mkdir clean && (cd clean && make_tree) && cp -r clean tree
says 0 '' "the clean tree" "$checker" --top clean
same "$("$checker" --top clean)" '' "output for the clean tree"
same "$("$checker" --top clean --floors | paste -sd ' ')" \
	"# client floor main floor disk floor queue state # compat floor block # core floor ring # target floor main" \
	"proposed floors"
same "$("$checker" --top clean --edges client | grep -c '^client/main -> client/disk: ')" 2 \
	"edges from main.c to disk.c"

client=tree/drivers/client

# Includes

echo '#include "disk.h"' >>$client/state.c
reported "an include upwards" "state.c:15: client/state: include disk.h"
echo '#include "disk.h"' >>$client/queue.c
reported "an include along a floor" "client/disk is on the same floor"
echo '#include "../client/disk.h"' >>tree/drivers/target/main.c
reported "an include from target to client" "drivers/client/disk.h: target must not use client"
echo '#include "gone.h"' >>$client/queue.c
reported "an include of nothing" '"gone.h" is no header'

# Calls and data

echo 'static void rnbdc_state_up(void) { rnbdc_disk_add(NULL); }' >>$client/state.c
reported "a call upwards" "state.c:15: client/state: call rnbdc_disk_add in drivers/client/disk.c: client/disk is 1 floor above it"
echo 'static void rnbdc_state_up(void) { rnbdc_disk_add(NULL); }' >>$client/state.c
reported "a cycle" "drivers/client: cycle of 2 files: disk state;"
echo 'static void *rnbdc_state_up = rnbdc_disk_add;' >>$client/state.c
reported "a reference upwards" "use rnbdc_disk_add in drivers/client/disk.c"
echo '#define RNBDC_STATE_UP(x) rnbdc_disk_add(x)' >>$client/state.h
reported "a call in a macro" "call rnbdc_disk_add in drivers/client/disk.c"
cat >>$client/state.c <<'END'
#define RNBDC_UP(name, what) \
static void rnbdc_##name(void) { rnbdc_disk_##what(NULL); }
RNBDC_UP(up, add)
END
reported "a call that a macro makes" "call rnbdc_disk_add in drivers/client/disk.c"
echo 'static int rnbd_count(void) { return rnbdc_state_count; }' >>tree/drivers/core/ring.c
reported "a variable of another module" "use rnbdc_state_count in drivers/client/state.c: core must not use client"
sed -i 's/^floor disk queue$/floor disk\nfloor queue/' tree/scripts/lint.d/client.floors
echo 'static int rnbdc_queue_depth(void) { return rnbdc_disk_depth; }' >>$client/queue.c
echo 'int rnbdc_disk_depth;' >>$client/disk.c
reported "a variable upwards" "use rnbdc_disk_depth in drivers/client/disk.c"

# Callbacks

echo 'static void rnbdc_state_run(struct rnbdc_hooks *h) { h->run(); }' >>$client/state.c
echo 'static struct rnbdc_hooks rnbdc_queue_hooks = { .run = rnbdc_queue_use };' >>$client/queue.c
reported "a callback in a table" "callback run in drivers/client/queue.c"
echo 'static void rnbdc_state_run(struct rnbdc_hooks *h) { h->run(); }' >>$client/state.c
echo 'static struct rnbdc_hooks rnbdc_queue_hooks[] = { { rnbdc_queue_use }, };' >>$client/queue.c
reported "a callback by its place in a table" "callback run in drivers/client/queue.c"
echo 'static void rnbdc_state_kick(struct rnbdc_state *s) { queue_work(wq, &s->work); }' >>$client/state.c
reported "a work item" "callback work in drivers/client/disk.c"
echo 'static void rnbdc_state_kick(struct rnbdc_state *s) { (*s->notify)(1); }' >>$client/state.c
echo 'static void rnbdc_queue_note(int n) { s->notify = rnbdc_queue_note; }' >>$client/queue.c
reported "an assigned callback" "callback notify in drivers/client/queue.c"
cat >>$client/state.c <<'END'
void (*rnbdc_state_hook)(int n);
static void rnbdc_state_hooked(void) { if (rnbdc_state_hook) rnbdc_state_hook(1); }
END
echo 'static void rnbdc_queue_hook(int n) { rnbdc_state_hook = rnbdc_queue_hook; }' >>$client/queue.c
reported "a hook" "callback rnbdc_state_hook in drivers/client/queue.c"
echo 'static void rnbdc_disk_all(void) { rnbdc_state_each(rnbdc_disk_find); }' >>$client/disk.c
reported "a function that is passed down" "client/state: callback rnbdc_disk_find in drivers/client/disk.c"
sed -i '/^allow/d' tree/scripts/lint.d/core.floors
reported "a callback that core makes" "callback frame in drivers/client/disk.c: core must not use client"

# The lists of floors

echo 'int rnbdc_new;' >>$client/new.c
reported "a file on no floor" "drivers/client/new.[ch] is on no floor"
echo 'floor old' >>tree/scripts/lint.d/client.floors
reported "a floor without a file" "drivers/client/old.[ch] does not exist"
echo 'join old -> disk: to be tested' >>tree/scripts/lint.d/client.floors
reported "a joined file that is gone" "drivers/client/old.[ch], which is joined, does not exist"
rm tree/scripts/lint.d/target.floors
reported "no list" "scripts/lint.d/target.floors: missing"
echo 'allow disk -> main x: no such use' >>tree/scripts/lint.d/client.floors
reported "an exception that nothing needs" "client.floors:4: nothing needs the exception x"
echo 'allow state -> disk disk.h' >>tree/scripts/lint.d/client.floors
reported "an exception without a reason" "client.floors:4: not understood, or without a reason"

# An exception allows only the use that it names. Files that are joined count as one file.
echo '#include "disk.h"' >>$client/state.c
echo 'allow state -> disk disk.h: to be tested' >>tree/scripts/lint.d/client.floors
says 0 '' "an exception" "$checker" --top tree
same "$("$checker" --top tree --sccs)" '' "cycles without what is allowed"
echo 'static void rnbdc_state_up(void) { rnbdc_disk_add(NULL); }' >>$client/state.c
reported "a call beside the exception for an include" "call rnbdc_disk_add"
echo '#include "disk.h"' >>$client/queue.c
printf '%s\n' 'floor main' 'floor disk' 'floor state' 'join queue -> disk: to be tested' \
	>tree/scripts/lint.d/client.floors
says 0 '' "a joined file" "$checker" --top tree
rm -rf tree && cp -r clean tree

# Code that depends on the version of the kernel

echo '#include "../core/ring.h"' >>tree/drivers/compat/block.h
reported "an include upwards from compat" "compat must not use core"
echo 'static int rnbdc_state_rot(void) { return bdev_rot(NULL); }' >>$client/state.c
reported "a use of compat without its header" "the file does not include drivers/compat/block.h"
for text in '#include <linux/version.h>' '#include <generated/uapi/linux/version.h>' \
	'#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)' '#ifdef RHEL_RELEASE_CODE'; do
	echo "$text" >>$client/disk.c
	reported "a version of the kernel: $text" "distributions port changes back"
	echo "$text" >>tree/drivers/compat/block.h
	reported "a version of the kernel in compat: $text" "distributions port changes back"
done
echo '#ifdef RNBD_HAVE_BDEV_ROT' >>$client/disk.c
reported "the result of a probe outside of compat" "only drivers/compat depends on what the kernel has"
echo '#ifdef RNBD_HAVE_BDEV_ROTS' >>tree/drivers/compat/block.h
reported "a result without a probe" "no probe is called RNBD_HAVE_BDEV_ROTS"
cp tree/drivers/compat/probes/{bdev_rot,new}.c
reported "a probe that nothing uses" "nothing uses RNBD_HAVE_NEW"
sed -i s/RNBD_PROBE_NEW/RNBD_HAVE_BDEV_ROT/ tree/drivers/compat/probes/bdev_rot.c
reported "a probe of one form" "the probe does not depend on RNBD_PROBE_NEW"
sed -i /^name/d tree/scripts/lint.d/compat.floors
reported "a name without prefix in compat" "function bdev_rot does not begin with rnbd_compat_"

# Names, lengths and heads

for text in 'static int disk;' 'int rnbd_disk;' 'static void disk_do(void) { }' '#define DISK_MAX 1' \
	'struct disk { int n; };' 'enum rnbdc_kind { DISK_KIND };' 'static LIST_HEAD(disks);' \
	'TRACE_EVENT(disk_event, TP_ARGS(x));' 'typedef int disk_t;' 'RNBD_NUMBER(x); static int x_max;'; do
	echo "$text" >>$client/disk.c
	reported "a name without prefix: $text" "does not begin with"
done
echo 'static int disk;' >>$client/disk.c
echo 'name dis?: to be tested' >>tree/scripts/lint.d/client.floors
says 0 '' "a name that is an exception" "$checker" --top tree
rm -rf tree && cp -r clean tree
seq 601 >tree/tests/long.sh
reported "a long script" "tests/long.sh: 601 lines; at most 600 are allowed"
printf '#!/usr/bin/python3\n%s\n' "$(seq 600)" >tree/tests/long
reported "a long program without suffix" "tests/long: 601 lines"
echo '// SPDX-License-Identifier: GPL-2.0-only' >$client/queue.c
reported "a file without head comment" "queue.c: the head comment has no first sentence"
sed -i 's/^ \* File .*/ * Queue/' $client/queue.c
reported "a head comment without sentence" "queue.c: the head comment has no first sentence"
mv $client/queue.c $client/queue2.c
sed -i s/queue/queue2/ tree/scripts/lint.d/client.floors
reported "a name that ends in a number" "queue2.c: a number does not say what the file is about"

summary
