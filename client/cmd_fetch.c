/*
 * errand fetch: the changed files into a new directory (-o), or into the tree
 * they came from (--apply: apply_job.c).  Here it writes only below the new
 * directory; every path is resolved beneath it without following links, and
 * links are made last.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_job.h"
#include "changes.h"
#include "cmd.h"
#include "common.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "lib/tree.h"
#include "out.h"
#include "reserved.h"

#define PATH_LEN        65536   /* of a change, with its end */
#define PUMP_US         1000000 /* the host wants to hear of us */

/*
 * Invariants:
 *  1. at is -1, or a directory beneath dirfd and at_path[0..at_len) its path:
 *     the one the last path was made in, which is most often the next one's or
 *     above it.
 */
struct fetch {
	struct objget *g;
	struct session *s;
	int dirfd;
	int at;
	size_t at_len;
	char at_path[PATH_LEN];
	uint64_t pumped_us;
	char *const *want;      /* paths asked for; none: all */
	int nwant;
	const uint8_t *list;
	size_t len;
	uint64_t files, bytes, deleted;
};

static int
beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC),
	    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	return ((int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
}

/* Does ${path} continue below the directory we are in? */
static int
is_below(const struct fetch *f, const char *path, size_t len)
{
	return (f->at != -1 && f->at_len <= len &&
	    memcmp(f->at_path, path, f->at_len) == 0 &&
	    (f->at_len == 0 || f->at_len == len || path[f->at_len] == '/'));
}

/* One step down, made if it is missing. */
static int
step(struct fetch *f, const char *name)
{
	int next;

	if (mkdirat(f->at, name, 0777) == -1 && errno != EEXIST)
		return (-1);
	if ((next = beneath(f->at, name, O_RDONLY | O_DIRECTORY)) == -1)
		return (-1);
	io_close(&f->at);
	f->at = next;
	return (0);
}

/* Go to the directory ${path} of ${len} bytes; what is missing is made. */
static int
enter(struct fetch *f, const char *path, size_t len)
{
	char name[TREE_NAME_MAX + 1];
	size_t i, n;

	if (!is_below(f, path, len)) {
		io_close(&f->at);
		if ((f->at = dup(f->dirfd)) == -1)
			return (-1);
		f->at_len = 0;
	}
	for (i = f->at_len; i < len; i += n) {
		i += path[i] == '/';
		for (n = 0; i + n < len && path[i + n] != '/'; n++)
			name[n] = path[i + n];
		name[n] = '\0';
		if (step(f, name) == -1) {
			io_close(&f->at);
			return (-1);
		}
	}
	memcpy(f->at_path, path, len);
	f->at_len = len;
	return (0);
}

/* Go where the last part of ${path} belongs, and return that part. */
static const char *
parent_of(struct fetch *f, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (enter(f, path, slash == NULL ? 0 : (size_t)(slash - path)) == -1)
		return (NULL);
	return (slash == NULL ? path : slash + 1);
}

static int
make_file(struct fetch *f, const struct change *c, const char *base)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT }, {
	    .tv_sec = c->mtime_ns / 1000000000,
	    .tv_nsec = c->mtime_ns % 1000000000 } };
	int out;

	if (ts[1].tv_nsec < 0) {
		ts[1].tv_sec--;
		ts[1].tv_nsec += 1000000000;
	}
	out = openat(f->at, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (out == -1)
		return (-1);
	if (content_to_fd(&c->ref, c->size, objget_fetch, f->g, out) == -1 ||
	    fchmod(out, c->mode) == -1 || futimens(out, ts) == -1) {
		io_close(&out);
		return (-1);
	}
	f->files++;
	f->bytes += c->size;
	return (close(out));
}

static int
make_link(const struct fetch *f, const struct change *c, const char *base)
{
	char target[TREE_TARGET_MAX + 1];

	memcpy(target, c->target, c->target_len);
	target[c->target_len] = '\0';
	return (symlinkat(target, f->at, base));
}

/* A mode that would keep us out is for dir_modes. */
static int
is_late(const struct change *c)
{
	return ((c->mode & 0700) != 0700);
}

static int
make_dir(struct fetch *f, const struct change *c, const char *path)
{
	if (enter(f, path, c->path_len) == -1)
		return (-1);
	return (is_late(c) ? 0 : fchmod(f->at, c->mode));
}

static int
make_one(struct fetch *f, const struct change *c, const char *path)
{
	const char *base;

	if (c->kind == TREE_DIR)
		return (make_dir(f, c, path));
	if ((base = parent_of(f, path)) == NULL)
		return (-1);
	if (c->kind == TREE_FILE)
		return (make_file(f, c, base));
	return (make_link(f, c, base));
}

/*
 * The other directories' modes, after everything is in them: children before
 * parents, so that one that may not be entered is the last to be touched.
 */
static int
dir_modes(struct fetch *f)
{
	static char path[PATH_LEN];
	struct change_iter it;
	struct change c, *v = NULL, *p;
	size_t n = 0, cap = 0;
	int rc = 0;

	if (change_iter_init(&it, f->list, f->len) == -1)
		return (-1);
	while (change_iter_next(&it, &c) == 1) {
		if (c.kind != TREE_DIR || !is_late(&c) ||
		    !changes_selected(f->want, f->nwant, &c))
			continue;
		if (n == cap) {
			cap = cap == 0 ? 64 : cap * 2;
			if ((p = realloc(v, cap * sizeof(*v))) == NULL) {
				rc = -1;
				break;
			}
			v = p;
		}
		v[n++] = c;
	}
	while (rc == 0 && n-- > 0) {
		memcpy(path, v[n].path, v[n].path_len);
		path[v[n].path_len] = '\0';
		if (enter(f, path, v[n].path_len) == -1 ||
		    fchmod(f->at, v[n].mode) == -1) {
			out_warn("%s: %s", path, strerror(errno));
			rc = -1;
		}
	}
	free(v);
	return (rc);
}

/* Answer the host's pings while there is nothing to ask it. */
static void
pump(struct fetch *f)
{
	uint64_t now = io_mono_us();

	if (now - f->pumped_us < PUMP_US)
		return;
	f->pumped_us = now;
	(void)conn_pump(f->s->c, 0);
}

enum pass { PASS_FILES, PASS_LINKS };

static int
fetch_pass(struct fetch *f, enum pass pass)
{
	static char path[PATH_LEN];
	struct change_iter it;
	struct change c;
	int rc = 0;

	if (change_iter_init(&it, f->list, f->len) == -1)
		return (-1);
	while (rc == 0 && change_iter_next(&it, &c) == 1) {
		if (!changes_selected(f->want, f->nwant, &c))
			continue;
		pump(f);
		if (c.op == CHANGE_DELETE) {
			f->deleted += pass == PASS_FILES;
			continue;
		}
		memcpy(path, c.path, c.path_len);
		path[c.path_len] = '\0';
		if ((c.kind == TREE_LINK) == (pass == PASS_LINKS))
			rc = make_one(f, &c, path);
		if (rc == -1) {
			out_warn("%s: %s", path,
			    objget_err(f->g)->code != ERR_NONE ?
			    objget_err(f->g)->text : strerror(errno));
		}
	}
	return (rc);
}

/*
 * A directory that Git takes for a repository would run what the job wants,
 * once somebody asks Git about it.
 */
static int
names_check(const struct fetch *f)
{
	struct change_iter it;
	struct change c;

	if (change_iter_init(&it, f->list, f->len) == -1)
		return (-1);
	while (change_iter_next(&it, &c) == 1) {
		if (c.op == CHANGE_DELETE ||
		    !changes_selected(f->want, f->nwant, &c) ||
		    !reserved_path((const char *)c.path, c.path_len))
			continue;
		out_warn("%.*s is a name that no result may have; name the "
		    "paths that you want", (int)c.path_len,
		    (const char *)c.path);
		return (-1);
	}
	return (0);
}

/* Small files are asked for in windows, in the order they are written. */
static void
want_all(struct fetch *f)
{
	struct change_iter it;
	struct change c;

	if (change_iter_init(&it, f->list, f->len) == -1)
		return;
	while (change_iter_next(&it, &c) == 1)
		if (c.kind == TREE_FILE && c.ref.kind == OBJ_CHUNK &&
		    changes_selected(f->want, f->nwant, &c))
			(void)objget_want(f->g, &c.ref);
}

static int
fetch_into(struct fetch *f, const char *dir)
{
	if (names_check(f) == -1)
		return (EXIT_OURS);
	if (mkdir(dir, 0777) == -1) {
		out_warn("-o %s: %s%s", dir, strerror(errno), errno == EEXIST ?
		    "; name a directory that does not exist yet" : "");
		return (EXIT_OURS);
	}
	f->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->dirfd == -1) {
		out_warn("-o %s: %s", dir, strerror(errno));
		return (EXIT_OURS);
	}
	want_all(f);
	if (fetch_pass(f, PASS_FILES) == -1 ||
	    fetch_pass(f, PASS_LINKS) == -1 ||
	    dir_modes(f) == -1) {
		out_warn("%s is incomplete", dir);
		return (EXIT_OURS);
	}
	return (0);
}

static int
fetch_dir(struct session *s, const struct job_record *rec, const char *dir,
    struct fetch *f)
{
	uint8_t *buf = NULL;
	int rc;

	f->dirfd = f->at = -1;
	f->s = s;
	if ((rc = changes_load(f->g, rec, &buf, &f->len)) != 0)
		return (rc);
	f->list = buf;
	if ((rc = changes_wanted(f->list, f->len, f->want,
	    f->nwant)) == 0 && (rc = fetch_into(f, dir)) == 0 && !s->quiet)
		out_warn("fetched %llu file%s, %s into %s%s",
		    (unsigned long long)f->files, f->files == 1 ? "" : "s",
		    text_bytes(f->bytes), dir,
		    f->deleted > 0 ? "; deletions are only in errand diff" :
		    "");
	if (rc == 0 && !rec->changes.complete) {
		out_warn("the changes of this job are incomplete");
		rc = EXIT_OURS;
	}
	io_close(&f->at);
	io_close(&f->dirfd);
	free(buf);
	return (rc);
}

/* Into a new directory, or without one, into the tree. */
static int
fetch_job(struct session *s, const char *name, const char *dir,
    struct fetch *f, const struct apply_how *how)
{
	struct job_record *rec;
	int rc = EXIT_OURS;

	if ((rec = calloc(1, sizeof(*rec))) == NULL ||
	    (f->g = objget_new(s)) == NULL)
		goto done;
	if ((rc = changes_ask(s, f->g, name, rec)) == 0) {
		rc = dir == NULL ? apply_job(s, f->g, rec, how) :
		    fetch_dir(s, rec, dir, f);
		changes_say_ignored(s, rec);
	}
done:
	objget_free(f->g);
	free(rec);
	return (rc);
}

enum { OPT_APPLY = 600, OPT_CONFLICTS, OPT_INTO };

static int
check_options(int argc, const char *dir, int apply,
    const struct apply_how *how)
{
	if (argc - optind < 1)
		return (out_usage("fetch needs a JOB"));
	if (!apply && (how->conflicts || how->into != NULL))
		return (out_usage("--conflicts and --into go with --apply"));
	if (apply && dir != NULL)
		return (out_usage("-o and --apply are two different things"));
	if (!apply && dir == NULL)
		return (out_usage("fetch needs -o DIR, a directory that does "
		    "not exist yet, or --apply"));
	return (0);
}

int
cmd_fetch(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "apply", no_argument, NULL, OPT_APPLY },
		{ "conflicts", no_argument, NULL, OPT_CONFLICTS },
		{ "into", required_argument, NULL, OPT_INTO }, COMMON_OPTS
	};
	static struct fetch f;
	struct apply_how how = { .json_fd = STDOUT_FILENO };
	struct session s = { 0 };
	const char *dir = NULL;
	int c, rc, apply = 0;

	while ((c = getopt_long(argc, argv, "o:qv", longs, NULL)) != -1) {
		if (c == 'o')
			dir = optarg;
		else if (c == OPT_APPLY)
			apply = 1;
		else if (c == OPT_CONFLICTS)
			how.conflicts = 1;
		else if (c == OPT_INTO)
			how.into = optarg;
		else if ((rc = common_option(&s, "fetch", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if ((rc = check_options(argc, dir, apply, &how)) != 0)
		return (rc);
	f.want = how.want = argv + optind + 1;
	f.nwant = how.nwant = argc - optind - 1;
	rc = fetch_job(&s, argv[optind], dir, &f, &how);
	session_close(&s);
	return (rc);
}
