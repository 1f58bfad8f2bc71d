#!/bin/sh
# errand on a Debian 12 of its own: pure cgroup v2, systemd, the stable kernel.
# Makes an image, installs errand into it, boots it under qemu without a
# network, and passes on the TAP that guest.sh writes to the second serial
# port.  The first boot is the only one.
#
# ERRAND_VM_DIR (/var/tmp/errand-vm) keeps what is made once, the plain Debian
# as a tar, and the console of the last boot; ERRAND_VM_TIME is how many
# seconds the machine may run.  ERRAND_VM_SCRIPTS are the system tests that
# run in it too, after the machine's own.

# shellcheck disable=SC2154
. "$(dirname "$0")/../lib.sh"

DIR=${ERRAND_VM_DIR:-/var/tmp/errand-vm}
SUITE=bookworm
# The mirror that this machine's apt is configured with.
MIRROR=${ERRAND_VM_MIRROR:-$({
	sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
	    /etc/apt/sources.list.d/*.sources
	sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
	    /etc/apt/sources.list
} 2>/dev/null | head -n 1)}
SIZE=4G
SCRIPTS="pool stdin terminal cannot-bombs cases-limits rootless-disk"
SCRIPTS=${ERRAND_VM_SCRIPTS-$SCRIPTS}
PACKAGES=linux-image-cloud-amd64,systemd-sysv,udev,dbus,libpam-systemd
PACKAGES=$PACKAGES,libevent-core-2.1-7,libsodium23,libseccomp2,liblmdb0
PACKAGES=$PACKAGES,libprotobuf-c1,libzstd1,libconfuse2,libjansson4
PACKAGES=$PACKAGES,git,gcc,libc6-dev,make,python3,iproute2,procps,e2fsprogs

need_root
need_program mmdebstrap qemu-system-x86_64 mkfs.ext4 tar make
mkdir -p "$DIR" || skip_all "needs $DIR"

# The tar's name says what is in it, so that another list makes another one.
base_make() {
	BASE=$DIR/base-$(echo "$SUITE $PACKAGES" | cksum | cut -d' ' -f1).tar
	[ ! -e "$BASE" ] || return 0
	diag "making $BASE"
	mmdebstrap --quiet --format=tar --variant=minbase \
	    --include="$PACKAGES" "$SUITE" "$BASE.new" "$MIRROR" \
	    >"$DIR/mmdebstrap.log" 2>&1 &&
	    mv "$BASE.new" "$BASE" && return 0
	rm -f "$BASE.new"
	diag "$(tail -n 20 "$DIR/mmdebstrap.log")"
	return 1
}

# errand as "make install" puts it, and the tests beside it.
errand_install() {
	make -C "$TOP" --no-print-directory install install-man \
	    install-contrib DESTDIR="$ROOT" &&
	    install -d "$ROOT/opt/errand/build/tests/system" \
	    "$ROOT/opt/errand/tests" &&
	    install "$BUILD/tests/system/jget" \
	    "$ROOT/opt/errand/build/tests/system" &&
	    cp -r "$BUILD/bin" "$ROOT/opt/errand/build" &&
	    cp -r "$TOP/tests/lib.sh" "$TOP/tests/tools" "$TOP/tests/system" \
	    "$TOP/tests/vm" "$ROOT/opt/errand/tests" &&
	    echo "$SCRIPTS" >"$ROOT/opt/errand/tests/vm/scripts"
}

# The service that runs the tests once the system is up, and ends it.
service_install() {
	cat >"$ROOT/etc/systemd/system/errand-test.service" <<-'END'
	[Unit]
	Description=tests of errand
	After=multi-user.target
	SuccessAction=poweroff
	FailureAction=poweroff
	[Service]
	Type=oneshot
	TimeoutStartSec=infinity
	ExecStart=/bin/sh -c 'exec sh /opt/errand/tests/vm/guest.sh >/dev/ttyS1 2>&1'
	[Install]
	WantedBy=multi-user.target
	END
	ln -sf ../errand-test.service \
	    "$ROOT/etc/systemd/system/multi-user.target.wants/"
}

image_make() {
	ROOT=$T/root
	mkdir "$ROOT" && tar -xf "$BASE" -C "$ROOT" --exclude='./dev/*' &&
	    errand_install >"$T/install.log" 2>&1 && service_install &&
	    echo errand-vm >"$ROOT/etc/hostname" &&
	    echo '127.0.1.1 errand-vm' >>"$ROOT/etc/hosts" &&
	    cp "$ROOT"/boot/vmlinuz-* "$T/kernel" &&
	    cp "$ROOT"/boot/initrd.img-* "$T/initrd" &&
	    truncate -s "$SIZE" "$T/image" &&
	    mkfs.ext4 -q -F -d "$ROOT" "$T/image" && rm -rf "$ROOT" &&
	    return 0
	[ ! -e "$T/install.log" ] || diag "$(tail -n 20 "$T/install.log")"
	return 1
}

boot() {
	timeout -k 5 "${ERRAND_VM_TIME:-2400}" qemu-system-x86_64 \
	    -accel tcg,thread=multi -cpu qemu64 -m 2048 -smp 2 \
	    -nodefaults -display none -no-reboot -serial "file:$DIR/console" \
	    -serial "file:$T/tap" -kernel "$T/kernel" -initrd "$T/initrd" \
	    -drive "file=$T/image,if=virtio,format=raw,cache=unsafe" \
	    -append 'root=/dev/vda rw console=ttyS0 quiet' </dev/null
}

base_make || skip_all "needs a Debian mirror for its image"
if ! image_make; then
	echo '1..1'
	echo 'not ok 1 - the image is made'
	exit 1
fi
boot
status=$?
tr -d '\r' <"$T/tap"
if [ "$status" -ne 0 ] || ! grep -q '^1\.\.' "$T/tap"; then
	diag "the machine ended early, status $status; its console:"
	diag "$(tail -n 30 "$DIR/console" | tr -d '\r')"
	exit 1
fi
! grep -q '^not ok' "$T/tap"
