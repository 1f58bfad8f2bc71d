# bash completion for errand(1) and errandctl(8).       -*- sh -*-
# shellcheck shell=bash

# Ids of my newest jobs.  Asks the host; says nothing when there is none.
_errand_jobs() {
	local line
	echo last
	while read -r line; do
		case $line in
		JOB*) ;;
		*) echo "${line%% *}" ;;
		esac
	done < <(errand ps -a -n 30 2>/dev/null)
}

_errand_reply() {
	mapfile -t COMPREPLY < <(compgen "$@")
}

_errand_command() {
	local i=1

	while [ "$i" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[i]} in
		--on | --tenant) i=$((i + 1)) ;;
		--json) ;;
		# Readline takes --on=X apart at the equals sign.
		=) i=$((i + 1)) ;;
		--) echo run; return ;;
		-*) echo run; return ;;
		*) echo "${COMP_WORDS[i]}"; return ;;
		esac
		i=$((i + 1))
	done
}

# Where the command to run begins: after --, or after the first word that is
# neither an option of run nor the value of one.  0: not yet.
_errand_command_at() {
	local i=1

	[ "${COMP_WORDS[1]}" = run ] && i=2
	while [ "$i" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[i]} in
		--) echo $((i + 1)); return ;;
		-C | -w | -e | --root | --workdir | --env | --passenv | \
		--env-file | --cpus | --memory | --pids | --disk | --timeout | \
		--cpu-time | --net | --name | --id | --on | --tenant)
			i=$((i + 1))
			[ "${COMP_WORDS[i]}" = = ] && i=$((i + 1))
			;;
		run | -*) ;;
		*) echo "$i"; return ;;
		esac
		i=$((i + 1))
	done
	echo 0
}

_errand_run() {
	local cur=$1 prev=$2 at

	at=$(_errand_command_at)
	if [ "$at" -ne 0 ]; then
		compopt -o default
		if [ "$at" -eq "$COMP_CWORD" ]; then
			_errand_reply -c -- "$cur"
		fi
		return
	fi
	case $prev in
	-C | --root | -w | --workdir)
		_errand_reply -d -- "$cur"
		return ;;
	--env-file)
		_errand_reply -f -- "$cur"
		return ;;
	--passenv)
		_errand_reply -e -- "$cur"
		return ;;
	-e | --env)
		_errand_reply -e -S = -- "$cur"
		compopt -o nospace
		return ;;
	--artifact)
		_errand_reply -f -- "$cur"
		return ;;
	--net)
		_errand_reply -W "none host" -- "$cur"
		return ;;
	--cpus | --memory | --pids | --disk | --timeout | --cpu-time | \
	--name | --id | --cache)
		return ;;
	esac
	_errand_reply -W "-d --detach -n --dry-run -C --root -w --workdir --no-snapshot
	    --include-all --strict --apply --artifact --cache -i --stdin
	    -t --tty -e --env --passenv --env-file --cpus
	    --memory --pids --disk --timeout --cpu-time --net --image --as-root
	    --name --id --on --tenant -q --quiet -v --verbose --json --help
	    --" -- "$cur"
}

_errand() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local common="--on --tenant --json -q --quiet --help" own='' jobs=1
	local cmd

	COMPREPLY=()
	case $prev in
	--on)
		_errand_reply -W "local unix:" -- "$cur"
		return ;;
	--tenant)
		return ;;
	esac
	cmd=$(_errand_command)
	case $cmd in
	'')
		_errand_reply -W "run ls ps status logs attach wait kill diff
		    fetch receipt verify info help -- --on --tenant --json
		    --version --help" -- "$cur"
		return ;;
	run)
		_errand_run "$cur" "$prev"
		return ;;
	ls)
		own="-C --root --include-all --digest --explain -z" jobs= ;;
	ps)
		own="-a --all -n" jobs= ;;
	logs)
		own="-f --follow --from --tail --stream" ;;
	attach)
		own="-i --stdin --no-stdin --from --tail --stream" ;;
	kill)
		own="-s --signal -f --force" ;;
	diff)
		own="--stat -p --patch -z" ;;
	fetch)
		own="-o --output --apply --conflicts --into" ;;
	receipt)
		own="-o" ;;
	verify)
		own="--host-key" jobs= ;;
	info)
		jobs= ;;
	help)
		_errand_reply -W "run ls ps status logs attach wait kill diff
		    fetch receipt verify info" -- "$cur"
		return ;;
	status | wait) ;;
	*)
		return ;;
	esac

	case $cmd:$prev in
	ls:-C | ls:--root)
		_errand_reply -d -- "$cur"
		return ;;
	fetch:-o | fetch:--output | fetch:--into)
		_errand_reply -d -- "$cur"
		return ;;
	receipt:-o)
		_errand_reply -f -- "$cur"
		return ;;
	logs:--stream | attach:--stream)
		_errand_reply -W "stdout stderr" -- "$cur"
		return ;;
	kill:-s | kill:--signal)
		_errand_reply -W "HUP INT QUIT KILL USR1 USR2 PIPE ALRM TERM
		    CONT STOP TSTP ABRT SEGV WINCH" -- "$cur"
		return ;;
	ps:-n | logs:--from | attach:--from | logs:--tail | attach:--tail | \
	verify:--host-key)
		return ;;
	esac
	case $cur in
	-*)
		_errand_reply -W "$own $common" -- "$cur" ;;
	*)
		if [ "$cmd" = verify ]; then
			_errand_reply -f -- "$cur"
		elif [ -n "$jobs" ]; then
			_errand_reply -W "$(_errand_jobs)" -- "$cur"
		fi ;;
	esac
}

_errandctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local i=1 cmd='' sub=''

	COMPREPLY=()
	while [ "$i" -lt "$COMP_CWORD" ]; do
		case ${COMP_WORDS[i]} in
		-s | --socket) i=$((i + 1)) ;;
		-*) ;;
		*)
			if [ -z "$cmd" ]; then
				cmd=${COMP_WORDS[i]}
			elif [ -z "$sub" ]; then
				sub=${COMP_WORDS[i]}
			fi ;;
		esac
		i=$((i + 1))
	done
	case $prev in
	-s | --socket)
		_errand_reply -f -- "$cur"
		return ;;
	--uid)
		_errand_reply -u -- "$cur"
		return ;;
	--net)
		_errand_reply -W "none host" -- "$cur"
		return ;;
	--slots | --cpus | --memory | --pids | --disk | --store | --timeout | \
	    --objects | --jobs | --logs | --keep)
		return ;;
	esac
	case $cmd:$sub in
	:)
		_errand_reply -W "status doctor store tenant -s --socket --json --help
		    --version" -- "$cur" ;;
	store:)
		_errand_reply -W "stat gc verify rebuild-index backup" \
		    -- "$cur" ;;
	store:verify)
		_errand_reply -W "--repair" -- "$cur" ;;
	store:backup)
		_errand_reply -d -- "$cur" ;;
	tenant:)
		_errand_reply -W "list show add set" -- "$cur" ;;
	tenant:add | tenant:set)
		_errand_reply -W "--uid --slots --cpus --memory --pids --disk
		    --timeout --net --store --objects --jobs --logs --keep" \
		    -- "$cur" ;;
	esac
}

complete -F _errand errand
complete -F _errandctl errandctl
