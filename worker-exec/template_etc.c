/*
 * The part of the host's /etc, or an image's, that jobs see.  Reads files there
 * that everybody may read; writes and binds into the template's tmpfs only.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "mnt.h"
#include "template_internal.h"

/*
 * What a job sees of the host's /etc: settings that programs below /usr need,
 * readable by everybody on the host already, and nothing that knows about
 * users, services or secrets.  Small things are copied at start, since each
 * mount costs every sandbox some time; what packages keep changing is bound.
 */
#define FILE_MAX        (512 * 1024)    /* a larger file is left out */
#define COPY_MAX        (8 * 1024 * 1024) /* all files together */
#define COPY_ENTRIES    8192
#define COPY_DEPTH      6

static const char *const bound[] = {
	"alternatives", "ssl/certs", "pki/ca-trust",
};

static const char *const copied[] = {
	"ImageMagick-*", "OpenCL", "R", "X11", "alternatives", "ant*",
	"bash.bashrc", "bash_completion.d", "ca-certificates",
	"ca-certificates.conf", "clisp*", "crypto-policies", "debian_version",
	"dpkg", "emacs", "ethertypes", "fonts", "fpc*", "gai.conf", "gdb",
	"ghostscript", "glvnd", "gnucobol", "gprofng.rc", "gradle", "groff",
	"gtk-*", "host.conf", "inputrc", "issue", "java*", "julia", "kotlin",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "libnl*", "lisp*",
	"locale.alias", "locale.conf", "localtime", "lsb-release", "lua*",
	"magic", "magic.mime", "mailcap", "manpath.config", "maven",
	"mime.types", "mono", "nanorc", "netconfig", "ocaml*", "os-release",
	"perl", "php*", "pki", "profile", "protocols", "python*",
	"request-key.conf", "rpc", "ruby*", "scala", "services", "sgml", "ssl",
	"terminfo", "texmf", "timezone", "vim", "wgetrc", "xml",
};

/* Files that are ours: the job's users, and names without the network. */
static const struct {
	const char *name;
	const char *text;
	enum { REPLACED, MERGED, KEPT } image;  /* what an image has of it */
} ours[] = {
	{ .name = "passwd", .image = MERGED, .text =
	    "root:x:0:0:root:/home/runner:/bin/sh\n"
	    "runner:x:1000:1000:runner:/home/runner:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ .name = "group", .image = MERGED, .text =
	    "root:x:0:\ntty:x:5:\nrunner:x:1000:\nnogroup:x:65534:\n" },
	{ .name = "hosts", .text =
	    "127.0.0.1 localhost errand\n"
	    "::1 localhost ip6-localhost ip6-loopback\n" },
	{ .name = "hostname", .text = "errand\n" },
	{ .name = "nsswitch.conf", .text =
	    "passwd: files\ngroup: files\nshadow: files\ngshadow: files\n"
	    "hosts: files dns\nnetworks: files\nprotocols: files\n"
	    "services: files\nethers: files\nrpc: files\n" },
	{ .name = "resolv.conf", .text = "" },
	{ .name = "shells", .image = KEPT, .text = "/bin/sh\n/bin/bash\n" },
};

struct copy {
	size_t bytes;
	size_t entries;
	unsigned int depth;
	unsigned int left;      /* that there was no room for */
	int image;              /* not the host's: nothing is bound */
};

#define NITEMS(a)       (sizeof(a) / sizeof((a)[0]))

static int copy_entry(struct copy *, int, const char *, int);

static int
copy_file(struct copy *c, int from, const char *name, int to,
    const struct stat *st)
{
	size_t len;
	uint8_t *buf;
	int fd, rc;

	if ((st->st_mode & S_IROTH) == 0)
		return (0);
	if (st->st_size > FILE_MAX ||
	    (size_t)st->st_size > COPY_MAX - c->bytes) {
		c->left++;
		return (0);
	}
	if (io_file_read(from, name, FILE_MAX, &buf, &len) == -1)
		return (0);
	rc = -1;
	fd = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd != -1)
		rc = io_write(fd, buf, len);
	if (rc == 0 && (st->st_mode & S_IXOTH))
		rc = fchmod(fd, 0755);
	io_close(&fd);
	free(buf);
	c->bytes += len;
	return (rc);
}

static int
copy_link(int from, const char *name, int to)
{
	char target[PATH_MAX];
	ssize_t n;

	if ((n = readlinkat(from, name, target, sizeof(target) - 1)) == -1)
		return (0);
	target[n] = '\0';
	return (symlinkat(target, to, name));
}

static int
copy_all(struct copy *c, DIR *dir, int to)
{
	struct dirent *e;

	while ((e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0 &&
		    copy_entry(c, dirfd(dir), e->d_name, to) == -1)
			return (-1);
	}
	return (0);
}

static int
is_bound(const char *path)
{
	size_t i;

	for (i = 0; i < NITEMS(bound); i++) {
		if (strcmp(bound[i], path) == 0)
			return (1);
	}
	return (0);
}

static int
copy_dir(struct copy *c, int from, const char *name, int to,
    const struct stat *st)
{
	int fd, sub = -1, rc = -1;
	DIR *dir;

	if (mkdirat(to, name, 0755) == -1 && errno != EEXIST)
		return (-1);
	/* What will be bound stays an empty directory. */
	if ((!c->image && is_bound(name)) || (st->st_mode & S_IXOTH) == 0 ||
	    (st->st_mode & S_IROTH) == 0)
		return (0);
	if (c->depth >= COPY_DEPTH) {
		c->left++;
		return (0);
	}
	fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (0);
	}
	sub = openat(to, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->depth++;
	if (sub != -1)
		rc = copy_all(c, dir, sub);
	c->depth--;
	io_close(&sub);
	closedir(dir);
	return (rc);
}

/* One entry, as far as everybody may read it and there is room. */
static int
copy_entry(struct copy *c, int from, const char *name, int to)
{
	struct stat st;

	if (c->entries >= COPY_ENTRIES) {
		c->left++;
		return (0);
	}
	c->entries++;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (0);
	if (S_ISDIR(st.st_mode))
		return (copy_dir(c, from, name, to, &st));
	if (S_ISLNK(st.st_mode))
		return (copy_link(from, name, to));
	return (S_ISREG(st.st_mode) ? copy_file(c, from, name, to, &st) : 0);
}

/* Of an image all but what is ours, of the host what is listed. */
static int
wanted(const struct copy *c, const char *name)
{
	size_t i;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return (0);
	for (i = 0; c->image && i < NITEMS(ours); i++) {
		if (ours[i].image != KEPT && strcmp(ours[i].name, name) == 0)
			return (0);
	}
	if (c->image)
		return (1);
	for (i = 0; i < NITEMS(copied); i++) {
		if (fnmatch(copied[i], name, 0) == 0)
			return (1);
	}
	return (0);
}

/* Takes ${from}. */
static int
copy_etc(struct copy *c, int from, int etc)
{
	struct dirent *e;
	DIR *dir;
	int rc = 0;

	if ((dir = fdopendir(from)) == NULL) {
		io_close(&from);
		return (-1);
	}
	while (rc == 0 && (e = readdir(dir)) != NULL) {
		if (wanted(c, e->d_name))
			rc = copy_entry(c, dirfd(dir), e->d_name, etc);
	}
	closedir(dir);
	return (rc);
}

/* After the copy: only what is there as an empty directory can be bound. */
static void
bind_etc(int host, int etc)
{
	char path[64];
	size_t i;

	for (i = 0; i < NITEMS(bound); i++) {
		(void)strcpy(path, "etc/");
		strncat(path, bound[i], sizeof(path) - sizeof("etc/"));
		if (faccessat(host, path, F_OK, 0) == -1)
			continue;
		(void)mkdirat(etc, bound[i], 0755);
		if (mnt_bind(host, path, etc, bound[i], MNT_RO) == -1)
			log_info("jobs have no /%s: %s", path,
			    strerror(errno));
	}
}

/* ${image} is -1 in the host's own view. */
static int
ours_make(int image, int etc)
{
	const char *name;
	char path[32], *text;
	size_t i;
	int rc;

	for (i = 0; i < NITEMS(ours); i++) {
		name = ours[i].name;
		(void)snprintf(path, sizeof(path), "etc/%s", name);
		if (image == -1 || ours[i].image != MERGED)
			rc = template_file(etc, name, ours[i].text);
		else {
			text = template_users(image, path, ours[i].text);
			rc = text == NULL ? -1 : template_file(etc, name,
			    text);
			free(text);
		}
		if (rc == -1 && !(errno == EEXIST && ours[i].image == KEPT)) {
			log_warn("the mounts for sandboxes: /%s", path);
			return (-1);
		}
	}
	return (0);
}

int
template_etc(int host, int etc)
{
	struct copy c = { 0 };
	int from;

	from = openat(host, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from == -1 || copy_etc(&c, from, etc) == -1) {
		log_warn("the mounts for sandboxes: /etc");
		return (-1);
	}
	bind_etc(host, etc);
	return (ours_make(-1, etc));
}

int
template_etc_image(int image, int from, int etc)
{
	struct copy c = { .image = 1 };

	if (from != -1 && copy_etc(&c, from, etc) == -1) {
		log_warn("image: /etc");
		return (-1);
	}
	if (c.left > 0)
		log_warnx("image: %u files or directories of its /etc are "
		    "too large, too many or too deep to be seen by jobs; move "
		    "them elsewhere in the image", c.left);
	return (ours_make(image, etc));
}

int
template_net(int host, int dir)
{
	static const char *const names[] = { "hosts", "resolv.conf" };
	char path[32];
	uint8_t *buf;
	size_t i, len;
	int rc;

	for (i = 0; i < NITEMS(names); i++) {
		(void)strcpy(path, "etc/");
		strncat(path, names[i], sizeof(path) - sizeof("etc/"));
		/* Links are followed: resolv.conf often is one. */
		rc = io_file_read(host, path, FILE_MAX, &buf, &len);
		if (template_file(dir, names[i], rc == 0 ? (char *)buf :
		    "") == -1) {
			log_warn("the mounts for sandboxes: /%s", path);
			return (-1);
		}
		if (rc == 0)
			free(buf);
	}
	return (0);
}
