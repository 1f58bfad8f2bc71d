#!/bin/sh
# A backup of the store that is taken while clients submit jobs, put in place
# of a store that is gone.

. "$(dirname "$0")/../lib.sh"
need_program git jq
plan 21

DIR=$T/home/backup
start_daemon

# submit N: jobs until told to stop; what was acknowledged is in acked-N
submit() {
	mkdir -p "$T/home/c$1"
	cd "$T/home/c$1" || exit 1
	git init -q .
	submit_i=0
	while [ ! -e "$T/stop" ]; do
		submit_i=$((submit_i + 1))
		head -c 2000 /dev/urandom >"f$((submit_i % 7))"
		submit_job=$("$BIN/errand" --json run -q -- sh -c \
		    "echo $1-$submit_i >out-$submit_i" 2>/dev/null |
		    jq -r 'select(.id) | .id' | tail -n 1)
		"$BIN/errand" --json status "${submit_job:-last}" 2>/dev/null |
		    jq -r '.id' >>"$T/acked-$1"
	done
}

# enough: every client has had some jobs acknowledged
enough() {
	for enough_i in 1 2 3 4; do
		[ "$(wc -l <"$T/acked-$enough_i" 2>/dev/null || echo 0)" -ge \
		    "$1" ] || return 1
	done
}

for i in 1 2 3 4; do
	submit $i &
	eval "client$i=\$!"
done
check 'four clients have jobs' wait_for 60 enough 5

cat "$T"/acked-? >"$T/before"
check 'a backup under load' errandctl store backup "$DIR"
cat "$T"/acked-? >"$T/after"
touch "$T/stop"
for i in 1 2 3 4; do
	eval "wait \$client$i"
done
like "$(wc -l <"$T/before")" '^[2-9][0-9]|^[0-9]{3}' \
    'jobs were acknowledged before it'
check 'nothing is left over of making it' [ ! -e "$DIR.partial" ]
is "$(stat -c %a "$DIR" "$DIR/key" "$DIR/packs" | tr '\n' ' ')" \
    '700 600 700 ' 'nobody else can read it'
cannot 'a second one does not go into the same directory' \
    errandctl store backup "$DIR"
check 'an empty directory may be there' mkdir "$T/home/second"
check 'and is filled' errandctl --json store backup "$T/home/second"
is "$(jq -r .files "$T/check.out")" \
    "$(find "$T/home/second" -type f | wc -l)" 'all files were counted'
cannot 'where one was not finished, none is begun' sh -c "
    mkdir '$T/home/third.partial' &&
    '$BIN/errandctl' -s '$CONTROL' store backup '$T/home/third'"
sh -c "trap '' XFSZ; ulimit -f 1
    '$BIN/errandctl' -s '$CONTROL' store backup '$T/home/full'" 2>"$T/err"
is "$?" 120 'a backup that cannot be written fails'
is "$(cat "$T/err")" "errandctl: $T/home/full.partial: it cannot be written: \
File too large; remove it" 'and says why, once'
check 'the store serves on' sh -c "cd '$T/home/c1' && '$BIN/errand' run -q \
    -- true"

# --- restored ---
OWNER=$(stat -c %u:%g "$T/state/store")
errand ps -a --json | jq -r .id | sort >"$T/ids"
stop_daemon
mv "$T/state/store" "$T/state/store.lost"
cp -r "$DIR" "$T/state/store"
chown -R "$OWNER" "$T/state/store"
chmod -R go= "$T/state/store"
run_daemon
ok 'a daemon starts on the copy'
check 'it is sound' errandctl --json store verify
errand --json ps -a -n 1000 | jq -r '.id' | sort >"$T/now"
sort "$T/before" | comm -23 - "$T/now" >"$T/lost"
is "$(wc -l <"$T/lost")" 0 'every job acknowledged before the backup is there'
lost=0
while read -r job; do
	errand diff "$job" >"$T/diff" 2>&1 && grep -q '^A out-' "$T/diff" ||
	    lost=$((lost + 1))
done <"$T/before"
is "$lost" 0 'each with its result'
job=$(head -n 1 "$T/before")
check 'a file that a job made can be fetched' errand fetch "$job" -o \
    "$T/home/fetched"
check 'a receipt is there and right' sh -c "'$BIN/errand' receipt $job -o \
    '$T/receipt' && '$BIN/errand' verify '$T/receipt'"
check 'and the next job runs' sh -c "cd '$T/home/c2' && '$BIN/errand' run -q \
    -- true"
check 'the store is sound then' errandctl store verify
done_testing
