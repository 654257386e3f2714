#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Test the metadata of the resource agents, the check of their parameters, and their calls of rnbd.
# A program replaces rnbd here; tests/cluster/ocf.sh uses the real rnbd.
#
#   ocf-agents.sh DIR       DIR is created and kept

cd "$(dirname "$0")" || exit
. ../lib/unit.sh
OCF_ROOT=$(realpath ../../userspace/agents/ocf)
export OCF_ROOT OCF_RESOURCE_INSTANCE=my:disk@1
rm -rf "$1" && mkdir -p "$1/bin" && cd "$1" || exit
DIR=$PWD
export DIR
PATH=$DIR/bin:$PATH

cat >bin/rnbd <<'END'
#!/bin/sh
echo "$*" >>"$DIR/calls"
case $* in
*--check) [ ! -e "$DIR/wrong" ] || { echo "rnbd: it is wrong" >&2; exit 2; } ;;
attach*) exit 1 ;;
esac
END
ln -s /bin/true bin/modprobe
ln -s /bin/true bin/logger
ln -s /bin/true bin/mount
chmod +x bin/rnbd
touch calls config

# agent STATUS TEXT AGENT ACTION [PARAMETER=VALUE...]: the agent must exit with STATUS, and its
# output must contain TEXT
agent() {
	local want=$1 text=$2 agent=$3 action=$4

	shift 4
	says "$want" "$text" "$agent $action $*" env "${@/#/OCF_RESKEY_}" sh "$OCF_ROOT/$agent" "$action"
}

for name in disk target; do
	agent 0 "<resource-agent name=\"$name\"" $name meta-data
	sh "$OCF_ROOT/$name" meta-data >$name.xml
	if command -v xmllint >/dev/null; then
		# Check only the syntax: the DTD is rarely installed
		xmllint --noout $name.xml || fail "$name: meta-data are no XML"
	fi
	for action in start stop monitor meta-data validate-all; do
		grep -q "<action name=\"$action\" timeout=\"[0-9]*s\"" $name.xml || fail "$name: meta-data without $action"
	done
	agent 0 "usage:" $name usage
	agent 3 "usage:" $name promote
	agent 3 "usage:" $name ""
	# The resource does not exist on this machine, so monitor reports "not running".
	agent 7 "" $name monitor config=config address=a export=e
	agent 0 "" $name stop config=config address=a export=e
done
[ ! -s calls ] || fail "rnbd was called: $(cat calls)"

disk=(disk validate-all address=10.9.0.1 export=disk0)
agent 0 "" "${disk[@]}"
agent 6 "address is not given" disk validate-all export=disk0
agent 6 "export is not given" disk start address=10.9.0.1
agent 6 "queues=many: wanted a number" "${disk[@]}" queues=many
agent 6 "wait=-1: wanted a number" "${disk[@]}" wait=-1
agent 6 "read_only=perhaps: wanted true or false" "${disk[@]}" read_only=perhaps
agent 6 "new_session=2: wanted true or false" "${disk[@]}" new_session=2
grep -q '<parameter name="new_session"' disk.xml || fail "disk: meta-data without new_session"
for bad in rnbd0 .x 'a b' 'a;b' "a'b" 'a/b'; do
	agent 6 "name=$bad: wanted letters" "${disk[@]}" "name=$bad"
done
agent 5 "secret_file=/no/such: cannot be read" "${disk[@]}" secret_file=/no/such

: >calls
# The program that replaces rnbd attaches no disk, so start must fail.
agent 1 "" disk start address=10.9.0.1 export=disk0 queues=4 read_only=true early_release=no loss_timeout=0 \
	policy=fail 'pool=64M;x'
same "$(cat calls)" 'attach 10.9.0.1 disk0 --name my:disk_1 --idempotent --wait 30 --queues 4 --pool 64M;x --policy fail --loss-timeout 0 --read-only' "rnbd was called"
: >calls
agent 1 "" disk start address=10.9.0.1 export=disk0 new_session=true
same "$(cat calls)" 'attach 10.9.0.1 disk0 --name my:disk_1 --idempotent --wait 30 --new-session' "rnbd was called"

agent 0 "" target validate-all config=config
agent 5 "/no/such: cannot be read; write it with: rnbd save" target validate-all config=/no/such
agent 5 "/no/such" target start config=/no/such
agent 6 "wait=soon: wanted a number" target validate-all config=config wait=soon
touch wrong
agent 2 "it is wrong" target start config=config
rm wrong
: >calls
agent 2 "no export or port is enabled in it" target start config=config wait=7
[ "$(tail -n 1 calls)" = "restore config --wait 7" ] || fail "rnbd was called: $(cat calls)"

summary
