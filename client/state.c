/*
 * The client's own files; reads and writes only below its state directory.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "lib/io.h"
#include "lib/text.h"
#include "proto/receipt.h"
#include "state.h"

#define SYSTEM_SOCKET   RUNDIR "/errand.sock"
#define HOSTS_MAX       (1024 * 1024)

/* How much of a path is directories that were made, or found, before. */
static char *
known_dirs(char *path, const char *made)
{
	char *p = path + 1, *slash;

	for (; (slash = strchr(p, '/')) != NULL; p = slash + 1)
		if (strncmp(path, made, (size_t)(slash - path) + 1) != 0)
			break;
	return (p);
}

static int
make_dirs(char *path)
{
	static char made[PATH_MAX];     /* ends with a slash, if anything */
	char *p;

	for (p = known_dirs(path, made); (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(path, 0700) == -1 && errno != EEXIST) {
			*p = '/';
			return (-1);
		}
		*p = '/';
		memcpy(made, path, (size_t)(p - path) + 1);
		made[p - path + 1] = '\0';
	}
	return (0);
}

int
state_path(const char *rel, char *out)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (xdg != NULL && *xdg == '/')
		n = snprintf(out, PATH_MAX, "%s/errand/%s", xdg, rel);
	else if (home != NULL && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.local/state/errand/%s", home,
		    rel);
	else {
		errno = ENOENT;
		return (-1);
	}
	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	return (make_dirs(out));
}

/* "DIR/<hash of the parts>". */
static int
hashed_path(const char *dir, const void *a, size_t alen, const char *b,
    const char *c, char *out)
{
	crypto_generichash_state st;
	uint8_t h[16];
	char hex[33], rel[64];

	crypto_generichash_init(&st, NULL, 0, sizeof(h));
	crypto_generichash_update(&st, a, alen);
	crypto_generichash_update(&st, (const uint8_t *)b, strlen(b) + 1);
	crypto_generichash_update(&st, (const uint8_t *)c, strlen(c) + 1);
	crypto_generichash_final(&st, h, sizeof(h));
	text_hex(h, sizeof(h), hex);
	snprintf(rel, sizeof(rel), "%s/%s", dir, hex);
	return (state_path(rel, out));
}

int
state_tree_path(const uint8_t key[32], const char *tenant, const char *root,
    char *out)
{
	return (hashed_path("trees", key, 32, tenant, root, out));
}

int
state_apply_path(uint64_t dev, uint64_t ino, char *out)
{
	const uint64_t root[2] = { dev, ino };

	return (hashed_path("applies", root, sizeof(root), "", "", out));
}

/* Write a file that is one word, in one step. */
static int
word_set(const char *path, const char *word)
{
	char tmp[PATH_MAX + 16];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.%ld", path, (long)getpid());
	(void)unlink(tmp);
	if ((fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600)) == -1)
		return (-1);
	if (io_write(fd, word, strlen(word)) == -1) {
		close(fd);
		(void)unlink(tmp);
		return (-1);
	}
	close(fd);
	return (rename(tmp, path));
}

int
state_last_set(const char *root, const char *tenant, const char *job)
{
	char path[PATH_MAX];

	if (hashed_path("last", "", 0, tenant, root, path) == -1)
		return (-1);
	return (word_set(path, job));
}

int
state_last_get(const char *root, const char *tenant, char *job)
{
	char path[PATH_MAX];
	uint8_t *buf;
	size_t len;
	int rc = -1;

	if (hashed_path("last", "", 0, tenant, root, path) == -1 ||
	    io_file_read(AT_FDCWD, path, 256, &buf, &len) == -1)
		return (-1);
	if (text_job_id_valid((const char *)buf)) {
		memcpy(job, buf, JOB_ID_LEN + 1);
		rc = 0;
	}
	free(buf);
	return (rc);
}

int
state_tenant_set(const char *addr, const char *asked, const char *tenant)
{
	char path[PATH_MAX];

	if (hashed_path("tenants", "", 0, addr, asked, path) == -1)
		return (-1);
	return (word_set(path, tenant));
}

int
state_tenant_get(const char *addr, const char *asked, char *tenant)
{
	char path[PATH_MAX];
	uint8_t *buf;
	size_t len;
	int rc = -1;

	if (hashed_path("tenants", "", 0, addr, asked, path) == -1 ||
	    io_file_read(AT_FDCWD, path, TENANT_NAME_MAX, &buf, &len) == -1)
		return (-1);
	if (text_tenant_valid((const char *)buf)) {
		memcpy(tenant, buf, len + 1);
		rc = 0;
	}
	free(buf);
	return (rc);
}

/* One line per host: KEY ADDRESS, the address to the end of the line. */
static int
hosts_load(char **text)
{
	char path[PATH_MAX];
	size_t len;

	if (state_path("hosts", path) == -1)
		return (-1);
	return (io_file_read(AT_FDCWD, path, HOSTS_MAX, (uint8_t **)text,
	    &len));
}

/* Split the next line in place; 1, or 0 at the end. */
static int
hosts_next(char **pos, char **addr, uint8_t key[32])
{
	char *line;

	while ((line = strsep(pos, "\n")) != NULL) {
		if (strlen(line) < 66 || line[64] != ' ')
			continue;
		line[64] = '\0';
		if (text_unhex(line, key, 32) == -1)
			continue;
		*addr = line + 65;
		return (1);
	}
	return (0);
}

static int
hosts_append(const char *addr, const uint8_t key[32])
{
	char path[PATH_MAX], hex[65], line[PATH_MAX + 256];
	int fd, n, rc;

	if (strchr(addr, '\n') != NULL) {
		errno = EINVAL;
		return (-1);
	}
	if (state_path("hosts", path) == -1)
		return (-1);
	text_hex(key, 32, hex);
	n = snprintf(line, sizeof(line), "%s %s\n", hex, addr);
	if (n < 0 || n >= (int)sizeof(line))
		return (-1);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
	    O_CLOEXEC, 0600)) == -1)
		return (-1);
	rc = io_write(fd, line, (size_t)n);
	close(fd);
	return (rc);
}

/*
 * On a unix socket the kernel and the file system's permissions say who the
 * host is, and a daemon that was set up anew has a new key: the pin is what
 * receipts are verified with later, so a changed key is added, not refused.
 */
int
state_host_pin(const char *addr, const uint8_t key[32], char *why)
{
	char *text = NULL, *pos, *a;
	uint8_t k[32];
	int known = 0;

	if (hosts_load(&text) == 0) {
		pos = text;
		while (!known && hosts_next(&pos, &a, k))
			known = strcmp(a, addr) == 0 &&
			    memcmp(k, key, sizeof(k)) == 0;
		free(text);
	}
	if (known || hosts_append(addr, key) == 0)
		return (0);
	snprintf(why, LIMIT_TEXT, "cannot remember the host's key: %s",
	    strerror(errno));
	return (-1);
}

int
state_host_key(const uint8_t id[8], uint8_t key[32])
{
	char *text, *pos, *a;
	uint8_t kid[8];
	int found = -1;

	if (hosts_load(&text) == -1)
		return (-1);
	pos = text;
	while (found == -1 && hosts_next(&pos, &a, key)) {
		receipt_key_id(key, kid);
		if (memcmp(kid, id, sizeof(kid)) == 0)
			found = 0;
	}
	free(text);
	return (found);
}

int
state_private_addr(char *out, char *why)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char dir[PATH_MAX + 8];
	struct stat st;

	if (run != NULL && *run == '/' && strlen(run) < PATH_MAX - 32)
		snprintf(dir, sizeof(dir), "%s/errand", run);
	else
		snprintf(dir, sizeof(dir), "/tmp/errand-%ld", (long)getuid());
	snprintf(out, PATH_MAX + 8, "unix:%.4000s/errand.sock", dir);
	if (lstat(dir, &st) == 0 && (!S_ISDIR(st.st_mode) ||
	    st.st_uid != getuid() || (st.st_mode & 022) != 0)) {
		snprintf(why, LIMIT_TEXT, "%.200s is not a directory of yours "
		    "alone; set XDG_RUNTIME_DIR", dir);
		return (-1);
	}
	return (0);
}

int
state_host_addr(const char *on, char *out, char *why)
{
	const char *env = getenv("ERRAND_HOST");

	if (on == NULL && env != NULL && *env != '\0')
		on = env;
	if (on != NULL && strcmp(on, "local") == 0)
		return (1);
	if (on != NULL) {
		if (strncmp(on, "unix:", 5) != 0 || on[5] == '\0' ||
		    strlen(on) > PATH_MAX) {
			snprintf(why, LIMIT_TEXT, "%.200s: not the address of "
			    "a host; use unix:PATH, or local", on);
			return (-1);
		}
		memcpy(out, on, strlen(on) + 1);
		return (0);
	}
	if (access(SYSTEM_SOCKET, F_OK) != 0)
		return (1);
	snprintf(out, PATH_MAX + 8, "unix:%s", SYSTEM_SOCKET);
	return (0);
}
