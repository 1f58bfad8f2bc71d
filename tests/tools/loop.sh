# shellcheck shell=sh
# File systems of a given size on loop devices, for tests that fill them or
# cut them off.  Sourced after lib.sh; what is made goes with $T.

loop_devices=

# loop_make NAME SIZE: a sparse image and its device, in $loop_dev
loop_make() {
	truncate -s "$2" "$T/$1.img" || exit 1
	loop_dev=$(losetup -f --show "$T/$1.img") || exit 1
	loop_devices="$loop_devices $loop_dev"
}

# need_loop: skip the script where there are no loop devices
need_loop() {
	need_root
	need_program losetup mkfs.ext4
	losetup -f >/dev/null 2>&1 || skip_all "needs loop devices"
}

loop_done() {
	test_status=$?
	grep " $T/" /proc/self/mounts | cut -d ' ' -f 2 | sort -r |
	    while read -r test_mount; do
		umount -l "$test_mount"
	done
	for test_dev in $loop_devices; do
		wait_for 10 losetup -d "$test_dev"
	done
	return "$test_status"
}
trap 'loop_done; cleanup' EXIT
