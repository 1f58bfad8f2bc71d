/*
 * Runs programs, git above all, with an environment that redirects nothing.
 */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gitls.h"
#include "lib/io.h"

#define SILENCE_MS      60000   /* git says nothing: it waits for something */
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

static int
fold_cmp(const void *a, const void *b)
{
	return (strcasecmp(*(const char *const *)a, *(const char *const *)b));
}

int
pathset_sort(struct pathset *ps, int fold)
{
	int (*cmp)(const void *, const void *) = fold ? fold_cmp : path_cmp;
	size_t i, n = 0, sorted = !fold;
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
	qsort(ps->v, ps->n, sizeof(*ps->v), cmp);
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
	    "GIT_COMMON_DIR=",
	    "GIT_INDEX_FILE=", "GIT_OBJECT_DIRECTORY=", "GIT_EXTERNAL_DIFF=",
	    "GIT_PAGER=", "GIT_TRACE", "LC_ALL=", "GIT_LITERAL_PATHSPECS=" };
	static char lc[] = "LC_ALL=C", locks[] = "GIT_OPTIONAL_LOCKS=0";
	/*
	 * A partial clone would fetch what it lacks, by a command of its own.
	 */
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
