# shellcheck shell=sh
# Small images, made of programs of this host and what they are linked with.

IMAGE_PROGRAMS='sh cat ls id true stat touch mkdir readlink ln rm chmod grep env
    sleep uname head wc'

# image_file DIR FILE: this file of the host, at the same place there
image_file() {
	mkdir -p "$1$(dirname "$2")"
	cp -L "$2" "$1$2"
}

# image_which PROGRAM: where it is, shells' own or not
image_which() {
	for image_d in /usr/bin /bin /usr/local/bin; do
		if [ -x "$image_d/$1" ]; then
			echo "$image_d/$1"
			return 0
		fi
	done
	return 1
}

# image_programs DIR PROGRAM...: into its /bin, and their libraries
image_programs() {
	image_dir=$1
	shift
	mkdir -p "$image_dir/bin"
	for image_p; do
		image_p=$(image_which "$image_p") || return 1
		cp -L "$image_p" "$image_dir/bin/"
		ldd "$image_p" 2>/dev/null | grep -o '/[^ ]*' |
		    while read -r image_lib; do
			[ -e "$image_dir$image_lib" ] ||
			    image_file "$image_dir" "$image_lib"
		done
	done
}

# image_make DIR: one with plain directories, without links to /usr, and with
# nothing but programs
image_make() {
	(
		umask 022
		mkdir -p "$1" || exit 1
		# shellcheck disable=SC2086
		image_programs "$1" $IMAGE_PROGRAMS
	)
}

# image_merge DIR: its /bin, /lib and /lib64 become links to /usr
image_merge() {
	mkdir -p "$1/usr"
	for image_d in bin lib lib64; do
		[ -d "$1/$image_d" ] || continue
		mkdir -p "$1/usr/$image_d"
		cp -a "$1/$image_d/." "$1/usr/$image_d/"
		rm -r "${1:?}/$image_d"
		ln -s "usr/$image_d" "$1/$image_d"
	done
}
