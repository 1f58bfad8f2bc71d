/*
 * errandctl store backup: a copy of the store in a new directory, which has its
 * name only when all of it is on the disk.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_in.h"
#include "ctl.h"
#include "ctl_care.h"
#include "json.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"

struct backup {
	struct session *s;
	const char *dir;
	char partial[PATH_MAX];
	int dirfd;
	int said;               /* why it is not whole, and to remove it */
	struct backup_in in;
};

static int
complain(struct backup *b, const char *what)
{
	int err = errno;

	/* What comes after the first fault is its consequence. */
	if (b->said)
		return (-1);
	care_progress_end(b->s);
	b->said = 1;
	if (err == EPROTO)
		out_warn("%s: the host's store did not send a whole backup; "
		    "remove it", b->partial);
	else
		out_warn("%s: %s: %s; remove it", b->partial, what,
		    strerror(err));
	return (-1);
}

static int
on_bytes(void *cookie, const uint8_t *p, size_t len)
{
	struct backup *b = cookie;

	if (backup_in_feed(&b->in, p, len) == -1)
		return (complain(b, "it cannot be written"));
	return (0);
}

static void
on_say(void *cookie, const struct care *c)
{
	struct backup *b = cookie;

	care_progress(b->s, "backing up", c->at, c->total);
}

/* Nothing but an empty directory may have the name. */
static int
name_check(const char *dir)
{
	struct dirent *de;
	DIR *d;
	int n = 0;

	if ((d = opendir(dir)) == NULL) {
		if (errno == ENOENT)
			return (0);
		out_warn("%s: %s", dir, strerror(errno));
		return (-1);
	}
	while ((de = readdir(d)) != NULL)
		n += strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0;
	closedir(d);
	if (n == 0)
		return (0);
	out_warn("%s is not empty: a backup goes into a new directory", dir);
	return (-1);
}

static int
dir_make(struct backup *b)
{
	size_t len = strlen(b->dir);

	while (len > 1 && b->dir[len - 1] == '/')
		len--;
	if (snprintf(b->partial, sizeof(b->partial), "%.*s.partial", (int)len,
	    b->dir) >= (int)sizeof(b->partial)) {
		out_warn("%s: the path is too long", b->dir);
		return (-1);
	}
	if (mkdir(b->partial, 0700) == -1) {
		if (errno == EEXIST)
			out_warn("%s is left from a backup that was not "
			    "finished: remove it first", b->partial);
		else
			out_warn("%s: %s", b->partial, strerror(errno));
		return (-1);
	}
	if ((b->dirfd = open(b->partial, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1 || backup_in_open(&b->in, b->dirfd) == -1)
		return (complain(b, "packs"));
	return (0);
}

/* The name of the whole, once everything below is on the disk. */
static int
name_give(struct backup *b)
{
	char up[PATH_MAX + 4];
	int fd, rc;

	if (backup_in_end(&b->in) == -1)
		return (complain(b, "it cannot be flushed"));
	if (rename(b->partial, b->dir) == -1)
		return (complain(b, "it cannot be renamed"));
	(void)snprintf(up, sizeof(up), "%s/..", b->dir);
	if ((fd = open(up, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (complain(b, "its directory cannot be flushed"));
	rc = fsync(fd);
	io_close(&fd);
	return (rc == 0 ? 0 : complain(b, "its directory cannot be flushed"));
}

static int
summary(const struct backup *b)
{
	json_t *o;

	care_progress_end(b->s);
	if (!b->s->json) {
		printf("%s: %llu files, %s\n", b->dir,
		    (unsigned long long)b->in.files,
		    text_bytes(b->in.bytes));
		return (0);
	}
	o = json_object();
	json_object_set_new(o, "dir", json_string(b->dir));
	json_object_set_new(o, "files", json_integer((json_int_t)b->in.files));
	json_object_set_new(o, "bytes", json_integer((json_int_t)b->in.bytes));
	return (json_print(o, STDOUT_FILENO) == 0 ? 0 : EXIT_OURS);
}

/* What was refused has left nothing but an empty directory. */
static void
undo(struct backup *b)
{
	(void)unlinkat(b->dirfd, "packs", AT_REMOVEDIR);
	if (rmdir(b->partial) == -1 && !b->said)
		out_warn("%s is not whole: remove it", b->partial);
}

static int
run(struct backup *b)
{
	const struct care_hear hear = { on_say, on_bytes, b };
	int rc;

	if ((rc = care_run(b->s, CARE_BACKUP, &hear)) != 0) {
		undo(b);
		return (rc);
	}
	return (name_give(b) == -1 ? EXIT_OURS : summary(b));
}

int
ctl_store_backup(struct session *s, const char *dir)
{
	struct backup *b;
	int rc = EXIT_OURS;

	if (name_check(dir) == -1)
		return (EXIT_NO);
	if (session_hello(s) == -1)
		return (EXIT_NO);
	if ((b = calloc(1, sizeof(*b))) == NULL)
		return (EXIT_OURS);
	b->s = s;
	b->dir = dir;
	b->dirfd = b->in.fd = b->in.packsfd = -1;
	if (dir_make(b) == 0)
		rc = run(b);
	backup_in_close(&b->in);
	io_close(&b->dirfd);
	free(b);
	return (rc);
}
