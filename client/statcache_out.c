/*
 * Writes the stat cache file; its layout is in statcache_internal.h.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/size.h"
#include "statcache_internal.h"

/*
 * Invariants of struct statcache_out:
 *  1. p[0..len) are the blocks; index[0..ndirs) says where in p each is.
 */
struct statcache_out {
	uint8_t *p;
	size_t len, cap;
	struct stat_block *index;
	size_t ndirs, ndirs_cap;
};

struct statcache_out *
statcache_out_new(void)
{
	return (calloc(1, sizeof(struct statcache_out)));
}

void
statcache_out_free(struct statcache_out *o)
{
	if (o == NULL)
		return;
	free(o->index);
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

/* Room for a block of ${len} bytes, and for its place in the index. */
static struct stat_block *
block_new(struct statcache_out *o, size_t len)
{
	struct stat_block *index;
	uint8_t *p;

	if (o->ndirs == UINT32_MAX || (index = size_grow(o->index,
	    &o->ndirs_cap, o->ndirs + 1, sizeof(*index))) == NULL)
		return (NULL);
	o->index = index;
	if ((p = size_grow(o->p, &o->cap, o->len + len, 1)) == NULL)
		return (NULL);
	o->p = p;
	index[o->ndirs].off = o->len;
	index[o->ndirs].len = len;
	o->len += len;
	return (&index[o->ndirs++]);
}

int
statcache_out_dir(struct statcache_out *o, const char *path,
    const struct obj_ref *ref, const uint8_t *plain,
    const struct stat_entry *v, size_t n)
{
	uint32_t plen = (uint32_t)strlen(path), n32 = (uint32_t)n;
	size_t len = STAT_DIR_HEAD + plen, i;
	struct stat_block *b;
	uint8_t *p;

	for (i = 0; i < n; i++)
		len += STAT_ENTRY + v[i].name_len;
	if ((b = block_new(o, len)) == NULL)
		return (-1);
	p = put(o->p + b->off, &plen, 4);
	p = put(p, path, plen);
	obj_ref_encode(ref, p);
	p = put(p + OBJ_REF_LEN, plain, OBJ_ID_LEN);
	p = put(p, &n32, 4);
	for (i = 0; i < n; i++)
		p = put_entry(p, &v[i]);
	b->hash = stat_sum(path, plen);
	b->sum = stat_sum(o->p + b->off, len);
	return (0);
}

static int
by_hash(const void *x, const void *y)
{
	const struct stat_block *a = x, *b = y;

	return (a->hash < b->hash ? -1 : a->hash > b->hash);
}

/* Head and index in one; the caller frees it. */
static uint8_t *
make_head(struct statcache_out *o, const struct obj_ref *root, size_t *len)
{
	const uint32_t n = (uint32_t)o->ndirs;
	uint64_t sum;
	uint8_t *p;
	size_t i;

	*len = STAT_HEAD + o->ndirs * sizeof(*o->index);
	if ((p = calloc(1, *len)) == NULL)
		return (NULL);
	if (o->ndirs > 1)
		qsort(o->index, o->ndirs, sizeof(*o->index), by_hash);
	memcpy(p, STAT_MAGIC, 16);
	memcpy(p + STAT_AT_DIRS, &n, 4);
	obj_ref_encode(root, p + STAT_AT_ROOT);
	for (i = 0; i < o->ndirs; i++) {
		o->index[i].off += *len;
		(void)put(p + STAT_HEAD + i * sizeof(*o->index), &o->index[i],
		    sizeof(*o->index));
		o->index[i].off -= *len;
	}
	sum = stat_sum(p, *len);
	memcpy(p + STAT_AT_SUM, &sum, 8);
	return (p);
}

/* Not flushed: after a power cut the checksums tell. */
int
statcache_out_save(struct statcache_out *o, const char *path,
    const struct obj_ref *root)
{
	char tmp[4096];
	uint8_t *head;
	size_t len;
	int fd;

	if (snprintf(tmp, sizeof(tmp), "%s.%ld.new", path, (long)getpid()) >=
	    (int)sizeof(tmp) || (head = make_head(o, root, &len)) == NULL)
		goto err0;
	if ((fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
	    0600)) == -1)
		goto err1;
	if (io_write(fd, head, len) == -1 || io_write(fd, o->p, o->len) == -1)
		goto err2;
	close(fd);
	if (rename(tmp, path) == -1)
		goto err3;
	free(head);
	return (0);

err2:
	close(fd);
err3:
	(void)unlink(tmp);
err1:
	free(head);
err0:
	return (-1);
}
