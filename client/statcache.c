/*
 * Reads the stat cache file; its layout is in statcache_internal.h.  Touches
 * nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "statcache_internal.h"

#define CACHE_MAX       (4UL * 1024 * 1024 * 1024)

/* The coarsest tick a file system stamps with, and some. */
#define RACY_NS         20000000

enum block_state { BLOCK_UNREAD = 0, BLOCK_GOOD, BLOCK_BAD };

/*
 * Invariants of struct statcache:
 *  1. map has room for the whole file; head and index are in it, and a block
 *     from the moment it was asked for (a copy: a file that is replaced by
 *     rename never changes, but one that is truncated by somebody would end
 *     us with SIGBUS).
 *  2. state[i] is that of the block index[i].
 */
struct statcache {
	int fd;
	uint8_t *map;
	size_t len;
	uint32_t ndirs;
	const struct stat_block *index;         /* in map */
	uint8_t *state;
	struct obj_ref root;
};

uint64_t
stat_sum(const void *buf, size_t len)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ len, w;
	const uint8_t *p = buf;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	for (; len > 0; p++, len--)
		h = (h ^ *p) * 0xff51afd7ed558ccdULL;
	return (h ^ (h >> 29));
}

static int
open_file(struct statcache *sc, const char *path)
{
	struct stat st;

	sc->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (sc->fd == -1 || fstat(sc->fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    st.st_size < STAT_HEAD || (size_t)st.st_size > CACHE_MAX)
		return (-1);
	sc->len = (size_t)st.st_size;
	if ((sc->map = malloc(sc->len)) == NULL)
		return (-1);
	return (io_pread(sc->fd, sc->map, STAT_HEAD, 0));
}

/* The index, and whether all that it names lies in the file. */
static int
read_index(struct statcache *sc)
{
	const size_t each = sizeof(struct stat_block);
	const struct stat_block *b;
	uint64_t sum;
	size_t first;
	uint32_t i;

	if (memcmp(sc->map, STAT_MAGIC, 16) != 0)
		return (-1);
	memcpy(&sc->ndirs, sc->map + STAT_AT_DIRS, 4);
	memcpy(&sum, sc->map + STAT_AT_SUM, 8);
	if (sc->ndirs > (sc->len - STAT_HEAD) / each)
		return (-1);
	first = STAT_HEAD + sc->ndirs * each;
	if (io_pread(sc->fd, sc->map + STAT_HEAD, first - STAT_HEAD,
	    STAT_HEAD) == -1)
		return (-1);
	memset(sc->map + STAT_AT_SUM, 0, 8);
	if (stat_sum(sc->map, first) != sum ||
	    obj_ref_decode(sc->map + STAT_AT_ROOT, &sc->root) == -1)
		return (-1);
	sc->index = (const void *)(sc->map + STAT_HEAD);
	for (i = 0; i < sc->ndirs; i++) {
		b = &sc->index[i];
		if (b->off < first || b->off > sc->len ||
		    b->len > sc->len - b->off || b->len < STAT_DIR_HEAD)
			return (-1);
	}
	return (0);
}

struct statcache *
statcache_load(const char *path)
{
	struct statcache *sc;

	if ((sc = calloc(1, sizeof(*sc))) == NULL)
		return (NULL);
	if (open_file(sc, path) == -1 || read_index(sc) == -1 ||
	    (sc->state = calloc((size_t)sc->ndirs + 1, 1)) == NULL) {
		statcache_free(sc);
		return (NULL);
	}
	return (sc);
}

void
statcache_free(struct statcache *sc)
{
	if (sc == NULL)
		return;
	io_close(&sc->fd);
	free(sc->state);
	free(sc->map);
	free(sc);
}

void
statcache_root(const struct statcache *sc, struct obj_ref *ref)
{
	*ref = sc->root;
}

static int
read_block(const struct statcache *sc, const struct stat_block *b)
{
	uint8_t *p = sc->map + b->off;
	uint32_t plen;

	if (io_pread(sc->fd, p, b->len, (off_t)b->off) == -1 ||
	    stat_sum(p, b->len) != b->sum)
		return (BLOCK_BAD);
	memcpy(&plen, p, 4);
	return (plen <= b->len - STAT_DIR_HEAD ? BLOCK_GOOD : BLOCK_BAD);
}

static int
is_block_of(struct statcache *sc, uint32_t i, const char *path, size_t len)
{
	const uint8_t *p = sc->map + sc->index[i].off;
	uint32_t plen;

	if (sc->state[i] == BLOCK_UNREAD)
		sc->state[i] = (uint8_t)read_block(sc, &sc->index[i]);
	if (sc->state[i] != BLOCK_GOOD)
		return (0);
	memcpy(&plen, p, 4);
	return (plen == len && memcmp(p + 4, path, len) == 0);
}

static const struct stat_block *
find(struct statcache *sc, const char *path, size_t len)
{
	const uint64_t hash = stat_sum(path, len);
	uint32_t lo = 0, hi = sc->ndirs, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (sc->index[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < sc->ndirs && sc->index[lo].hash == hash; lo++)
		if (is_block_of(sc, lo, path, len))
			return (&sc->index[lo]);
	return (NULL);
}

int
statcache_dir(struct statcache *sc, const char *path, struct stat_dir *sd)
{
	size_t len = strlen(path);
	const struct stat_block *b;
	const uint8_t *p;

	if ((b = find(sc, path, len)) == NULL)
		return (-1);
	p = sc->map + b->off;
	sd->end = p + b->len;
	p += 4 + len;
	if (obj_ref_decode(p, &sd->ref) == -1)
		return (-1);
	p += OBJ_REF_LEN;
	memcpy(sd->plain, p, OBJ_ID_LEN);
	memcpy(&sd->n, p + OBJ_ID_LEN, 4);
	sd->p = p + OBJ_ID_LEN + 4;
	return (0);
}

int
stat_dir_next(struct stat_dir *sd, struct stat_entry *e)
{
	const uint8_t *p = sd->p;

	if (sd->end - p < STAT_ENTRY)
		return (0);
	memcpy(&e->dev, p, 8);
	memcpy(&e->ino, p + 8, 8);
	memcpy(&e->size, p + 16, 8);
	memcpy(&e->mtime_ns, p + 24, 8);
	memcpy(&e->ctime_ns, p + 32, 8);
	memcpy(&e->mode, p + 40, 4);
	e->racy = p[44];
	memcpy(&e->name_len, p + 45, 2);
	if (sd->end - p < STAT_ENTRY + e->name_len)
		return (0);
	e->ref.kind = p[47];
	memcpy(e->ref.id, p + 48, OBJ_ID_LEN);
	e->name = (const char *)p + STAT_ENTRY;
	sd->p = p + STAT_ENTRY + e->name_len;
	return (1);
}

static int64_t
ns_of(const struct timespec *ts)
{
	return ((int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec);
}

int
stat_entry_same(const struct stat_entry *e, const struct stat *st)
{
	return (!e->racy && e->ino == st->st_ino && e->dev == st->st_dev &&
	    e->size == (uint64_t)st->st_size && e->mode == st->st_mode &&
	    e->mtime_ns == ns_of(&st->st_mtim) &&
	    e->ctime_ns == ns_of(&st->st_ctim));
}

void
stat_entry_set(struct stat_entry *e, const struct stat *st, int64_t start_ns)
{
	e->dev = st->st_dev;
	e->ino = st->st_ino;
	e->size = (uint64_t)st->st_size;
	e->mode = st->st_mode;
	e->mtime_ns = ns_of(&st->st_mtim);
	e->ctime_ns = ns_of(&st->st_ctim);
	e->racy = e->mtime_ns >= start_ns - RACY_NS ||
	    e->ctime_ns >= start_ns - RACY_NS;
}
