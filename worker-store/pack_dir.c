/*
 * The directory of the pack files: which there are, and their beginnings and
 * ends.  Makes and removes files below packs/; of their bytes it writes none
 * but their headers.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack_internal.h"
#include "stint.h"

#define SHRINK          (16U * 1024 * 1024)     /* freed at a time */

void
pack_name(uint32_t number, char *name)
{
	(void)snprintf(name, PACK_NAME_LEN, "%08" PRIu32 ".pack",
	    number % 100000000);
}

/* The number in a file's name, 0 if it is not a pack's. */
static uint32_t
number_of(const char *name)
{
	char want[PACK_NAME_LEN];
	unsigned long n;

	n = strtoul(name, NULL, 10);
	if (n == 0 || n > 99999999)
		return (0);
	pack_name((uint32_t)n, want);
	return (strcmp(name, want) == 0 ? (uint32_t)n : 0);
}

int
pack_file_open(struct packs *ps, uint32_t number, int flags)
{
	char name[PACK_NAME_LEN];

	pack_name(number, name);
	return (openat(ps->dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

/* Call ${fn} for each pack there is, in no order.  0, or -1 after logging. */
static int
each(struct packs *ps, int (*fn)(void *, uint32_t), void *cookie)
{
	struct dirent *de;
	uint32_t n;
	DIR *dir;
	int fd;

	if ((fd = openat(ps->dirfd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		goto err0;
	if ((dir = fdopendir(fd)) == NULL)
		goto err1;
	while ((errno = 0, de = readdir(dir)) != NULL)
		if ((n = number_of(de->d_name)) != 0 && fn(cookie, n) == -1)
			break;
	if (errno != 0)
		goto err2;
	closedir(dir);
	return (0);

err2:
	closedir(dir);
	goto err0;
err1:
	io_close(&fd);
err0:
	log_warn("directory packs cannot be read");
	return (-1);
}

static int
greatest(void *cookie, uint32_t number)
{
	uint32_t *last = cookie;

	if (number > *last)
		*last = number;
	return (0);
}

int
packs_last(struct packs *ps, uint32_t *last)
{
	*last = 0;
	return (each(ps, greatest, last));
}

struct listing {
	uint32_t *v;
	size_t n, cap;
};

static int
collect(void *cookie, uint32_t number)
{
	struct listing *l = cookie;
	void *p;

	if ((p = size_grow(l->v, &l->cap, l->n + 1, sizeof(*l->v))) == NULL)
		return (-1);
	l->v = p;
	l->v[l->n++] = number;
	return (0);
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

int
packs_list(struct packs *ps, uint32_t **numbers, size_t *count)
{
	struct listing l = { 0 };

	*numbers = NULL;
	*count = 0;
	if (each(ps, collect, &l) == -1) {
		free(l.v);
		return (-1);
	}
	if (l.n > 0)
		qsort(l.v, l.n, sizeof(*l.v), by_number);
	*numbers = l.v;
	*count = l.n;
	return (0);
}

/* Check the first bytes of a pack.  0, or -1 after logging. */
int
pack_head_read(struct packs *ps, int fd, uint32_t number)
{
	uint8_t head[PACK_HEAD];

	if (io_pread(fd, head, sizeof(head), 0) == -1) {
		log_warn("pack %" PRIu32 ": its header cannot be read",
		    number);
		return (-1);
	}
	if (pack_head_check(head, number, ps->key) == 0)
		return (0);
	if (errno == EPROTONOSUPPORT)
		log_warnx("pack %" PRIu32 " was written by a newer version; "
		    "install that version again", number);
	else
		log_warnx("pack %" PRIu32 ": its header is damaged, or was "
		    "made with another key", number);
	return (-1);
}

int
packs_head_mend(struct packs *ps, uint32_t number)
{
	uint8_t head[PACK_HEAD];
	int fd;

	pack_head_encode(number, ps->key, head);
	if ((fd = pack_file_open(ps, number, O_WRONLY)) == -1)
		goto err0;
	ps->flushes++;
	if (io_pwrite(fd, head, sizeof(head), 0) == -1 || fdatasync(fd) == -1)
		goto err1;
	io_close(&fd);
	return (0);

err1:
	io_close(&fd);
err0:
	log_warn("pack %" PRIu32 ": its header cannot be mended", number);
	return (-1);
}

/* Compare a file's length with what the index counts on. */
int
pack_length_check(int fd, uint32_t number, uint64_t want, uint64_t *len)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		log_warn("pack %" PRIu32, number);
		return (-1);
	}
	*len = (uint64_t)st.st_size;
	if (*len >= want)
		return (0);
	log_warnx("pack %" PRIu32 " has %" PRIu64 " bytes and should have %"
	    PRIu64 ": what was in the rest is lost", number, *len, want);
	return (-1);
}

/*
 * Gone, or on a bad place of the disk, it does not keep the rest from being
 * served.  Whatever else it is, can be put right, and nothing is lost.
 */
int
pack_unopened(uint32_t number)
{
	const int gone = errno == ENOENT || errno == EIO;

	if (gone)
		log_warn("pack %" PRIu32 " cannot be opened: the objects in "
		    "it are lost, unless it is put back", number);
	else if (errno == ELOOP)
		log_warnx("pack %" PRIu32 " is a symbolic link: put the file "
		    "itself in its place", number);
	else
		log_warn("pack %" PRIu32 " cannot be opened (it must belong "
		    "to user %u)", number, (unsigned int)geteuid());
	return (gone ? 1 : -1);
}

int
packs_check(struct packs *ps, uint32_t number, uint64_t want)
{
	uint64_t len;
	int fd, rc;

	if ((fd = pack_file_open(ps, number, O_RDONLY)) == -1)
		return (pack_unopened(number));
	rc = pack_length_check(fd, number, want, &len) == -1;
	if (pack_head_read(ps, fd, number) == -1)
		rc = errno == EPROTONOSUPPORT ? -1 : 1;
	io_close(&fd);
	return (rc);
}

int
packs_prune(struct packs *ps, uint32_t open)
{
	char name[PACK_NAME_LEN];
	struct stat st;
	uint32_t last;

	if (packs_last(ps, &last) == -1)
		return (-1);
	if (last <= open)
		return (0);
	pack_name(last, name);
	if (fstatat(ps->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		log_warn("pack %" PRIu32, last);
		return (-1);
	}
	if (last != open + 1 || st.st_size > PACK_HEAD) {
		log_warnx("pack %" PRIu32 " is newer than the index: make the "
		    "index anew from the packs with \"errandctl store "
		    "rebuild-index\"", last);
		return (-1);
	}
	if (unlinkat(ps->dirfd, name, 0) == -1) {
		log_warn("pack %" PRIu32 " cannot be removed", last);
		return (-1);
	}
	CRASH_POINT("pack-pruned");
	return (0);
}

static int
timed_fsync(int fd)
{
	struct stint s;
	int rc;

	stint_begin(&s);
	rc = fsync(fd);
	stint_flushed(&s);
	return (rc);
}

int
packs_begin(struct packs *ps, uint32_t number)
{
	uint8_t head[PACK_HEAD];
	int fd;

	pack_head_encode(number, ps->key, head);
	if ((fd = pack_file_open(ps, number, O_RDWR | O_CREAT | O_TRUNC)) == -1)
		goto err0;
	if (io_pwrite(fd, head, sizeof(head), 0) == -1)
		goto err1;
	CRASH_POINT("pack-begun");
	ps->flushes += 2;
	if (!MUTANT("no-pack-head-sync") && timed_fsync(fd) == -1)
		goto err1;
	CRASH_POINT("pack-head-synced");
	if (!MUTANT("no-pack-dir-sync") && timed_fsync(ps->dirfd) == -1)
		goto err1;
	CRASH_POINT("pack-dir-synced");
	io_close(&ps->next_fd);
	ps->next_fd = fd;
	ps->next_number = number;
	return (0);

err1:
	io_close(&fd);
err0:
	log_warn("pack %" PRIu32 " cannot be begun", number);
	return (-1);
}

/*
 * Held open, so that its name may go at once and its blocks little by little.
 */
static void
bury(struct packs *ps, int fd)
{
	struct stat st;

	if (fd == -1)
		return;
	io_close(&ps->dead_fd);
	ps->dead_fd = fd;
	ps->dead_len = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

int
packs_remove(struct packs *ps, uint32_t number)
{
	char name[PACK_NAME_LEN];
	int fd;

	pack_read_drop(ps, number);
	pack_name(number, name);
	/* Without it all is freed at once, that is all. */
	fd = pack_file_open(ps, number, O_WRONLY);
	if (unlinkat(ps->dirfd, name, 0) == -1 && errno != ENOENT)
		goto err0;
	ps->flushes++;
	if (!MUTANT("no-remove-dirsync") && timed_fsync(ps->dirfd) == -1)
		goto err0;
	bury(ps, fd);
	return (0);

err0:
	log_warn("pack %" PRIu32 " cannot be removed", number);
	io_close(&fd);
	return (-1);
}

int
packs_shrink(struct packs *ps)
{
	if (ps->dead_fd == -1)
		return (0);
	ps->dead_len -= ps->dead_len < SHRINK ? ps->dead_len : SHRINK;
	if (ps->dead_len > 0 &&
	    ftruncate(ps->dead_fd, (off_t)ps->dead_len) == 0)
		return (1);
	io_close(&ps->dead_fd);
	return (0);
}

static int
is_named(const uint32_t *named, size_t n, uint32_t number)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (named[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo < n && named[lo] == number);
}

int
packs_sweep(struct packs *ps, const uint32_t *named, size_t n, uint32_t open)
{
	uint32_t *there;
	size_t i, count;
	int rc = 0;

	if (packs_list(ps, &there, &count) == -1)
		return (-1);
	for (i = 0; i < count && rc == 0; i++) {
		if (there[i] >= open || is_named(named, n, there[i]))
			continue;
		log_info("pack %" PRIu32 " has been rewritten: removed",
		    there[i]);
		rc = packs_remove(ps, there[i]);
	}
	free(there);
	return (rc);
}
