# shellcheck shell=bash disable=SC2154 # variables are shared with tests/hw/run
# SPDX-License-Identifier: GPL-2.0-only
# Replace the identities of machines and users in the results: sourced by tests/hw/run.
#
# Equal texts get equal replacements in all files, so that the results stay readable. The names and
# IPv4 addresses that env.sh found on the machines are replaced wherever they occur as whole words;
# MAC and IPv6 addresses, GIDs, GUIDs and UUIDs are recognised by their form.

# secrets: print "TEXT NAME" lines: NAME replaces TEXT
secrets() {
	local side name text n=0

	for side in $SIDES; do
		for name in "${host[$side]}" "${host[$side]#*@}" "$(facts "$side" name)"; do
			# Skip numbers: if 10.9.0.1 is given as the host, its first part is 10, and
			# the results contain many numbers 10.
			for text in "$name" "${name%%.*}"; do
				[[ $text != *[!0-9]* ]] || echo "$text $side"
			done
		done
	done
	cat "$WORK"/secrets.* | sort -u | grep -vE '^(127\.|0\.0\.0\.0|::1$|fe80::$)' | grep -F . |
		while read -r name; do
			n=$((n + 1))
			echo "$name ip4-$n"
		done
}

# anonymise DIRECTORY: replace identities in all text files below DIRECTORY
anonymise() {
	secrets | awk 'length($1) > 1 && $1 != "localhost" && !seen[$1]++ { print length($1), $0 }' |
		sort -k 1,1nr | cut -d ' ' -f 2- >"$WORK/replace"
	# shellcheck disable=SC2016 # a program of awk
	find "$1" -type f -print0 | sort -z | xargs -0 awk -v list="$WORK/replace" '
		function hex(n,  s) { s = ""; while (n-- > 0) s = s "[0-9a-fA-F]"; return s }
		# form(LINE, RE, KIND): replace each match of RE that is a whole word by KIND-N
		function form(line, re, kind,  out, text, before, after) {
			out = ""
			while (match(line, re)) {
				text = substr(line, RSTART, RLENGTH)
				before = RSTART > 1 ? substr(line, RSTART - 1, 1) : ""
				after = substr(line, RSTART + RLENGTH, 1)
				if (before !~ /[0-9a-zA-Z]/ && after !~ /[0-9a-zA-Z]/) {
					if (!((kind, tolower(text)) in name))
						name[kind, tolower(text)] = kind "-" ++count[kind]
					text = name[kind, tolower(text)]
				}
				out = out substr(line, 1, RSTART - 1) text
				line = substr(line, RSTART + RLENGTH)
			}
			return out line
		}
		# known(LINE, TEXT, NAME): replace TEXT by NAME where it is a whole word
		function known(line, text, to,  out, at, before, after) {
			out = ""
			while ((at = index(line, text))) {
				before = at > 1 ? substr(line, at - 1, 1) : substr(out, length(out))
				after = substr(line, at + length(text), 1)
				out = out substr(line, 1, at - 1)
				if (before ~ /[0-9a-zA-Z]/ || after ~ /[0-9a-zA-Z]/)
					out = out text
				else
					out = out to
				line = substr(line, at + length(text))
			}
			return out line
		}
		BEGIN {
			while ((getline line <list) > 0) {
				split(line, part, " ")
				text[++n] = part[1]; to[n] = part[2]
			}
			h2 = hex(2); h4 = hex(4)
			uuid = h4 h4 "-" h4 "-" h4 "-" h4 "-" h4 h4 h4
			# The address of an Ethernet or InfiniBand port
			mac = h2 ":" h2 ":" h2 ":" h2 ":" h2 "(:" h2 ")+"
			gid = h4 ":" h4 ":" h4 ":" h4 ":" h4 ":" h4 ":" h4 ":" h4
			guid = h4 ":" h4 ":" h4 ":" h4
			hx = "[0-9a-fA-F]*"
			ip6 = "(fe80|fd" h2 "|fc" h2 "|2" hex(3) ")(:" hx ")+(:" hx ")+"
		}
		FNR == 1 { if (file) close(file); file = FILENAME ".new"; printf "" >file }
		{
			line = $0
			for (i = 1; i <= n; i++)
				if (index(line, text[i]))
					line = known(line, text[i], to[i])
			if (line ~ /[0-9a-fA-F]-[0-9a-fA-F]/)
				line = form(line, uuid, "uuid")
			if (line ~ /[0-9a-fA-F]:[0-9a-fA-F:]/) {
				line = form(line, gid, "gid")
				line = form(line, mac, "mac")
				line = form(line, guid, "guid")
				line = form(line, ip6, "ip6")
			}
			if (FILENAME ~ /logs\//)
				line = form(line, "[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+", "ip")
			print line >file
		}' || return 1
	find "$1" -type f -name '*.new' -print0 | while IFS= read -rd '' name; do mv "$name" "${name%.new}"; done
}
