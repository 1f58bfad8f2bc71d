/*
 * Walks a tree and makes its objects.  Opens directories and regular files
 * below the root, for reading, never through a link.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/text.h"
#include "lib/tree.h"
#include "objtab.h"
#include "proto/limits.h"
#include "scan.h"
#include "scan_internal.h"
#include "statcache.h"

static int scan_dir(struct scan *, int, int, struct obj_ref *, uint8_t *);

void
scan_fault(struct scan *s, const char *what)
{
	char esc[PATH_MAX];
	int e = errno;

	text_escape(s->path, s->path_len, esc, sizeof(esc));
	snprintf(s->why, LIMIT_TEXT, "%.300s: %s: %s", s->path_len == 0 ?
	    s->o.root : esc, what, strerror(e));
	errno = e;
}

void
scan_note(struct scan *s, const char *text)
{
	if (s->o.note != NULL)
		s->o.note(s->o.cookie, s->path, text);
}

static int
path_push(struct scan *s, const char *name, size_t len)
{
	size_t need = s->path_len + len + 2, cap;
	char *p;

	if (need > s->path_cap) {
		cap = need * 2;
		if ((p = realloc(s->path, cap)) == NULL)
			return (-1);
		s->path = p;
		s->path_cap = cap;
	}
	if (s->path_len > 0)
		s->path[s->path_len++] = '/';
	memcpy(s->path + s->path_len, name, len);
	s->path_len += len;
	s->path[s->path_len] = '\0';
	return (0);
}

static void
path_pop(struct scan *s, size_t len)
{
	s->path_len = len;
	s->path[len] = '\0';
}

/* Step the old entries up to ${name}; true when that is the next one. */
static int
merge_find(struct level *l, const struct name *nm)
{
	int c = -1;

	while (l->has_old) {
		if (!l->at_valid && !(l->at_valid =
		    stat_dir_next(&l->old, &l->at)))
			return (0);
		c = tree_name_cmp((const uint8_t *)l->at.name, l->at.name_len,
		    (const uint8_t *)nm->s, nm->len);
		if (c >= 0)
			break;
		l->same = 0;            /* one that is gone */
		l->at_valid = 0;
	}
	if (c == 0)
		l->at_valid = 0;        /* used up */
	return (c == 0);
}

/* It was among the names, and is there no more. */
static int
vanished(struct scan *s)
{

	if (select_mode_of(s->o.sel) != SELECT_GIT)
		scan_note(s, "vanished; left out");
	s->sum.skipped++;
	return (0);
}

/* An old entry for the same thing: only its reference has to be right. */
static int
take_file(struct scan *s, struct level *l, const struct name *nm,
    struct stat *st, struct stat_entry *e, int found)
{
	size_t mark;
	int rc;

	s->sum.files++;
	if (found && !s->o.rehash && stat_entry_same(&l->at, st)) {
		stat_entry_set(e, st, s->start_ns);
		e->ref = l->at.ref;
		s->sum.bytes += (uint64_t)st->st_size;
		return (1);
	}
	mark = objtab_mark(s->tab);
	if ((rc = scan_file(s, l->fd, nm->s, st, &e->ref)) == -1)
		return (-1);
	if (rc == 1) {
		s->sum.files--;
		return (vanished(s));
	}
	/* Read for nothing: the host has had these bytes. */
	if (found && obj_ref_equal(&e->ref, &l->at.ref))
		objtab_undo(s->tab, mark);
	stat_entry_set(e, st, s->start_ns);
	s->sum.bytes += (uint64_t)st->st_size;
	if (s->o.progress != NULL && s->sum.files % 256 == 0)
		s->o.progress(s->o.cookie, s->sum.files, s->sum.bytes);
	if (!found || !obj_ref_equal(&e->ref, &l->at.ref) ||
	    l->at.mode != e->mode || l->at.size != e->size ||
	    l->at.mtime_ns != e->mtime_ns)
		l->same = 0;
	else
		s->refresh = 1;         /* only its ctime or inode differ */
	return (1);
}

static int
take_dir(struct scan *s, struct level *l, const struct name *nm,
    struct stat *st, struct stat_entry *e, int found)
{
	uint64_t dev = s->dev;
	int fd, rc;

	if ((fd = openat(l->fd, nm->s, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1) {
		if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
			return (vanished(s));
		scan_fault(s, "cannot open the directory (leave it out by an "
		    "ignore rule, or make it readable)");
		return (-1);
	}
	/* Times as they are once it has been opened: reading is next. */
	if (fstat(fd, st) == -1) {
		close(fd);
		return (-1);
	}
	if (st->st_dev != dev)
		scan_note(s, "another file system, which is sent too (an "
		    "ignore rule leaves it out)");
	s->dev = st->st_dev;
	rc = scan_dir(s, fd, 0, &e->ref, e->plain);
	s->dev = dev;
	if (rc == -1)
		return (-1);
	s->sum.dirs++;
	stat_entry_set(e, st, s->start_ns);
	if (!found || !obj_ref_equal(&e->ref, &l->at.ref) ||
	    l->at.mode != e->mode || l->at.mtime_ns != e->mtime_ns)
		l->same = 0;
	return (1);
}

static int
take_link(struct scan *s, struct level *l, struct stat *st,
    struct stat_entry *e, int found)
{
	s->sum.links++;
	stat_entry_set(e, st, s->start_ns);
	memset(&e->ref, 0, sizeof(e->ref));
	if (!found || !stat_entry_same(&l->at, st))
		l->same = 0;
	return (1);
}

static int
take_kind(struct scan *s, struct level *l, const struct name *nm,
    struct stat *st, struct stat_entry *e, int found)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return (take_file(s, l, nm, st, e, found));
	case S_IFDIR:
		return (take_dir(s, l, nm, st, e, found));
	case S_IFLNK:
		return (take_link(s, l, st, e, found));
	default:
		scan_note(s, S_ISFIFO(st->st_mode) ? "a FIFO; left out" :
		    S_ISSOCK(st->st_mode) ? "a socket; left out" :
		    "a device; left out");
		s->sum.skipped++;
		return (0);
	}
}

/* One name: 1 taken, 0 left out, -1 failed. */
static int
take(struct scan *s, struct level *l, const struct name *nm,
    struct stat_entry *e)
{
	const char *bad;
	struct stat st;
	int found, rc;

	if (fstatat(l->fd, nm->s, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno == ENOTCONN || errno == ESTALE ||
		    errno == EHOSTDOWN) {
			scan_note(s, "a mount that does not answer; left out");
			s->sum.skipped++;
			return (0);
		}
		if (errno != ENOENT && errno != ENOTDIR) {
			scan_fault(s, "cannot look at it");
			return (-1);
		}
		return (vanished(s));
	}
	if ((bad = tree_name_fault((const uint8_t *)nm->s, nm->len)) != NULL) {
		scan_note(s, bad);
		s->sum.skipped++;
		return (0);
	}
	found = merge_find(l, nm);
	rc = take_kind(s, l, nm, &st, e, found);
	if (rc == 0 && found)
		l->same = 0;            /* it was there */
	return (rc);
}

static int
level_fill(struct scan *s, struct level *l)
{
	size_t i, at = s->path_len;
	int rc;

	if ((l->v = calloc(l->names.n + 1, sizeof(*l->v))) == NULL)
		return (-1);
	for (i = 0; i < l->names.n; i++) {
		if (path_push(s, l->names.v[i].s, l->names.v[i].len) == -1)
			return (-1);
		rc = take(s, l, &l->names.v[i], &l->v[l->n]);
		path_pop(s, at);
		if (rc == -1)
			return (-1);
		if (rc == 0)
			continue;
		l->v[l->n].name = l->names.v[i].s;
		l->v[l->n].name_len = l->names.v[i].len;
		if (l->v[l->n].racy)
			s->refresh = 1;
		l->n++;
	}
	if (l->has_old && (l->at_valid || stat_dir_next(&l->old, &l->at)))
		l->same = 0;
	return (0);
}

/* Takes ${fd}. */
static int
scan_dir(struct scan *s, int fd, int top, struct obj_ref *ref, uint8_t *plain)
{
	struct level l = { .fd = fd };
	int rc = -1;

	if (++s->depth > TREE_DEPTH_MAX) {
		errno = ENAMETOOLONG;
		scan_fault(s, "the tree is too deep");
		goto done;
	}
	l.has_old = s->old != NULL &&
	    statcache_dir(s->old, s->path, &l.old) == 0;
	l.same = l.has_old;
	if (select_names(s->o.sel, fd, s->path, &l.names) == -1) {
		scan_fault(s, "cannot list the directory");
		if (*select_why(s->o.sel) != '\0')
			snprintf(s->why, LIMIT_TEXT, "%s",
			    select_why(s->o.sel));
		goto done;
	}
	if (level_fill(s, &l) == -1)
		goto done;
	if (l.same && !s->o.rehash) {
		*ref = l.old.ref;
		memcpy(plain, l.old.plain, OBJ_ID_LEN);
	} else if (scan_encode(s, &l, ref, plain) == -1)
		goto done;
	if (statcache_out_dir(s->out, s->path, ref, plain, l.v, l.n) == -1)
		goto done;
	rc = 0;
done:
	if (rc == -1 && s->why[0] == '\0')
		scan_fault(s, "cannot scan it");
	s->depth--;
	free(l.v);
	names_done(&l.names);
	if (!top)
		close(fd);
	return (rc);
}

static int
scan_open(struct scan *s, char *why)
{
	struct timespec ts;
	struct stat st;

	s->rootfd = open(s->o.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->rootfd == -1) {
		snprintf(why, LIMIT_TEXT, "%s: %s", s->o.root, strerror(errno));
		return (-1);
	}
	if (fstat(s->rootfd, &st) == 0)
		s->dev = st.st_dev;
	clock_gettime(CLOCK_REALTIME, &ts);
	s->start_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	if (s->o.cache != NULL && !s->o.rehash)
		s->old = statcache_load(s->o.cache);
	if ((s->path = calloc(1, PATH_MAX)) == NULL ||
	    (s->tab = objtab_new()) == NULL ||
	    (s->out = statcache_out_new()) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		return (-1);
	}
	s->path_cap = PATH_MAX;
	return (0);
}

struct scan *
scan_run(const struct scan_opts *o, char *why)
{
	struct scan *s;

	why[0] = '\0';
	if ((s = calloc(1, sizeof(*s))) == NULL) {
		snprintf(why, LIMIT_TEXT, "%s", strerror(errno));
		return (NULL);
	}
	s->o = *o;
	s->why = why;
	s->rootfd = -1;
	if (scan_open(s, why) == -1 ||
	    scan_dir(s, s->rootfd, 1, &s->sum.root, s->sum.content) == -1) {
		scan_free(s);
		return (NULL);
	}
	s->why = NULL;
	return (s);
}

void
scan_free(struct scan *s)
{
	if (s == NULL)
		return;
	io_close(&s->rootfd);
	statcache_free(s->old);
	statcache_out_free(s->out);
	objtab_free(s->tab);
	scan_links_free(s);
	free(s->path);
	free(s);
}

const struct scan_sum *
scan_sum(const struct scan *s)
{
	return (&s->sum);
}

int
scan_cached_root(const char *path, struct obj_ref *ref)
{
	struct statcache *sc;

	if ((sc = statcache_load(path)) == NULL)
		return (-1);
	statcache_root(sc, ref);
	statcache_free(sc);
	return (0);
}

int
scan_save(struct scan *s)
{
	struct obj_ref old;

	if (s->o.cache == NULL)
		return (0);
	if (s->old != NULL && !s->refresh) {
		statcache_root(s->old, &old);
		if (obj_ref_equal(&old, &s->sum.root))
			return (0);
	}
	return (statcache_out_save(s->out, s->o.cache, &s->sum.root));
}

void
scan_news(const struct scan *s, struct scan_news *n)
{
	objtab_count(s->tab, &n->content_objects, &n->content_bytes,
	    &n->meta_objects, &n->meta_bytes);
}

int
scan_each(struct scan *s, int content, obj_sink_fn *fn, void *cookie)
{
	return (objtab_each(s->tab, s->rootfd, content, fn, cookie));
}

int
scan_object(struct scan *s, const struct obj_ref *ref, obj_sink_fn *fn,
    void *cookie)
{
	return (objtab_get(s->tab, s->rootfd, ref, fn, cookie));
}

int
scan_add(struct scan *s, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	return (objtab_add(s->tab, ref, buf, len, -1, 0));
}

const char *
scan_stale_path(const struct scan *s)
{
	return (objtab_stale(s->tab));
}

int
scan_source(const struct scan *s, const struct obj_ref *ref,
    const char **path, uint32_t *len)
{
	return (objtab_source(s->tab, ref, path, len));
}
