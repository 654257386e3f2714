#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test options, exit codes and messages of the fence agent, with programs that replace ssh and rnbd;
# tests/cluster/fencing-agent.sh uses the real ones.
#
#   fencing-agent.sh DIR     DIR is created and kept

cd "$(dirname "$0")" || exit
. ../lib/unit.sh
agent=$PWD/../../userspace/agents/fence_rnbd
rm -rf "$1" && mkdir -p "$1/bin" && cd "$1" || exit
DIR=$PWD
export DIR
PATH=$DIR/bin:$PATH

N2=00000000-0000-4000-8000-000000000002
N3=00000000-0000-4000-8000-00000000000a
OTHER=99999999-0000-4000-8000-000000000009

# In this test a target is a directory. The file "mode" in it selects its behaviour; a file named
# after the UUID of a host contains the fencing state of the host. Each call of rnbd is appended to
# a log.
cat >bin/rnbd <<'END'
#!/bin/bash
t=$DIR/${TARGET:=local}
echo "$TARGET: $*" >>"$DIR/calls"
mode=$(cat "$t/mode")
word() { cat "$t/$1" 2>/dev/null || echo no; }
generation() { cat "$t/generation-$1" 2>/dev/null || echo 7; }
# ended UUID: print the generation of the last fence that was completed
ended() { case $mode-$(word "$1") in lifted-no | *-fenced) generation "$1" ;; *) echo 3 ;; esac; }
case "$mode $1" in
stuck-$2\ fence)
	echo draining >"$t/$2"
	echo $(($(generation "$2") + 1)) >"$t/generation-$2"
	until [ -e "$t/drained" ]; do sleep 0.05; done
	echo fenced >"$t/$2"
	exit 0 ;;
late-$2\ fence)
	touch "$t/begun"
	until [ -e "$t/mark" ]; do sleep 0.05; done ;;
lying\ fence | lifted\ fence) exit 0 ;;
verdict\ fence) echo "status 0"; exit 1 ;;
slow\ *) exec sleep 30 ;;
noisy\ *) echo "a banner" >&2 ;;
nomodule\ *) echo "rnbd: the module rnbd-target is not loaded" >&2; exit 1 ;;
draining\ fence) echo draining >"$t/$2"; echo "rnbd: fence $2: its I/O has not ended" >&2; exit 1 ;;
esac
case $1 in
fence) [ -e "$t/known-$2" ] || { echo "rnbd: fence $2: there is no such host" >&2; exit 1; }
	echo fenced >"$t/$2" ;;
unfence) rm -f "$t/$2" ;;
fenced)
	[[ ${*: -1} = --json ]] || exit 2
	for f in "$t"/known-*; do
		id=${f##*known-}
		[[ $2 = --json || $2 = "$id" ]] || continue
		printf '  {\n    "host": "%s",\n    "fenced": "%s",\n    "unfence_on_restart": true,\n' "$id" "$(word "$id")"
		printf '    "fence_generation": %s,\n    "fence_done": %s\n  }\n' "$(generation "$id")" "$(ended "$id")"
	done ;;
esac
END
cat >bin/ssh <<'END'
#!/bin/bash
printf '%s\n' "$*" >>"$DIR/ssh-calls"
while [ "$1" != -- ]; do shift; done
[ $# = 3 ] || exit 99
[ -d "$DIR/$2" ] || { echo "ssh: connect to host $2 port 22: No route to host" >&2; exit 255; }
TARGET=$2 exec sh -c "$3"
END
# This test must not write to the log of the machine.
ln -s /bin/true bin/logger
chmod +x bin/*

# fresh: make new targets without a fenced host, empty the logs of calls, and remove the file of
# hosts
fresh() {
	local t

	rm -rf t1 t2 local calls ssh-calls hosts
	for t in t1 t2 local; do
		mkdir $t
		echo good >$t/mode
		touch $t/known-$N2 $t/known-$N3
	done
	touch calls ssh-calls
}

# agent STATUS TEXT [OPTION...]: the agent must exit with STATUS, and its output must contain TEXT.
# Without options, the agent reads standard input.
agent() { says "$1" "$2" "fence_rnbd ${*:3}" "$agent" "${@:3}"; }
lines() {
	local want=$1 text=$2

	shift 2
	agent "$want" "$text" < <(printf '%s\n' "$@")
}
fenced_on() { same "$(cat "$1/$2" 2>/dev/null || echo no)" "$3" "state of $2 on $1"; }

MAP="n2:$N2;n3:$N3"

# The actions off, status and on, given as options, for two targets
fresh
agent 0 "Status: ON" -o status -a t1,t2 -n $N2
agent 0 "Success: host $N2 is fenced on t1 t2" -o off -a t1,t2 -n $N2
fenced_on t1 $N2 fenced
fenced_on t2 $N2 fenced
fenced_on t1 $N3 no
agent 2 "Status: OFF" --action=status --ip "t1 t2" --plug $N2
agent 0 "Success" --action on --ip="t1;t2" --plug=${N2^^}
fenced_on t1 $N2 no
agent 0 "Status: ON" -ostatus -at1,t2 -n$N2
# If only one of two targets has fenced a host, the agent reports that the host is not fenced.
agent 0 "Success" -a t1 -n $N2
agent 0 "Status: ON" -o status -a t1,t2 -n $N2
# For an address of the machine itself, the agent does not use ssh.
: >ssh-calls
agent 0 "fenced on local" -a local -n $N2
fenced_on local $N2 fenced
same "$(cat ssh-calls)" "" "ssh for this machine"
agent 2 "OFF" -a localhost,127.0.0.1 -o status -n $N2

# The command line of ssh
fresh
agent 1 "t1" -a t1 -l admin -k /etc/key --ssh-options "-p 2222 -4" --sudo --login-timeout 7 -n $N2
grep -qxF -e "-n -o BatchMode=yes -o ControlPath=none -o ConnectTimeout=7 -l admin -o IdentitiesOnly=yes -i /etc/key -p 2222 -4 -- t1 sudo -n rnbd fence $N2 --timeout 47" ssh-calls ||
	fail "ssh was called with other arguments: $(cat ssh-calls)"
fresh
agent 0 Success -a t1 -n $N2 --power-timeout 20
same "$(head -n 1 calls)" "t1: fence $N2 --timeout 17" "rnbd"

# dlm_controld passes no action when it fences a host, and the action "on" when it starts.
fresh
lines 0 "Success" ip=t1,t2 "hosts=$MAP" node=2 host=n2 fail_time=1700000000
fenced_on t2 $N2 fenced
lines 0 "Success" "hosts=2:$N2" ip=t1,t2 node=2 action=on
fenced_on t2 $N2 no
lines 1 "two hosts" ip=t1 "hosts=$MAP,2:$N2" node=2 host=n3
lines 1 "no UUID of host=n9 node=9 is known" ip=t1 "hosts=$MAP" node=9 host=n9
same "$(grep -c ' fence ' calls)" 2 "calls of rnbd fence"
# Pacemaker: plug takes precedence over nodename.
lines 0 "Success" "action=off" "ipaddr=t1" "port=$N2" "nodename=elsewhere" "crm_feature_set=3.19" "pcmk_host_map=x:y"
fenced_on t1 $N2 fenced
lines 2 "OFF" "action=status" "  ip=t1" "plug=$N2"
lines 0 "Success" "# action=off" "option=on" "" "no equals sign" "ip=t9" "ip=t1" "plug=n2" "hosts=$MAP"
fenced_on t1 $N2 no
lines 0 "" "action=METADATA"
# The words help and version on standard input must not make the agent succeed without a fence.
for word in help version help=0 version=0; do
	fresh
	lines 0 Success ip=t1 "hosts=$MAP" plug=n2 "$word=1"
	fenced_on t1 $N2 fenced
done
same "$("$agent" </dev/null 2>&1)" "fence_rnbd: no target is given: --ip, or ip= on standard input, takes one or more" "empty"
printf 'action=off\nip=t1\nplug=%s' $N2 | "$agent" >/dev/null || fail "a last line without a newline"
fenced_on t1 $N2 fenced

# The file of hosts
fresh
printf '%s\n' "# hosts" "" "$N2 n2 2   # the second" "${N3^^}	n3 3" >hosts
agent 0 Success -a t1 -n n2 --hosts-file hosts
fenced_on t1 $N2 fenced
lines 0 Success ip=t1 hosts_file=hosts node=3
fenced_on t1 $N3 fenced
agent 1 "there is no such host" -a t1 -n n2 --hosts-file hosts --hosts "n2:$OTHER"
agent 1 "no UUID of host \"n4\" is known" -a t1 -n n4 --hosts-file hosts
echo "$N3 n5" >>hosts
agent 1 "hosts: $N3 is on two lines" -a t1 -n n2 --hosts-file hosts
printf '%s\n' "$N2 n2" "$OTHER n2" >hosts
agent 1 "hosts: \"n2\" names two hosts, $N2 and $OTHER" -a t1 -n n3 --hosts-file hosts
echo "n2 $N2" >hosts
agent 1 "not a name and UUID" -a t1 -n n2 --hosts-file hosts

# A failure on any target fails the action, and the message names the target. If the first target
# has fenced the host, the other targets must fence it too, even if one of them fails.
fresh
agent 1 "target t9: host $N2: off: not reached by ssh (ssh: connect to host t9 port 22: No route to host)" \
	-a t1,t9,t2 -n $N2
fenced_on t1 $N2 fenced
fenced_on t2 $N2 fenced
rm t2/$N2
# If two nodes fence each other, the first target decides which of them may fence. So a node whose
# fence fails on the first target must not fence the other node on further targets.
agent 1 "target t9: host $N3: off: not reached" -a t9,t1 -n $N3
fenced_on t1 $N3 no
agent 1 "may still write" -a t9,t1 -n $N2
agent 1 "target t9" -o status -a t9,t1 -n $N2
agent 1 "target t9" -o on -a t9,t1 -n $N2
agent 1 "target t9" -o monitor -a t9,t1
agent 1 "target t9" -o list -a t9,t1
agent 1 "target t1: host $OTHER: off: rnbd: fence $OTHER: there is no such host" -a t1 -n $OTHER
echo nomodule >t2/mode
agent 1 "target t2: host (any): monitor: rnbd: the module rnbd-target is not loaded" -o monitor -a t1,t2
echo draining >t2/mode
agent 1 "target t2: host $N3: off: rnbd: fence $N3: its I/O has not ended" -a t1,t2 -n $N3
agent 0 "ON" -o status -a t1,t2 -n $N3
echo lying >t2/mode
agent 1 "rnbd fence succeeded, but the host is not fenced: no" -a t2 -n $N2
# The fence was completed, but then the host restarted, which lifted the fence: the action off
# succeeds, and the status is on.
echo lifted >t2/mode
agent 0 "Success: host $N2 is fenced on t1 t2" -a t1,t2 -n $N2
agent 0 "ON" -o status -a t1,t2 -n $N2
# The agent must not take "status 0" in the output of rnbd for the exit status of rnbd.
echo verdict >t2/mode
agent 1 "target t2: host $N2: off: status 0" -a t2 -n $N2
echo noisy >t2/mode
agent 0 Success -a t2 -n $N2
echo slow >t2/mode
start=$SECONDS
agent 1 "target t2: host $N2: off: not done within 4 s" -a t1,t2 -n $N2 --power-timeout 4
same $((SECONDS - start < 12)) 1 "in time"

# monitor and list
fresh
touch t1/known-$OTHER
agent 0 "" -o monitor -a t1,t2
same "$("$agent" -o list -a t1,t2 --hosts "n2:$N2;9:$OTHER")" "$(printf '%s,\n' "$N3"; echo "n2,$N2")" "list"

# Wrong options are refused before any command runs.
fresh
agent 1 "action=reboot" -o reboot -a t1 -n $N2
agent 1 "action=explode: wanted on" -o explode -a t1 -n $N2
agent 1 "no host is given" -a t1
agent 1 "no target is given" -n $N2
agent 1 "wanted seconds" -a t1 -n $N2 --power-timeout soon
agent 1 "at most 86400" -a t1 -n $N2 --power-timeout 86401
agent 1 "wanted more than" -a t1 -n $N2 --power-timeout 3
agent 1 "unrecognized option" -a t1 --frobnicate
agent 1 "unexpected operand" -a t1 -n $N2 more
agent 1 "delay=x: wanted seconds" -a t1 -n $N2 --delay x
lines 1 "sudo=maybe: wanted 1 or 0" ip=t1 plug=$N2 sudo=maybe
# No value of an option may be executed as a command or be taken for an option of ssh.
# shellcheck disable=SC2016 # that is the point
for bad in '$(touch pwned)' '-oProxyCommand=touch$IFS''pwned' 't1|touch' '`touch`' "t1'" 't1&' '*'; do
	agent 1 "" -a "$bad" -n $N2
	agent 1 "no UUID" -a t1 -n "$N2;touch pwned"
	agent 1 "no UUID" -a t1 -n "$bad"
	agent 1 "" -a t1 -n n2 --hosts "n2:$bad"
	agent 1 "not the name of a user" -a t1 -n $N2 -l "$bad"
done
same "$(cat calls ssh-calls)" "" "calls"
[ ! -e pwned ] || fail "a value was executed"
agent 0 "" -o validate-all -a t1,t2 -n n2 --hosts "$MAP"
agent 1 "n2:$N2:" -o validate-all -a t1,t2 --hosts "n2:$N2:"
# Pacemaker calls validate-all with the name of a host that is not configured: the action must
# succeed.
printf '%s\n' nodename=node1 ip=t1,t2 action=validate-all port=node1 | "$agent" >/dev/null 2>&1
same $? 0 "validate-all from Pacemaker"

# serve STATUS COMMAND [OWNER [OPTION...]]: run the agent as sshd does for a key that may only run
# the agent, when COMMAND is requested over ssh. The agent must exit with STATUS. OWNER: UUID of the
# host that owns the key
serve() {
	local want=$1 command=$2 owner=${3-}

	shift $(($# > 3 ? 3 : $#))
	SSH_ORIGINAL_COMMAND=$command FENCE_RNBD_LOCK=$DIR/lock "$agent" "--serve${owner:+=$owner}" \
		--hosts-file hosts "$@" >said 2>&1
	same $? "$want" "--serve of $command ($(<said))"
}
fresh
printf '%s\n' "# those of one cluster" "$N2 n2 2" "${N3^^}" >hosts
serve 0 "rnbd fence $N2 --timeout 47"
fenced_on local $N2 fenced
serve 0 "rnbd fenced $N2 --json"
serve 0 "rnbd fenced --json"
serve 0 "rnbd unfence $N2"
fenced_on local $N2 no
calls=$(wc -l <calls)
for bad in "" "rnbd fence $N2 --timeout 47; touch pwned" "rnbd fence $N2 --timeout 47 \$(touch pwned)" \
	"rnbd clear --force" "sh" "rnbd fence $N2" $'rnbd fenced --json\ntouch pwned' " rnbd fenced --json"; do
	serve 1 "$bad"
done
[ ! -e pwned ] || fail "--serve executed something else"
same "$(wc -l <calls)" "$calls" "calls by --serve"
# The owner of a key must not fence another host while the owner itself is fenced.
serve 0 "rnbd fence $N3 --timeout 47" "$N2"
serve 1 "rnbd fence $N2 --timeout 47" "$N3"
fenced_on local $N2 no
serve 1 "rnbd unfence $N2" "${N3^^}"
serve 0 "rnbd fenced $N2 --json" "$N3"
serve 0 "rnbd unfence $N3" "$N3"
serve 0 "rnbd fence $N2 --timeout 47" "$N3"
serve 1 "rnbd fence $N3 --timeout 47" "$OTHER"
serve 1 "rnbd fence $N3 --timeout 47" "no-uuid"

# The agent accepts only hosts that are listed in the file or with --hosts, because the target can
# have hosts of other clusters.
fresh
touch local/known-$OTHER
echo fenced >local/$N3
printf '%s\n' "$N2 n2 2" "$N3 n3 3" >hosts
for bad in "fence $OTHER --timeout 47" "unfence $OTHER" "fenced $OTHER --json" "fence ${OTHER^^} --timeout 47"; do
	serve 1 "rnbd $bad" "$N2"
	same "$(grep -c "host $OTHER is not listed for this key" said)" 1 "the message for $bad: $(<said)"
done
fenced_on local $OTHER no
same "$(cat calls)" "" "calls for a host that is not listed"
serve 0 "rnbd fenced --json" "$N2"
same "$(grep -oE '"host": "[^"]*"' said | sort | tr -d '\n')" "\"host\": \"$N2\"\"host\": \"$N3\"" "hosts that are shown"
serve 0 "rnbd fence $OTHER --timeout 47" "$N2" --hosts "other:$OTHER"
fenced_on local $OTHER fenced
echo nomodule >local/mode
serve 1 "rnbd fenced --json" "$N2"
# If --hosts is given and --hosts-file is not, the default file of hosts is not read. If the list of
# hosts is empty, no host is allowed.
fresh
printf '%s\n' "$N2 n2 2" >hosts
same "$(SSH_ORIGINAL_COMMAND="rnbd fence $N2 --timeout 5" FENCE_RNBD_LOCK=$DIR/lock "$agent" --serve "--hosts=n3:$N3" 2>&1)" \
	"fence_rnbd: --serve: host $N2 is not listed for this key, neither by --hosts nor in /dev/null" "only --hosts"
: >hosts
serve 1 "rnbd fence $N2 --timeout 47" "$N3"
same "$(grep -c "no host is listed for this key" said)" 1 "the message without a list: $(<said)"
same "$(cat calls)" "" "calls without a list"

# A fence that waits for the storage must not delay the fence of another host. The host that is
# being fenced must not fence others.
fresh
printf '%s\n' "$N2" "$N3" "$OTHER" >hosts
touch local/known-$OTHER
echo "stuck-$N2" >local/mode
serve 0 "rnbd fence $N2 --timeout 47" "$N3" &
stuck=$!
for ((i = 0; i < 200; i++)); do
	[ "$(cat local/$N2 2>/dev/null)" != draining ] || break
	sleep 0.05
done
SSH_ORIGINAL_COMMAND="rnbd fence $OTHER --timeout 3" FENCE_RNBD_LOCK=$DIR/lock \
	timeout 20 "$agent" "--serve=$N3" --hosts-file hosts >said-2 2>&1
same $? 0 "a fence beside one that waits: $(<said-2)"
fenced_on local $OTHER fenced
fenced_on local $N2 draining
SSH_ORIGINAL_COMMAND="rnbd fence $N3 --timeout 3" FENCE_RNBD_LOCK=$DIR/lock \
	timeout 20 "$agent" "--serve=$N2" --hosts-file hosts >said-2 2>&1
same "$? $(grep -c "is fenced itself" said-2)" "1 1" "a host that is being fenced fences none: $(<said-2)"
touch local/drained
wait $stuck
fenced_on local $N2 fenced

# The agent must hold the lock until the target has marked the host as fenced. The agent cannot test
# with a signal whether rnbd still runs: the child of sudo belongs to root, and the agent runs as
# the user of the key.
fresh
printf '%s\n' "$N2" "$N3" >hosts
echo "late-$N2" >local/mode
mkdir sudo
printf '%s\n' '#!/bin/bash' 'shift' 'exec "$@"' >sudo/sudo
chmod +x sudo/sudo
(
	failed=0
	PATH=$DIR/sudo:$PATH
	# shellcheck disable=SC2317 # the agent calls it
	kill() { return 1; }
	export -f kill
	serve 0 "sudo -n rnbd fence $N2 --timeout 47" "$N3"
	[ $failed = 0 ]
) &
late=$!
for ((i = 0; i < 200; i++)); do
	[ ! -e local/begun ] || break
	sleep 0.05
done
[ -e local/begun ] || fail "rnbd fence was not called"
sleep 0.3
flock -n lock true && fail "the lock is released before the host is marked"
touch local/mark
wait $late || fail "a fence by sudo: $(<said)"
fenced_on local $N2 fenced
flock -w 5 lock true || fail "the lock is kept"
# A lock that this user cannot open
same "$(SSH_ORIGINAL_COMMAND="rnbd unfence $N2" FENCE_RNBD_LOCK=$DIR/none/lock "$agent" "--serve=$N3" --hosts-file hosts 2>&1 |
	grep -c "fence_rnbd: --serve: $DIR/none/lock cannot be opened by user .*FENCE_RNBD_LOCK")" 1 "a lock that cannot be opened"
fenced_on local $N2 fenced

# The metadata
"$agent" -o metadata >metadata.xml || fail "no metadata"
if command -v xmllint >/dev/null; then
	xmllint --noout metadata.xml || fail "metadata are no XML"
fi
for action in on off status monitor list metadata validate-all; do
	grep -q "<action name=\"$action\"" metadata.xml || fail "metadata without $action"
done
grep -q reboot metadata.xml && fail "metadata with reboot"
while read -r name; do
	grep -q "<parameter name=\"$name\"" metadata.xml || fail "metadata without $name"
done < <("$agent" --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p' | grep -v serve | tr - _)
agent 0 "$(grep -o 'f.*' <<<"fence_rnbd - exclude")" --help

summary
