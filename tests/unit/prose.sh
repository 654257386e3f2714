#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test lint's check "prose": a clean tree passes, and each planted fault is reported with its line
# and its remedy.
#
#   prose.sh DIR      DIR is created and kept
# shellcheck disable=SC2016 # backticks are markup here

. "$(dirname "$0")/../lib/unit.sh"
checker=$(realpath "$(dirname "$0")/../../scripts/lint.d/prose.py")
rm -rf "$1" && mkdir -p "$1" && cd "$1" || exit

# put FILE <TEXT: write a file
put() { mkdir -p "$(dirname "$1")" && cat >"$1"; }

# words N: print a line of N columns
words() { printf '%s\n' "$(printf 'word %.0s' $(seq 99) | head -c $(($1 - 1)))x"; }

# make_tree: make a clean tree. It contains texts that look like faults but are none: strings, code,
# quotations, literal blocks, identifiers.
make_tree() {
	put drivers/client/disk.c <<-'END'
		// SPDX-License-Identifier: GPL-2.0-only
		/*
		 * Disks of the client.
		 */
		/**
		 * disk_add - add a disk
		 * @told: true if told_disk(), @told or ->told is set; the log says "nobody was told"
		 * @wishes: number of requests; one per disk
		 *
		 * One disk has one queue. WHAT is an argument.
		 *
		 * Return: lawful.c has the errors of client_lawful().
		 */
		static const char *const text = "/* whoever teh */";	/* the word is in a string */
		static const char quote = '"';	/* one line without a full stop */
	END
	put tests/vm/disk.sh <<-'END'
		#!/bin/bash
		# SPDX-License-Identifier: GPL-2.0-only
		# short: a disk is attached
		bytes=$((1 << 20)) first=${1#whoever } text='it # whoever'
		cat <<-TEXT
			# Whoever reads this reads a string.
		TEXT
		echo "$# told $text"	# print the number
	END
	put scripts/tool <<-'END'
		#!/usr/bin/env python3
		# SPDX-License-Identifier: GPL-2.0-only
		"""A tool."""
		TEXT = 'whoever'  # a constant
	END
	put userspace/Makefile <<-'END'
		# Build the tool.
		all:	# first target
	END
	put Documentation/netlink/rnbd.yaml <<-'END'
		# Commands of the client.
		name: wishes
		doc: |
		  Commands of the client. An empty list means that there is
		  no disk.
	END
	put Documentation/man/rnbd.8 <<-'END'
		.TH RNBD 8
		Attach a disk with
		.BR "whoever" ,
		\fBwishes\fR or
		.TP
		wishes
		as follows:
		.nf
		rnbd anew
		.fi
	END
	put README.md <<-END
		A disk, see \`rnbd wishes\` and [the page](Documentation/anew).

		    rnbd attach whoever

		| a table | $(words 90) |
	END
	put Documentation/glossary.rst <<-'END'
		.. SPDX-License-Identifier: GPL-2.0-only

		.. glossary::
		   :sorted:

		   disk
		      An export that is attached, for whoever uses it. See :term:`host`.

		   host
		      A machine.

		   host id
		      A name.
	END
	put Documentation/disk.rst <<-END
		.. SPDX-License-Identifier: GPL-2.0-only

		What a page is about may begin with such a word. A :term:\`disk\` of
		:term:\`two hosts <host>\` has a :term:\`host
		id\`. The log says "told" and \`\`anew\`\`::

		  rnbd attach whoever  $(words 70)

		* In a list:

		  .. code-block:: c

		     int lawful;

		  the literal block has ended.

		$(printf 'https://example.com/%090d' 1)
	END
	put tests/vm/golden/list.txt <<<'whoever'
	put LICENSES/preferred/GPL-2.0 <<<'whoever'
	put build/x.sh <<<'# whoever'
	put drivers/client/netlink_gen.h <<-'END'
		/* SPDX-License-Identifier: GPL-2.0-only */
		/* Do not edit directly, auto-generated from: */
		/* what nobody reads */
	END
	put scripts/lint.d/prose.exempt <<-'END'
		# SPDX-License-Identifier: GPL-2.0-only
	END
}

# reported WHAT TEXT: the checker must report TEXT for the tree; then make the tree clean again
reported() {
	says 1 "$2" "$1" "$checker" --top tree
	rm -rf tree
	cp -r clean tree
}

# all_reported WHAT: the checker must report each text of $wanted and nothing else
all_reported() {
	local text said

	said=$("$checker" --top tree)
	for text in "${wanted[@]}"; do
		if [[ $said = *"$text"* ]]; then pass; else fail "$1: no '$text'"; fi
	done
	same "$(wc -l <<<"$said")" ${#wanted[@]} "$1: number of reports"
	wanted=()
	rm -rf tree
	cp -r clean tree
}

wanted=()
mkdir clean && (cd clean && make_tree) && cp -r clean tree
says 0 '' "the clean tree" "$checker" --top clean
same "$("$checker" --top clean)" '' "output for the clean tree"

c=drivers/client/disk.c sh=tests/vm/disk.sh page=Documentation/disk.rst
glossary=Documentation/glossary.rst exempt=scripts/lint.d/prose.exempt

# Words, in each kind of text

i=15
for word in whoever lawful wish wishes anew meanwhile 'sign of life' 'signs of life' 'but for' told Told \
	'nobody waits' 'Somebody waits'; do
	echo "/* The disk $word for it; not: unlawful retold. */" >>tree/$c
	i=$((i + 1))
	wanted+=("$c:$i: \"${word% waits}\": ")
done
all_reported "a word"
printf '/*\n * The disk, but\n * for one.\n */\n' >>tree/$c
reported "a phrase on two lines" "$c:17: \"but for\": write \"except\" or \"unless\""
echo 'int n;	/* the wish of a host */' >>tree/$c
reported "a comment after code" "$c:16: \"wish\": write \"request\""
echo '# The disk is made anew.' >>tree/$sh
reported "a comment in shell" "$sh:9: \"anew\": write \"again\""
echo 'true "x"	# the disk is made anew' >>tree/$sh
reported "a comment after a command" "$sh:9: \"anew\""
printf 'def f():\n    """Wait meanwhile."""\n' >>tree/scripts/tool
reported "a docstring" "scripts/tool:6: \"meanwhile\""
echo '# the disk is made anew' >>tree/scripts/tool
reported "a comment in Python" "scripts/tool:5: \"anew\""
echo '# the disk is made anew' >>tree/userspace/Makefile
reported "a comment in a makefile" "userspace/Makefile:3: \"anew\""
sed -i 's/no disk/no wish/' tree/Documentation/netlink/rnbd.yaml
reported "a description of netlink" "rnbd.yaml:5: \"wish\""
echo 'Whoever asks is told.' >>tree/Documentation/man/rnbd.8
reported "a manual page" "rnbd.8:11: \"Whoever\": name the subject"
echo 'Whoever asks is told.' >>tree/README.md
reported "Markdown" "README.md:6: \"Whoever\": name the subject"
printf '\nWhoever asks.\n' >>tree/$page
reported "a page" "$page:19: \"Whoever\": name the subject"
sed -i 's/the literal block has ended/the literal block is anew/' tree/$page
reported "text after a literal block" "$page:15: \"anew\""
put tree/Documentation/ABI/x <<<'Whoever reads it'
reported "a file of the ABI" "Documentation/ABI/x:1: \"Whoever\""

# First words

i=15 j=8
for text in 'What it is.' 'what it is' 'That disk.' 'One of the disks.' 'one that waits' 'Of the disk.' \
	'It waits.' 'Who waits?'; do
	printf '/* %s */\n' "$text" >>tree/$c
	printf '# %s\n\n' "$text" >>tree/$sh
	i=$((i + 1)) j=$((j + 1))
	wanted+=("$c:$i: a comment begins with \"${text%% *}\": begin with a named thing or"
		"$sh:$j: a comment begins with \"${text%% *}\": begin with a named thing or")
	j=$((j + 1))
done
all_reported "a first word"
for text in 'disk_add() - what it adds' '@disk: that disk' 'Return: it' 'Concurrency: of two disks'; do
	printf '/**\n * Add.\n * %s\n */\n' "$text" >>tree/$c
	reported "a description that begins: $text" "$c:18: a comment begins with"
done
printf '/*\n * Add.\n *\n * It adds.\n */\n' >>tree/$c
reported "a paragraph that begins with It" "$c:19: a comment begins with \"It\""
echo '# fails PATTERN COMMAND...: it must fail' >>tree/$sh
reported "a description of a function" "$sh:9: a comment begins with \"it\""
echo 'doc: What it does.' >>tree/Documentation/netlink/rnbd.yaml
reported "a description of netlink that begins with What" "rnbd.yaml:6: a comment begins with \"What\""

# Widths and lengths

{ echo && words 81; } >>tree/$page
reported "a wide page" "$page:19: 81 columns; wrap at 80"
printf '\n::\n\n  %s\n' "$(words 99)" >>tree/$page
reported "a wide literal block" "$page:21: 101 columns; wrap at 100"
{ echo && words 81; } >>tree/README.md
reported "wide Markdown" "README.md:7: 81 columns; wrap at 80"
printf '/* %s */\n' "$(words 95)" >>tree/$c
reported "a wide comment" "$c:16: the comment has 101 columns; wrap it at 100"
printf '\t/* %s */\n' "$(words 87)" >>tree/$c
reported "a wide comment after a tab" "$c:16: the comment has 101 columns"
printf '# %s\n' "$(words 99)" >>tree/$sh
reported "a wide comment in shell" "$sh:9: the comment has 101 columns"
yes '' | head -n 300 >>tree/$page
reported "a long page" "$page:317: 317 lines; divide the page, at most 300 are allowed"
sed -i '3a\ *' tree/$c && for _ in $(seq 37); do sed -i '3a\ * More.' tree/$c; done
says 1 "$c:2: the head comment has 41 lines" "a long head comment" "$checker" --top tree
sed -i '4d' tree/$c
says 0 '' "a head comment of 40 lines" "$checker" --top tree
rm -rf tree && cp -r clean tree

# Spelling

echo '/* Recieve teh frame. */' >>tree/$c
says 1 "$c:16: \"Recieve\": write Receive" "a misspelt word" "$checker" --top tree
reported "a second one" "$c:16: \"teh\": write the, or add the word to $exempt"
sed -i 's/has ended/was recieved/' tree/$page
reported "a misspelt word in a page" "$page:15: \"recieved\": write received"
sed -i 's/no disk/no adress/' tree/Documentation/netlink/rnbd.yaml
reported "a misspelt word in a description" "rnbd.yaml:5: \"adress\": write address"

# Terms

printf '\nA :term:`session`.\n' >>tree/$page
reported "a term that is not defined" "$page:19: the glossary does not define \"session\"; add it to $glossary"
printf '\nSome :term:`two\nsessions <session>`.\n' >>tree/$page
reported "a term on two lines" "$page:19: the glossary does not define \"session\""
sed -i 's/:term:`disk`/disk/' tree/$page
reported "a term that no page uses" "$glossary:6: no other page marks \"disk\" with :term:"
sed -i 's/:term:`two hosts <host>`/host/' tree/$page
reported "a term that only the glossary uses" "$glossary:9: no other page marks \"host\""
printf '\n   Export\n      A file.\n' >>tree/$glossary && printf '\nAn :term:`export`.\n' >>tree/$page
reported "a term that is not sorted" "$glossary:15: \"Export\" is not sorted; move it before \"host id\""
printf '\n   host id\n      A file.\n' >>tree/$glossary
reported "a term that is defined twice" "$glossary:15: \"host id\" is defined twice"

# Exemptions

# exempts WHAT LINE: the tree must pass with LINE in the list of exemptions; then make the tree
# clean again
exempts() {
	echo "$2: to be tested" >>tree/$exempt
	says 0 '' "an exemption of $1" "$checker" --top tree
	rm -rf tree
	cp -r clean tree
}

echo '/* The disk is made anew, but for one. */' >>tree/$c
exempts "two words" "word drivers/*.c anew, but for"
echo '/* What it is. */' >>tree/$c
exempts "a first word" "start $c what"
printf '# lab: %s\n' "$(words 99)" >>tree/$sh
exempts "a wide line that begins with a word" "width tests/*.sh lab"
printf '# lab: %s\n' "$(words 99)" >>tree/$sh
exempts "all wide lines" "width tests/*.sh"
yes '' | head -n 300 >>tree/$page
exempts "a long page" "length $page"
for _ in $(seq 40); do sed -i '3a\ * More.' tree/$c; done
exempts "a long head comment" "head $c"
echo '/* teh */' >>tree/$c
exempts "a misspelt word" "spelling * teh"
echo '/* It is made anew, teh disk. */' >>tree/$c
exempts "a file" "file $c"
echo '/* The disk is made anew, meanwhile. */' >>tree/$c
echo "word $c anew: to be tested" >>tree/$exempt
reported "another word than the exempt one" "$c:16: \"meanwhile\""
echo "word $c anew: to be tested" >>tree/$exempt
reported "an exemption that nothing needs" "$exempt:2: nothing needs the exemption word $c anew; remove it"
echo "word $c anew" >>tree/$exempt
reported "an exemption without a reason" "$exempt:2: not understood, or without a reason"
echo "word $c: no word" >>tree/$exempt
reported "an exemption of no word" "$exempt:2: not understood"

summary
