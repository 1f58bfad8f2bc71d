# shellcheck shell=sh disable=SC2034,SC2154
# Real projects build in a job exactly as they build here: the same path, the
# same environment, and afterwards the same names, types, modes, contents and
# links, the same output, the same exit code.  Then again, and nothing is sent.
# Sourced after lib.sh and jobs.sh:
#
#	projects_begin NAME...
#	project NAME COMMAND

epoch=1700000000

projects_begin() {
	need_root
	need_program git gcc make unshare setpriv
	mkdir "$T/src" "$T/root"
	if ! sh "$TOP/tests/tools/debian-source.sh" "$T/src" "$@" \
	    2>"$T/src.err"; then
		diag "$(cat "$T/src.err")"
		skip_all 'needs a Debian mirror'
	fi
	start_daemon
	ERRAND_TIME=200
	host_name=$(errand -q --no-snapshot -- uname -n)
	path=$(errand -q --no-snapshot -- printenv PATH)
}

# local_build DIR COMMAND: as the job would have it, in a mount namespace of
# its own with DIR at /workspace, as uid 1000.  A fresh root is needed since
# the host need not have a /workspace.
local_build() {
	chown -R 1000:1000 "$1"
	cat >"$T/inner" <<-END
	set -e
	hostname '$host_name'
	mount -t tmpfs -o mode=755 none '$T/root'
	for d in usr bin sbin lib lib32 lib64 libx32 opt etc dev proc; do
		[ ! -L /\$d ] || { cp -P /\$d '$T/root/'; continue; }
		[ -d /\$d ] || continue
		mkdir '$T/root/'\$d
		mount --rbind /\$d '$T/root/'\$d
	done
	mkdir -m 1777 '$T/root/tmp'
	mkdir -p '$T/root/workspace' '$T/root/home/runner'
	chown 1000:1000 '$T/root/home/runner'
	mount --bind '$1' '$T/root/workspace'
	umask 022
	exec chroot '$T/root' setpriv --reuid 1000 --regid 1000 \
	    --clear-groups env -i PATH='$path' HOME=/home/runner USER=runner \
	    LOGNAME=runner SHELL=/bin/sh LANG=C.UTF-8 TERM=dumb TMPDIR=/tmp \
	    ERRAND_WORKSPACE=/workspace SOURCE_DATE_EPOCH=$epoch \
	    sh -c 'cd /workspace && exec "\$@"' sh $2
	END
	# In a chroot the root is no mount whose propagation could be changed:
	# what is mounted may then be seen outside, and is taken away again.
	if unshare -m true 2>/dev/null; then
		unshare -m -u sh "$T/inner" </dev/null
	else
		unshare -m -u --propagation unchanged sh "$T/inner" </dev/null
		set -- $?
		umount -R -l "$T/root" 2>/dev/null
		return "$1"
	fi
}

# Not the same in any two builds, and so made alike: configure's log has its
# temporary names (of the compiler's objects, with its process id), its
# process ids and the time; those files alone are looked at through this.
alike() {
	sed -E -e 's|/tmp/cc[A-Za-z0-9]{6}|/tmp/ccXXXXXX|g' \
	    -e 's/ztest[0-9]+/ztestN/g' \
	    -e 's/^(on|Started at|Finished at|Configured at) .*/\1/' \
	    -e 's/^([A-Z][a-z]{2} ){2}.* 20[0-9]{2}$/DATE/'
}

# manifest DIR: what there is in it but .git, and what is in the files
manifest() {
	(
		cd "$1" || exit 1
		find . -mindepth 1 -name .git -prune -o -printf '%y %m %P %l\n' |
		    LC_ALL=C sort
		find . -name .git -prune -o -type f ! -name config.log \
		    ! -name configure.log -print0 | LC_ALL=C sort -z |
		    xargs -0 sha256sum
		for f in config.log configure.log; do
			[ ! -e $f ] || echo "$(alike <$f | sha256sum) $f"
		done
	)
}

# take_home DIR: what the last job changed, into a copy of what it was given
take_home() {
	errand diff last | sed -n 's/^[DT] //p' | while IFS= read -r f; do
		rm -rf "${1:?}/$f"
	done
	rm -rf "$T/fetched"
	errand -q fetch last -o "$T/fetched" 2>"$T/fetch.err" &&
	    cp -a "$T/fetched/." "$1/"
}

# try NAME COMMAND HOW: HOW is git or all
try() {
	name=$1 cmd=$2 how=$3
	rm -rf "$T/job" "$T/tree"
	cp -a "$T/src/$name" "$T/job"
	cp -a "$T/src/$name" "$T/tree"
	cd "$T/job" || exit 1
	all=--include-all
	if [ "$how" = git ]; then
		git init -q . && git add -A -f && all=-q
	fi
	eval "set -- $cmd"
	errand -q $all -e SOURCE_DATE_EPOCH=$epoch -- "$@" \
	    >"$T/job.out" 2>"$T/job.err"
	is $? "$(cat "$T/$name.rc")" "$name, $how: the same exit code"
	check "$name, $how: the same output" cmp "$T/$name.out" "$T/job.out"
	check "$name, $how: the same errors" cmp "$T/$name.err" "$T/job.err"
	take_home "$T/tree"
	manifest "$T/tree" >"$T/job.manifest"
	check "$name, $how: the same $(wc -l <"$T/$name.manifest") files" \
	    diff "$T/$name.manifest" "$T/job.manifest"
	is "$(field changes.complete)" true "$name, $how: all changes were collected"
	errand -q $all -e SOURCE_DATE_EPOCH=$epoch -- "$@" \
	    >"$T/again.out" 2>"$T/again.err"
	is "$? $(field tree.shipped_objects) $(field tree.shipped_bytes)" \
	    "$(cat "$T/$name.rc") 0 0" \
	    "$name, $how: the second time no object and no byte is sent"
	check "$name, $how: and the output is the same" cmp "$T/job.out" "$T/again.out"
}

# project NAME COMMAND: here, then in jobs
project() {
	cp -a "$T/src/$1" "$T/local"
	local_build "$T/local" "$2" >"$T/$1.out" 2>"$T/$1.err"
	echo $? >"$T/$1.rc"
	is "$(cat "$T/$1.rc")" 0 "$1 builds here"
	manifest "$T/local" >"$T/$1.manifest"
	rm -rf "$T/local"
	try "$1" "$2" git
	try "$1" "$2" all
}
