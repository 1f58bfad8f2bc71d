/*
 * Saved caches: their names and marks, found and begun.  Touches caches/ of one
 * tenant's work directory.  What makes room and puts a new one in place is in
 * cachedir_keep.c.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "cachedir.h"
#include "cachedir_internal.h"
#include "crash.h"
#include "io.h"
#include "text.h"

/*
 * A mark is text: a line for each of "errand cache 1", the project, the name,
 * bytes, entries and the time it was saved; then the BLAKE2b of all that.
 */
#define MAGIC           "errand cache 1"
#define MARK_MAX        512
#define SUM_LEN         32
#define TRIES           8

int
cachedir_name_valid(const char *s)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(s);

	return (n > 0 && n <= CACHEDIR_NAME && strspn(s, set) == n &&
	    strchr("._-", s[0]) == NULL);
}

int
cachedir_project_valid(const char *s)
{
	size_t i, n = strlen(s);

	if (n > CACHEDIR_NAME || !text_utf8_valid(s, n))
		return (0);
	for (i = 0; i < n; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return (0);
	return (1);
}

void
cachedir_key(const char *project, const char *name, char *key)
{
	crypto_generichash_state st;
	uint8_t sum[CACHEDIR_KEY / 2];

	/* With the NUL, so that it is clear where one ends. */
	(void)crypto_generichash_init(&st, NULL, 0, sizeof(sum));
	(void)crypto_generichash_update(&st, (const uint8_t *)project,
	    strlen(project) + 1);
	(void)crypto_generichash_update(&st, (const uint8_t *)name,
	    strlen(name) + 1);
	(void)crypto_generichash_final(&st, sum, sizeof(sum));
	text_hex(sum, sizeof(sum), key);
}

int
cachedir_opendir(int dir, const char *name)
{
	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

int
cachedir_open(int dir, int make)
{
	if (make && mkdirat(dir, "caches", 0700) == -1 && errno != EEXIST)
		return (-1);
	return (cachedir_opendir(dir, "caches"));
}

/* The text before the sum; its length, or -1. */
static int
mark_text(const struct cachedir_mark *m, char *buf, size_t size)
{
	int n;

	n = snprintf(buf, size, MAGIC "\n%s\n%s\n%" PRIu64 "\n%" PRIu64 "\n%"
	    PRIu64 "\n", m->project, m->name, m->bytes, m->entries,
	    m->saved_us);
	return (n < 0 || (size_t)n >= size ? -1 : n);
}

static void
mark_sum(const char *text, size_t len, char *hex)
{
	uint8_t sum[SUM_LEN];

	(void)crypto_generichash(sum, sizeof(sum), (const uint8_t *)text, len,
	    NULL, 0);
	text_hex(sum, sizeof(sum), hex);
}

int
cachedir_mark_write(int dir, const struct cachedir_mark *m)
{
	char buf[MARK_MAX], hex[2 * SUM_LEN + 1];
	int fd, n, rc;

	if ((n = mark_text(m, buf, sizeof(buf) - sizeof(hex))) == -1) {
		errno = EINVAL;
		return (-1);
	}
	mark_sum(buf, (size_t)n, hex);
	memcpy(buf + n, hex, sizeof(hex) - 1);
	if ((fd = openat(dir, "mark", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600)) == -1)
		return (-1);
	rc = io_write(fd, buf, (size_t)n + sizeof(hex) - 1);
	io_close(&fd);
	return (rc);
}

static int
take_line(char **at, char *out, size_t size)
{
	char *line = strsep(at, "\n");

	if (line == NULL || *at == NULL || strlen(line) >= size)
		return (-1);
	memcpy(out, line, strlen(line) + 1);
	return (0);
}

static int
take_number(char **at, uint64_t *v)
{
	char text[24], *end;

	if (take_line(at, text, sizeof(text)) == -1 || text[0] < '0' ||
	    text[0] > '9')
		return (-1);
	errno = 0;
	*v = strtoull(text, &end, 10);
	return (*end != '\0' || errno != 0 || *v > INT64_MAX ? -1 : 0);
}

static int
mark_parse(char *text, struct cachedir_mark *m)
{
	char magic[sizeof(MAGIC)];

	if (take_line(&text, magic, sizeof(magic)) == -1 ||
	    strcmp(magic, MAGIC) != 0 ||
	    take_line(&text, m->project, sizeof(m->project)) == -1 ||
	    take_line(&text, m->name, sizeof(m->name)) == -1 ||
	    take_number(&text, &m->bytes) == -1 ||
	    take_number(&text, &m->entries) == -1 ||
	    take_number(&text, &m->saved_us) == -1 || *text != '\0')
		return (-1);
	return (cachedir_project_valid(m->project) &&
	    cachedir_name_valid(m->name) ? 0 : -1);
}

int
cachedir_mark_read(int dir, struct cachedir_mark *m, uint64_t *used_us)
{
	char buf[MARK_MAX + 1], hex[2 * SUM_LEN + 1];
	struct stat st;
	ssize_t n = -1;
	size_t len;
	int fd;

	memset(m, 0, sizeof(*m));
	*used_us = 0;
	if ((fd = openat(dir, "mark", O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC)) == -1)
		return (-1);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, buf, MARK_MAX, 0);
	io_close(&fd);
	if (n < (ssize_t)sizeof(hex) - 1)
		goto bad;
	len = (size_t)n - (sizeof(hex) - 1);
	buf[n] = '\0';
	mark_sum(buf, len, hex);
	if (memcmp(buf + len, hex, sizeof(hex) - 1) != 0)
		goto bad;
	buf[len] = '\0';
	if (strlen(buf) != len || mark_parse(buf, m) == -1)
		goto bad;
	*used_us = (uint64_t)st.st_mtim.tv_sec * 1000000 +
	    (uint64_t)st.st_mtim.tv_nsec / 1000;
	return (0);

bad:
	memset(m, 0, sizeof(*m));
	errno = ESTALE;
	return (-1);
}

/* Is the directory still the one of that name? */
static int
is_named(int caches, const char *name, int dir)
{
	struct stat a, b;

	return (fstatat(caches, name, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(dir, &b) == 0 && a.st_ino == b.st_ino &&
	    a.st_dev == b.st_dev);
}

/* It may be replaced and removed while we come to it. */
static int
find_locked(int caches, const char *key)
{
	int i, dir;

	for (i = 0; i < TRIES; i++) {
		if ((dir = cachedir_opendir(caches, key)) == -1) {
			if (errno != ENOENT)
				errno = ESTALE;
			return (-1);
		}
		if (flock(dir, LOCK_SH | LOCK_NB) == 0 &&
		    is_named(caches, key, dir))
			return (dir);
		io_close(&dir);
	}
	errno = ENOENT;
	return (-1);
}

int
cachedir_find(int caches, const char *project, const char *name,
    struct cachedir_mark *m)
{
	char key[CACHEDIR_KEY + 1];
	struct stat st;
	uint64_t used;
	int dir;

	cachedir_key(project, name, key);
	memset(m, 0, sizeof(*m));
	if ((dir = find_locked(caches, key)) == -1)
		return (-1);
	if (cachedir_mark_read(dir, m, &used) == -1 ||
	    strcmp(m->project, project) != 0 || strcmp(m->name, name) != 0 ||
	    fstatat(dir, "tree", &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISDIR(st.st_mode)) {
		io_close(&dir);
		memset(m, 0, sizeof(*m));
		errno = ESTALE;
		return (-1);
	}
	(void)utimensat(dir, "mark", NULL, AT_SYMLINK_NOFOLLOW);
	return (dir);
}

int
cachedir_begin(int caches, const char *project, const char *name,
    const char *id, struct cachedir_new *n)
{
	n->caches = caches;
	n->dir = -1;
	n->bytes = 0;
	cachedir_key(project, name, n->key);
	(void)snprintf(n->tmp, sizeof(n->tmp), ".%s.%s", n->key, id);
	if (mkdirat(caches, n->tmp, 0700) == -1)
		goto err0;
	if ((n->dir = cachedir_opendir(caches, n->tmp)) == -1 ||
	    flock(n->dir, LOCK_EX | LOCK_NB) == -1 ||
	    mkdirat(n->dir, "tree", 0755) == -1)
		goto err1;
	CRASH_POINT("cache-begun");
	return (0);

err1:
	cachedir_abort(n);
	return (-1);
err0:
	n->tmp[0] = '\0';
	return (-1);
}

int
cachedir_seal(struct cachedir_new *n, const struct cachedir_mark *m)
{
	n->bytes = m->bytes;
	if (cachedir_mark_write(n->dir, m) == -1)
		return (-1);
	CRASH_POINT("cache-sealed");
	return (0);
}

int
cachedir_flush(int caches)
{
	if (!MUTANT("no-cache-flush") && syncfs(caches) == -1)
		return (-1);
	CRASH_POINT("cache-flushed");
	return (0);
}
