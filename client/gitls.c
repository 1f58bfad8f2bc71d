/*
 * Runs git ls-files and git check-ignore; reads nothing else.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gitls.h"
#include "lib/io.h"
#include "proto/limits.h"

#define SILENCE_MS      60000   /* git says nothing: it waits for something */
#define GITLS_NEST_MAX  32      /* repositories inside repositories */
#define GITLS_OUT_MAX   (1024UL * 1024 * 1024)

extern char **environ;

void
pathset_done(struct pathset *ps)
{
	free(ps->buf);
	free(ps->v);
	memset(ps, 0, sizeof(*ps));
}

int
pathset_add(struct pathset *ps, const char *p, size_t len)
{
	size_t cap = ps->cap;
	char *buf;

	while (cap - ps->len < len + 1) {
		cap = cap == 0 ? 65536 : cap * 2;
		if (cap > 2 * GITLS_OUT_MAX) {
			errno = E2BIG;
			return (-1);
		}
	}
	if (cap != ps->cap) {
		if ((buf = realloc(ps->buf, cap)) == NULL)
			return (-1);
		ps->buf = buf;
		ps->cap = cap;
	}
	memcpy(ps->buf + ps->len, p, len);
	ps->buf[ps->len + len] = '\0';
	ps->len += len + 1;
	ps->n++;
	return (0);
}

static int
path_cmp(const void *a, const void *b)
{
	return (strcmp(*(const char *const *)a, *(const char *const *)b));
}

int
pathset_sort(struct pathset *ps)
{
	size_t i, n = 0, sorted = 1;
	char *p = ps->buf;

	if ((ps->v = calloc(ps->n + 1, sizeof(*ps->v))) == NULL)
		return (-1);
	for (i = 0; i < ps->n; i++, p += strlen(p) + 1) {
		ps->v[i] = p;
		if (i > 0 && strcmp(ps->v[i - 1], p) >= 0)
			sorted = 0;
	}
	if (sorted)
		return (0);
	qsort(ps->v, ps->n, sizeof(*ps->v), path_cmp);
	for (i = 0; i < ps->n; i++)
		if (n == 0 || strcmp(ps->v[n - 1], ps->v[i]) != 0)
			ps->v[n++] = ps->v[i];
	ps->n = n;
	return (0);
}

/* The environment for git: the caller's, less what would redirect it. */
static char **
git_env(void)
{
	static const char *const drop[] = { "GIT_NO_LAZY_FETCH=",
	    "GIT_ALLOW_PROTOCOL=", "GIT_DIR=", "GIT_WORK_TREE=",
	    "GIT_INDEX_FILE=", "GIT_OBJECT_DIRECTORY=", "GIT_EXTERNAL_DIFF=",
	    "GIT_PAGER=", "GIT_TRACE", "LC_ALL=", "GIT_LITERAL_PATHSPECS=" };
	static char lc[] = "LC_ALL=C", locks[] = "GIT_OPTIONAL_LOCKS=0";
	/* A partial clone would fetch what it lacks, by a command of its own. */
	static char lazy[] = "GIT_NO_LAZY_FETCH=1";
	static char proto[] = "GIT_ALLOW_PROTOCOL=none";
	char **env;
	size_t i, j, n = 0, k = 0;

	while (environ[n] != NULL)
		n++;
	if ((env = calloc(n + 5, sizeof(*env))) == NULL)
		return (NULL);
	for (i = 0; i < n; i++) {
		for (j = 0; j < sizeof(drop) / sizeof(drop[0]); j++)
			if (strncmp(environ[i], drop[j], strlen(drop[j])) == 0)
				break;
		if (j == sizeof(drop) / sizeof(drop[0]))
			env[k++] = environ[i];
	}
	env[k++] = lc;
	env[k++] = lazy;
	env[k++] = proto;
	env[k++] = locks;
	return (env);
}

static int
spawn(const char *const *argv, const char *dir, const int in[2],
    const int out[2], pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	char **env;
	int rc;

	if ((env = git_env()) == NULL)
		return (-1);
	if ((rc = posix_spawn_file_actions_init(&fa)) != 0)
		goto err0;
	if ((rc = posix_spawn_file_actions_adddup2(&fa, in[0], 0)) != 0 ||
	    (rc = posix_spawn_file_actions_adddup2(&fa, out[1], 1)) != 0 ||
	    (rc = posix_spawn_file_actions_addopen(&fa, 2, "/dev/null",
	    O_WRONLY, 0)) != 0 ||
	    (rc = posix_spawn_file_actions_addchdir_np(&fa, dir)) != 0)
		goto err1;
	rc = posix_spawnp(pid, argv[0], &fa, NULL,
	    (char **)(uintptr_t)argv, env);
err1:
	posix_spawn_file_actions_destroy(&fa);
err0:
	free(env);
	errno = rc;
	return (rc == 0 ? 0 : -1);
}

/* Feed ${in} and collect what comes back, at the same time. */
static int
converse(int wfd, int rfd, const char *in, size_t inlen, char **out,
    size_t *outlen)
{
	struct pollfd pfd[2] = { { rfd, POLLIN, 0 }, { wfd, POLLOUT, 0 } };
	size_t cap = 0;
	char *p;
	ssize_t n = -1;
	int rc;

	for (;;) {
		if (inlen == 0 && pfd[1].fd != -1) {
			close(pfd[1].fd);
			pfd[1].fd = -1;
		}
		if ((rc = poll(pfd, 2, SILENCE_MS)) == 0) {
			errno = ETIMEDOUT;
			return (-1);
		}
		if (rc == -1 && errno != EINTR)
			return (-1);
		if (pfd[1].fd != -1 && (pfd[1].revents & (POLLOUT | POLLERR))) {
			n = write(pfd[1].fd, in, inlen);
			if (n == -1 && errno != EAGAIN && errno != EINTR)
				inlen = 0;
			else if (n > 0) {
				in += n;
				inlen -= (size_t)n;
			}
		}
		if ((pfd[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
			continue;
		if (cap - *outlen < 65536) {
			cap = cap == 0 ? 256 * 1024 : cap * 2;
			if (cap > GITLS_OUT_MAX ||
			    (p = realloc(*out, cap)) == NULL)
				break;
			*out = p;
		}
		n = read(rfd, *out + *outlen, cap - *outlen);
		if (n > 0)
			*outlen += (size_t)n;
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	io_close(&pfd[1].fd);
	return (n == 0 ? 0 : -1);
}

int
gitls_output(const char *const *argv, const char *dir, const char *in,
    size_t inlen, char **out, size_t *outlen)
{
	int ip[2], op[2], status, rc;
	struct sigaction ign = { .sa_handler = SIG_IGN }, old;
	pid_t pid;

	*out = NULL;
	*outlen = 0;
	if (pipe2(ip, O_CLOEXEC) == -1)
		goto err0;
	if (pipe2(op, O_CLOEXEC) == -1)
		goto err1;
	if (spawn(argv, dir, ip, op, &pid) == -1)
		goto err2;
	close(ip[0]);
	close(op[1]);
	sigaction(SIGPIPE, &ign, &old);
	(void)fcntl(ip[1], F_SETFL, O_NONBLOCK);
	rc = converse(ip[1], op[0], in, inlen, out, outlen);
	sigaction(SIGPIPE, &old, NULL);
	if (rc == -1)
		(void)kill(pid, SIGKILL);
	close(op[0]);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			goto err3;
	if (rc == -1 || !WIFEXITED(status))
		goto err3;
	return (WEXITSTATUS(status));

err3:
	free(*out);
	*out = NULL;
	errno = EIO;
	return (-1);
err2:
	io_close(&op[0]);
	io_close(&op[1]);
err1:
	io_close(&ip[0]);
	io_close(&ip[1]);
err0:
	return (-1);
}

struct gitls {
	const char *root;
	struct pathset *files;  /* result */
	struct pathset empty;   /* candidates: empty directories */
	char *why;
};

static int list_repo(struct gitls *, const char *, int);

/* prefix/path, or path; at most PATH_MAX. */
static int
join(char *out, const char *prefix, const char *path)
{
	int n;

	n = snprintf(out, PATH_MAX, "%s%s%s", prefix, *prefix != '\0' ? "/" :
	    "", path);
	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	return (0);
}

/* Is there a repository in root/rel? */
static int
is_repo(const struct gitls *g, const char *rel)
{
	char p[PATH_MAX];

	if (snprintf(p, sizeof(p), "%s/%s/.git", g->root, rel) >=
	    (int)sizeof(p))
		return (0);
	return (access(p, F_OK) == 0);
}

static int
is_dir(const struct gitls *g, const char *rel)
{
	char p[PATH_MAX];
	struct stat st;

	if (snprintf(p, sizeof(p), "%s/%s", g->root, rel) >= (int)sizeof(p))
		return (0);
	return (lstat(p, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Collect directories below root/rel that have nothing in them. */
static int
find_empty(struct gitls *g, const char *rel, int depth)
{
	char p[PATH_MAX];
	const struct dirent *de;
	int some = 0, rc = 0;
	DIR *d;

	if (depth > 1000 || snprintf(p, sizeof(p), "%s/%s", g->root, rel) >=
	    (int)sizeof(p) || (d = opendir(p)) == NULL)
		return (0);
	while (rc == 0 && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		some = 1;
		if (de->d_type != DT_DIR || strcasecmp(de->d_name, ".git") == 0)
			continue;
		if (join(p, rel, de->d_name) == 0)
			rc = find_empty(g, p, depth + 1);
	}
	closedir(d);
	if (rc == 0 && !some)
		rc = pathset_add(&g->empty, rel, strlen(rel));
	return (rc);
}

/* One path of ls-files -o -c: a file, or a directory that is a repository. */
static int
take_path(struct gitls *g, const char *prefix, char *path, int nest)
{
	char full[PATH_MAX];
	size_t len = strlen(path);
	int slash = len > 0 && path[len - 1] == '/';

	if (slash)
		path[len - 1] = '\0';
	if (join(full, prefix, path) == -1)
		return (0);
	if (slash || (is_repo(g, full) && is_dir(g, full)))
		return (is_repo(g, full) ? list_repo(g, full, nest + 1) : 0);
	return (pathset_add(g->files, full, strlen(full)));
}

/* The untracked directories: where empty ones may be. */
static int
take_dirs(struct gitls *g, const char *dir, const char *prefix)
{
	const char *const argv[] = { GIT_SAFE, "ls-files", "-z", "-o",
	    "--directory", "--exclude-standard", NULL };
	char *out, *p, full[PATH_MAX];
	size_t len, n;
	int rc;

	if ((rc = gitls_output(argv, dir, NULL, 0, &out, &len)) != 0)
		return (-1);
	for (p = out; rc == 0 && p < out + len; p += n + 1) {
		n = strnlen(p, (size_t)(out + len - p));
		if (n < 2 || p[n - 1] != '/')
			continue;
		p[n - 1] = '\0';
		if (join(full, prefix, p) == 0 && !is_repo(g, full))
			rc = find_empty(g, full, 0);
	}
	free(out);
	return (rc);
}

static int
list_repo(struct gitls *g, const char *prefix, int nest)
{
	const char *const argv[] = { GIT_SAFE, "ls-files", "-z", "-c", "-o",
	    "--exclude-standard", NULL };
	char dir[PATH_MAX], *out, *p;
	size_t len, n;
	int rc;

	if (nest > GITLS_NEST_MAX || snprintf(dir, sizeof(dir), "%s/%s",
	    g->root, prefix) >= (int)sizeof(dir)) {
		errno = ELOOP;
		return (-1);
	}
	rc = gitls_output(argv, dir, NULL, 0, &out, &len);
	if (rc != 0) {
		snprintf(g->why, LIMIT_TEXT, rc == -1 ? "cannot run git: %s" :
		    "git ls-files failed in %s; run it there to see why "
		    "(an unsafe owner is mended with git config safe.directory)",
		    rc == -1 ? strerror(errno) : dir);
		free(out);
		return (-1);
	}
	for (p = out; rc == 0 && p < out + len; p += n + 1) {
		n = strnlen(p, (size_t)(out + len - p));
		if (n > 0)
			rc = take_path(g, prefix, p, nest);
		if (rc == -1)
			break;
	}
	free(out);
	return (rc == 0 ? take_dirs(g, dir, prefix) : -1);
}

/* Of the empty directories, keep those that no rule excludes. */
static int
keep_empty(struct gitls *g)
{
	const char *const argv[] = { GIT_SAFE, "check-ignore", "-z", "--stdin",
	    NULL };
	struct pathset ignored = { 0 };
	char *out, *p, buf[PATH_MAX + 1];
	size_t len, n, i;
	int rc;

	if (g->empty.n == 0)
		return (0);
	rc = gitls_output(argv, g->root, g->empty.buf, g->empty.len, &out,
	    &len);
	if (rc == -1)
		return (-1);
	for (p = out; p != NULL && p < out + len; p += n + 1) {
		n = strnlen(p, (size_t)(out + len - p));
		if (pathset_add(&ignored, p, n) == -1)
			goto err0;
	}
	if (pathset_sort(&ignored) == -1 || pathset_sort(&g->empty) == -1)
		goto err0;
	for (i = 0; i < g->empty.n; i++) {
		if (bsearch(&g->empty.v[i], ignored.v, ignored.n,
		    sizeof(*ignored.v), path_cmp) != NULL)
			continue;
		n = (size_t)snprintf(buf, sizeof(buf), "%s/", g->empty.v[i]);
		if (n < sizeof(buf) && pathset_add(g->files, buf, n) == -1)
			goto err0;
	}
	pathset_done(&ignored);
	free(out);
	return (0);

err0:
	pathset_done(&ignored);
	free(out);
	return (-1);
}

int
gitls(const char *root, struct pathset *ps, char *why)
{
	struct gitls g = { .root = root, .files = ps, .why = why };
	int rc;

	why[0] = '\0';
	memset(ps, 0, sizeof(*ps));
	rc = list_repo(&g, "", 0);
	if (rc == 0)
		rc = keep_empty(&g);
	if (rc == 0)
		rc = pathset_sort(ps);
	pathset_done(&g.empty);
	if (rc == -1) {
		if (why[0] == '\0')
			snprintf(why, LIMIT_TEXT, "cannot list the Git work "
			    "tree: %s", strerror(errno));
		pathset_done(ps);
	}
	return (rc);
}
