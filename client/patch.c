/*
 * errand diff --patch.  Writes below a directory that it makes in TMPDIR, by
 * descriptors and without following links; runs git there; prints.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "gitls.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"
#include "patch.h"

#define FILE_MAX        (UINT64_C(16) * 1024 * 1024)    /* shown as text */
#define BATCH_BYTES     (UINT64_C(64) * 1024 * 1024)
#define BATCH_PATHS     2000

struct patch {
	struct objget *g;
	struct base *base;
	char dir[PATH_MAX];
	int side[2];            /* directories "a" and "b" in it, or -1 */
	pid_t cleaner;          /* removes the directory when we are gone */
	int alive;              /* it waits for the end of this pipe */
	uint64_t bytes;
	size_t paths;
	int color;
};

static const char *const sides[2] = { "a", "b" };

static int
make_sides(struct patch *p)
{
	char path[PATH_MAX];
	int i;

	for (i = 0; i < 2; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", p->dir, sides[i]) >=
		    (int)sizeof(path) || mkdir(path, 0700) == -1)
			return (-1);
		p->side[i] = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		if (p->side[i] == -1)
			return (-1);
	}
	p->bytes = p->paths = 0;
	return (0);
}

static void
remove_sides(struct patch *p)
{
	int i, fd;

	fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (i = 0; i < 2; i++) {
		io_close(&p->side[i]);
		if (fd != -1)
			(void)io_remove_tree(fd, sides[i]);
	}
	io_close(&fd);
}

/* What the cleaner does: it has no descriptor but the pipe, as 0, and heeds no
 * signal that ends us. */
static void __attribute__((noreturn))
clean(struct patch *p, int pipe)
{
	static const int deaf[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	char end;
	size_t i;

	for (i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++)
		(void)signal(deaf[i], SIG_IGN);
	(void)setsid();
	if (dup2(pipe, 0) == -1 || close_range(1, ~0U, 0) == -1)
		_exit(1);
	while (read(0, &end, 1) == -1 && errno == EINTR)
		continue;
	p->side[0] = p->side[1] = -1;
	remove_sides(p);
	(void)rmdir(p->dir);
	_exit(0);
}

/*
 * A reader that goes away, Ctrl-C or a kill may end us at any place, and the
 * directory holds what was sent and made.  So another process removes it.
 */
static int
cleaner_start(struct patch *p)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) == -1)
		return (-1);
	if ((p->cleaner = fork()) == 0)
		clean(p, pair[0]);
	close(pair[0]);
	if (p->cleaner == -1) {
		close(pair[1]);
		return (-1);
	}
	p->alive = pair[1];
	return (0);
}

static void
cleaner_end(struct patch *p)
{
	io_close(&p->side[0]);
	io_close(&p->side[1]);
	io_close(&p->alive);
	while (waitpid(p->cleaner, NULL, 0) == -1 && errno == EINTR)
		continue;
}

/* Nothing of the user's or a repository's configuration is to be found. */
static int
git_alone(const char *dir)
{
	static const char *const drop[] = { "GIT_CONFIG_COUNT",
	    "GIT_CONFIG_PARAMETERS", "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE" };
	char up[PATH_MAX];
	size_t i;

	for (i = 0; i < sizeof(drop) / sizeof(drop[0]); i++)
		(void)unsetenv(drop[i]);
	snprintf(up, sizeof(up), "%s", dir);
	*strrchr(up, '/') = '\0';
	return (setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1) == -1 ||
	    setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1) == -1 ||
	    setenv("GIT_CONFIG_NOSYSTEM", "1", 1) == -1 ||
	    setenv("GIT_ATTR_NOSYSTEM", "1", 1) == -1 ||
	    setenv("GIT_CEILING_DIRECTORIES", *up == '\0' ? "/" : up, 1) ==
	    -1 ? -1 : 0);
}

struct patch *
patch_new(struct objget *g, const struct obj_ref *root)
{
	const char *tmp = getenv("TMPDIR"), *no = getenv("NO_COLOR");
	char templ[PATH_MAX];
	struct patch *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return (NULL);
	p->g = g;
	p->side[0] = p->side[1] = p->alive = -1;
	p->cleaner = -1;
	p->color = isatty(STDOUT_FILENO) && (no == NULL || *no == '\0');
	if (snprintf(templ, sizeof(templ), "%s/errand-diff.XXXXXX", tmp !=
	    NULL && *tmp == '/' ? tmp : "/tmp") >= (int)sizeof(templ) ||
	    mkdtemp(templ) == NULL || realpath(templ, p->dir) == NULL ||
	    cleaner_start(p) == -1 || make_sides(p) == -1 ||
	    git_alone(p->dir) == -1 ||
	    (p->base = base_new(objget_fetch, g, root)) == NULL) {
		out_warn("%s: %s", templ, strerror(errno));
		patch_free(p);
		return (NULL);
	}
	return (p);
}

void
patch_free(struct patch *p)
{
	if (p == NULL)
		return;
	if (p->cleaner != -1)
		cleaner_end(p);
	else if (p->dir[0] != '\0')
		(void)rmdir(p->dir);
	base_free(p->base);
	free(p);
}

/*
 * The directory that holds ${path}, made when missing; ${base} is the last
 * name.  A descriptor, or -1.
 */
static int
parent(int top, const char *path, const char **base)
{
	char name[TREE_NAME_MAX + 1];
	const char *slash;
	int fd, next;

	fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (; fd != -1 && (slash = strchr(path, '/')) != NULL;
	    path = slash + 1) {
		if ((size_t)(slash - path) >= sizeof(name)) {
			errno = ENAMETOOLONG;
			io_close(&fd);
			break;
		}
		memcpy(name, path, (size_t)(slash - path));
		name[slash - path] = '\0';
		if (mkdirat(fd, name, 0700) == -1 && errno != EEXIST) {
			io_close(&fd);
			break;
		}
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		io_close(&fd);
		fd = next;
	}
	*base = path;
	return (fd);
}

static int
write_piece(void *cookie, const uint8_t *buf, uint64_t len)
{
	static const uint8_t zeros[65536];
	const int *fd = cookie;
	size_t n;

	for (; len > 0; len -= n) {
		n = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);
		if (buf != NULL)
			n = (size_t)len;
		if (io_write(*fd, buf != NULL ? buf : zeros, n) == -1)
			return (-1);
	}
	return (0);
}

static int
put_file(struct patch *p, int dir, const char *name, const struct merge_side *s)
{
	int fd, rc;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	rc = content_read(&s->ref, objget_fetch, p->g, write_piece, &fd);
	if (rc == 0)
		rc = fchmod(fd, (s->mode & 0100) != 0 ? 0700 : 0600);
	close(fd);
	return (rc == 0 ? 0 : -1);
}

static int
put_link(int dir, const char *name, const struct merge_side *s)
{
	char target[TREE_TARGET_MAX + 1];

	memcpy(target, s->target, s->target_len);
	target[s->target_len] = '\0';
	return (symlinkat(target, dir, name));
}

/* One side of a path; directories are nothing to git. */
static int
put(struct patch *p, int side, const char *path, const struct merge_side *s)
{
	const char *base;
	int dir, rc, e;

	if (s->kind != TREE_FILE && s->kind != TREE_LINK)
		return (0);
	if ((dir = parent(p->side[side], path, &base)) == -1)
		return (-1);
	rc = s->kind == TREE_LINK ? put_link(dir, base, s) :
	    put_file(p, dir, base, s);
	e = errno;
	io_close(&dir);
	errno = e;
	return (rc);
}

/* How a line of a patch is shown on a terminal. */
static const char *
color_of(const char *line, size_t len)
{
	switch (len > 0 ? line[0] : ' ') {
	case '+':
		return ("\033[32m");
	case '-':
		return ("\033[31m");
	case '@':
		return ("\033[36m");
	case ' ':
		return ("");
	default:
		return ("\033[1m");
	}
}

/* To a terminal, without what could command it. */
static void
show_line(const struct patch *p, const char *line, size_t len)
{
	const char *c = p->color ? color_of(line, len) : "";
	size_t i, from;

	fputs(c, stdout);
	for (i = from = 0; i <= len; i++)
		if (i == len || line[i] == '\t') {
			if (i > from)
				fputs(out_escape(line + from, i - from),
				    stdout);
			if (i < len)
				putchar('\t');
			from = i + 1;
		}
	printf("%s\n", *c != '\0' ? "\033[m" : "");
}

static int
show(const struct patch *p, const char *text, size_t len)
{
	const char *end = text + len, *nl;

	if (!isatty(STDOUT_FILENO))
		return (out_bytes(text, len));
	for (; text < end; text = nl + 1) {
		if ((nl = memchr(text, '\n', (size_t)(end - text))) == NULL)
			nl = end;
		show_line(p, text, (size_t)(nl - text));
	}
	return (out_flush());
}

/* Have git compare what is there, and begin anew. */
static int
flush(struct patch *p)
{
	/* Binary content is for git apply; on a terminal it says nothing. */
	const char *const argv[] = { GIT_SAFE, "--no-pager", "diff",
	    "--no-index", "--no-ext-diff", "--no-textconv", "--no-color",
	    "--no-renames", "--no-prefix", "--full-index",
	    isatty(STDOUT_FILENO) ? "--patch" : "--binary", "a", "b", NULL };
	char *out = NULL;
	size_t len;
	int rc;

	if (p->paths == 0)
		return (0);
	rc = gitls_output(argv, p->dir, NULL, 0, &out, &len);
	if (rc != 0 && rc != 1) {
		out_warn("git diff failed%s%s", rc == -1 ? ": " : "", rc == -1 ?
		    strerror(errno) : "");
		free(out);
		return (-1);
	}
	rc = len > 0 ? show(p, out, len) : 0;
	free(out);
	remove_sides(p);
	if (rc == 0 && make_sides(p) == -1) {
		out_warn("%s: %s", p->dir, strerror(errno));
		rc = -1;
	}
	return (rc);
}

int
patch_finish(struct patch *p)
{
	return (flush(p));
}

static int
fault(const struct patch *p, const char *path)
{
	if (objget_err(p->g)->code != ERR_NONE)
		out_err(objget_err(p->g));
	else
		out_warn("%s: %s", path, strerror(errno));
	return (-1);
}

static void
new_side(const struct change *c, struct merge_side *s)
{
	memset(s, 0, sizeof(*s));
	s->kind = c->kind;
	s->mode = c->mode;
	s->ref = c->ref;
	s->target = c->target;
	s->target_len = c->target_len;
}

static int
add(struct patch *p, const char *path, const struct change *c)
{
	struct merge_side old, new;
	uint64_t size;
	int had;

	if ((had = base_find(p->base, path, c->path_len, &old)) == -1)
		return (fault(p, path));
	new_side(c, &new);
	size = had ? old.size : 0;
	if (size > FILE_MAX || c->size > FILE_MAX) {
		out_warn("%s: %s, which is too large to be shown", path,
		    text_bytes(c->size > size ? c->size : size));
		return (0);
	}
	if ((had && put(p, 0, path, &old) == -1) ||
	    put(p, 1, path, &new) == -1)
		return (fault(p, path));
	p->bytes += size + c->size;
	p->paths++;
	return (p->bytes > BATCH_BYTES || p->paths > BATCH_PATHS ? flush(p) :
	    0);
}

int
patch_add(struct patch *p, const struct change *c)
{
	char *path;
	int rc;

	if ((path = strndup((const char *)c->path, c->path_len)) == NULL)
		return (-1);
	rc = add(p, path, c);
	free(path);
	return (rc);
}
