/*
 * The stat cache file.  Reads and writes that one file and nothing else.
 *
 * Layout, native byte order (it never leaves this machine): magic, u32
 * directories, root reference, u64 checksum of the rest; per directory u32
 * bytes that follow, u32 path length, path, reference, id without times, u32
 * entries, entries.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "statcache.h"

#define MAGIC           "errand stat 2\n\0"
#define HEAD            (16 + 4 + OBJ_REF_LEN + 8)
#define ENTRY           (5 * 8 + 4 + 1 + 2 + OBJ_REF_LEN)
#define DIR_HEAD        (8 + OBJ_REF_LEN + OBJ_ID_LEN)
#define CACHE_MAX       (4UL * 1024 * 1024 * 1024)

/* The coarsest tick a file system stamps with, and some. */
#define RACY_NS         20000000

struct statcache {
	uint8_t *map;
	size_t len;
	uint32_t ndirs;
	const uint8_t **slots;  /* directory blocks by hash of the path */
	size_t nslots;
	struct obj_ref root;
};

struct statcache_out {
	uint8_t *p;
	size_t len, cap;
	uint32_t ndirs;
};

static uint64_t
checksum(const uint8_t *p, size_t len)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ len, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	for (; len > 0; p++, len--)
		h = (h ^ *p) * 0xff51afd7ed558ccdULL;
	return (h ^ (h >> 29));
}

static size_t
slot_of(const struct statcache *sc, const char *path, size_t len)
{
	uint32_t plen;
	size_t i;

	i = checksum((const uint8_t *)path, len) & (sc->nslots - 1);
	for (; sc->slots[i] != NULL; i = (i + 1) & (sc->nslots - 1)) {
		memcpy(&plen, sc->slots[i], 4);
		if (plen == len && memcmp(sc->slots[i] + 4, path, len) == 0)
			break;
	}
	return (i);
}

/* Check every block's bounds and enter it in the table. */
static int
index_dirs(struct statcache *sc)
{
	const uint8_t *p = sc->map + HEAD, *end = sc->map + sc->len;
	uint32_t i, blen, plen;

	for (sc->nslots = 64; sc->nslots < sc->ndirs * 2ULL;)
		sc->nslots *= 2;
	if ((sc->slots = calloc(sc->nslots, sizeof(*sc->slots))) == NULL)
		return (-1);
	for (i = 0; i < sc->ndirs; i++) {
		if (end - p < 4)
			return (-1);
		memcpy(&blen, p, 4);
		p += 4;
		if ((size_t)(end - p) < blen || blen < DIR_HEAD)
			return (-1);
		memcpy(&plen, p, 4);
		if (plen > blen - DIR_HEAD)
			return (-1);
		sc->slots[slot_of(sc, (const char *)p + 4, plen)] = p;
		p += blen;
	}
	return (p == end ? 0 : -1);
}

static int
map_file(struct statcache *sc, const char *path)
{
	struct stat st;
	int fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (-1);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    st.st_size < HEAD || (size_t)st.st_size > CACHE_MAX)
		goto err0;
	sc->len = (size_t)st.st_size;
	/* A copy: a file that is replaced by rename never changes, but one
	 * that is truncated by somebody would end us with SIGBUS. */
	if ((sc->map = malloc(sc->len)) == NULL ||
	    io_pread(fd, sc->map, sc->len, 0) == -1)
		goto err0;
	close(fd);
	return (0);

err0:
	close(fd);
	return (-1);
}

struct statcache *
statcache_load(const char *path)
{
	struct statcache *sc;
	uint64_t sum;

	if ((sc = calloc(1, sizeof(*sc))) == NULL)
		return (NULL);
	if (map_file(sc, path) == -1 || memcmp(sc->map, MAGIC, 15) != 0)
		goto err0;
	memcpy(&sc->ndirs, sc->map + 16, 4);
	memcpy(&sum, sc->map + HEAD - 8, 8);
	if (obj_ref_decode(sc->map + 20, &sc->root) == -1 ||
	    sc->ndirs > sc->len / 8 ||
	    checksum(sc->map + HEAD, sc->len - HEAD) != sum ||
	    index_dirs(sc) == -1)
		goto err0;
	return (sc);

err0:
	statcache_free(sc);
	return (NULL);
}

void
statcache_free(struct statcache *sc)
{
	if (sc == NULL)
		return;
	free(sc->slots);
	free(sc->map);
	free(sc);
}

void
statcache_root(const struct statcache *sc, struct obj_ref *ref)
{
	*ref = sc->root;
}

int
statcache_dir(const struct statcache *sc, const char *path,
    struct stat_dir *sd)
{
	size_t len = strlen(path);
	const uint8_t *b = sc->slots[slot_of(sc, path, len)];
	uint32_t blen;

	if (b == NULL)
		return (-1);
	memcpy(&blen, b - 4, 4);
	sd->end = b + blen;
	b += 4 + len;
	if (obj_ref_decode(b, &sd->ref) == -1)
		return (-1);
	b += OBJ_REF_LEN;
	memcpy(sd->plain, b, OBJ_ID_LEN);
	memcpy(&sd->n, b + OBJ_ID_LEN, 4);
	sd->p = b + OBJ_ID_LEN + 4;
	return (0);
}

int
stat_dir_next(struct stat_dir *sd, struct stat_entry *e)
{
	const uint8_t *p = sd->p;

	if (sd->end - p < ENTRY)
		return (0);
	memcpy(&e->dev, p, 8);
	memcpy(&e->ino, p + 8, 8);
	memcpy(&e->size, p + 16, 8);
	memcpy(&e->mtime_ns, p + 24, 8);
	memcpy(&e->ctime_ns, p + 32, 8);
	memcpy(&e->mode, p + 40, 4);
	e->racy = p[44];
	memcpy(&e->name_len, p + 45, 2);
	if (sd->end - p < ENTRY + e->name_len)
		return (0);
	e->ref.kind = p[47];
	memcpy(e->ref.id, p + 48, OBJ_ID_LEN);
	e->name = (const char *)p + ENTRY;
	sd->p = p + ENTRY + e->name_len;
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

struct statcache_out *
statcache_out_new(void)
{
	struct statcache_out *o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (NULL);
	o->len = HEAD;
	return (o);
}

void
statcache_out_free(struct statcache_out *o)
{
	if (o == NULL)
		return;
	free(o->p);
	free(o);
}

static uint8_t *
put(uint8_t *p, const void *v, size_t n)
{
	memcpy(p, v, n);
	return (p + n);
}

static uint8_t *
put_entry(uint8_t *p, const struct stat_entry *e)
{
	p = put(p, &e->dev, 8);
	p = put(p, &e->ino, 8);
	p = put(p, &e->size, 8);
	p = put(p, &e->mtime_ns, 8);
	p = put(p, &e->ctime_ns, 8);
	p = put(p, &e->mode, 4);
	p = put(p, &e->racy, 1);
	p = put(p, &e->name_len, 2);
	p = put(p, &e->ref.kind, 1);
	p = put(p, e->ref.id, OBJ_ID_LEN);
	return (put(p, e->name, e->name_len));
}

int
statcache_out_dir(struct statcache_out *o, const char *path,
    const struct obj_ref *ref, const uint8_t *plain,
    const struct stat_entry *v, size_t n)
{
	uint32_t plen = (uint32_t)strlen(path), n32 = (uint32_t)n, blen;
	size_t need = DIR_HEAD + plen, i, cap;
	uint8_t *p;

	for (i = 0; i < n; i++)
		need += ENTRY + v[i].name_len;
	blen = (uint32_t)need;
	need += 4;
	if (o->cap - o->len < need || o->cap < o->len) {
		cap = (o->cap + need + HEAD) * 2;
		if (need > UINT32_MAX || (p = realloc(o->p, cap)) == NULL)
			return (-1);
		o->p = p;
		o->cap = cap;
	}
	p = put(o->p + o->len, &blen, 4);
	p = put(p, &plen, 4);
	p = put(p, path, plen);
	obj_ref_encode(ref, p);
	p = put(p + OBJ_REF_LEN, plain, OBJ_ID_LEN);
	p = put(p, &n32, 4);
	for (i = 0; i < n; i++)
		p = put_entry(p, &v[i]);
	o->len += need;
	o->ndirs++;
	return (0);
}

/* Not flushed: after a power cut the checksum tells. */
int
statcache_out_save(struct statcache_out *o, const char *path,
    const struct obj_ref *root)
{
	char tmp[4096];
	uint64_t sum;
	int fd;

	if (o->p == NULL ||
	    snprintf(tmp, sizeof(tmp), "%s.%ld.new", path, (long)getpid()) >=
	    (int)sizeof(tmp))
		goto err0;
	memset(o->p, 0, HEAD);
	memcpy(o->p, MAGIC, 15);
	memcpy(o->p + 16, &o->ndirs, 4);
	obj_ref_encode(root, o->p + 20);
	sum = checksum(o->p + HEAD, o->len - HEAD);
	memcpy(o->p + HEAD - 8, &sum, 8);
	if ((fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	    0600)) == -1)
		goto err0;
	if (io_write(fd, o->p, o->len) == -1)
		goto err1;
	close(fd);
	if (rename(tmp, path) == -1)
		goto err2;
	return (0);

err1:
	close(fd);
err2:
	(void)unlink(tmp);
err0:
	return (-1);
}
