/*
 * Table of the objects of one scan.  Opens files below the root it is given,
 * for reading, without following links.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/list.h"
#include "objtab.h"

struct source {
	char *path;             /* relative to the root */
	int fd;                 /* a private copy, or -1 */
};

struct entry {
	struct obj_ref ref;
	uint32_t len;
	uint8_t *mem;           /* NULL: in a source */
	uint32_t source;
	uint64_t off;
};

struct objtab {
	struct entry *v;        /* in the order added */
	size_t n, cap;
	uint32_t *slots;        /* index + 1 into v; 0 is free */
	size_t nslots;          /* power of two */
	struct source *src;
	size_t nsrc, srccap;
	size_t kept;            /* bytes in memory */
	size_t stale;           /* source index + 1 */
	uint64_t cn, cbytes, mn, mbytes;
};

struct objtab *
objtab_new(void)
{
	struct objtab *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return (NULL);
	t->nslots = 1024;
	if ((t->slots = calloc(t->nslots, sizeof(*t->slots))) == NULL) {
		free(t);
		return (NULL);
	}
	return (t);
}

void
objtab_free(struct objtab *t)
{
	size_t i;

	if (t == NULL)
		return;
	for (i = 0; i < t->n; i++)
		free(t->v[i].mem);
	for (i = 0; i < t->nsrc; i++) {
		free(t->src[i].path);
		io_close(&t->src[i].fd);
	}
	free(t->src);
	free(t->v);
	free(t->slots);
	free(t);
}

static size_t
slot_of(const struct objtab *t, const struct obj_ref *ref)
{
	size_t h, i;

	memcpy(&h, ref->id, sizeof(h));
	for (i = h & (t->nslots - 1); t->slots[i] != 0;
	    i = (i + 1) & (t->nslots - 1))
		if (obj_ref_equal(&t->v[t->slots[i] - 1].ref, ref))
			break;
	return (i);
}

static int
grow(struct objtab *t)
{
	struct entry *v;
	uint32_t *old = t->slots, *slots;
	size_t i, cap;

	if (t->n == t->cap) {
		cap = t->cap == 0 ? 256 : t->cap * 2;
		if (cap >= UINT32_MAX ||
		    (v = realloc(t->v, cap * sizeof(*v))) == NULL)
			return (-1);
		t->v = v;
		t->cap = cap;
	}
	if ((t->n + 1) * 2 < t->nslots)
		return (0);
	if ((slots = calloc(t->nslots * 2, sizeof(*slots))) == NULL)
		return (-1);
	t->slots = slots;
	t->nslots *= 2;
	for (i = 0; i < t->n; i++)
		t->slots[slot_of(t, &t->v[i].ref)] = (uint32_t)i + 1;
	free(old);
	return (0);
}

int64_t
objtab_file(struct objtab *t, const char *path, int fd)
{
	struct source *src;
	size_t cap;

	if (t->nsrc == t->srccap) {
		cap = t->srccap == 0 ? 64 : t->srccap * 2;
		if ((src = realloc(t->src, cap * sizeof(*src))) == NULL)
			return (-1);
		t->src = src;
		t->srccap = cap;
	}
	if ((t->src[t->nsrc].path = strdup(path)) == NULL)
		return (-1);
	t->src[t->nsrc].fd = fd;
	return ((int64_t)t->nsrc++);
}

int
objtab_add(struct objtab *t, const struct obj_ref *ref, const void *buf,
    size_t len, int64_t file, uint64_t off)
{
	struct entry *e;
	size_t i;
	int content = ref->kind == OBJ_CHUNK;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (grow(t) == -1)
		return (-1);
	i = slot_of(t, ref);
	if (t->slots[i] != 0)
		return (0);
	e = &t->v[t->n];
	memset(e, 0, sizeof(*e));
	e->ref = *ref;
	e->len = (uint32_t)len;
	e->source = file < 0 ? UINT32_MAX : (uint32_t)file;
	if (!content || file < 0 || t->kept + len <= OBJTAB_KEEP) {
		if ((e->mem = malloc(len)) == NULL)
			return (-1);
		memcpy(e->mem, buf, len);
		t->kept += len;
	} else
		e->off = off;
	t->slots[i] = (uint32_t)++t->n;
	*(content ? &t->cn : &t->mn) += 1;
	*(content ? &t->cbytes : &t->mbytes) += len;
	return (0);
}

int
objtab_has(const struct objtab *t, const struct obj_ref *ref)
{
	return (t->slots[slot_of(t, ref)] != 0);
}

size_t
objtab_mark(const struct objtab *t)
{
	return (t->n);
}

/* The newest leave first, as they came: no search ends at a hole then. */
void
objtab_undo(struct objtab *t, size_t mark)
{
	struct entry *e;
	int content;

	for (; t->n > mark; t->n--) {
		e = &t->v[t->n - 1];
		content = e->ref.kind == OBJ_CHUNK;
		t->slots[slot_of(t, &e->ref)] = 0;
		*(content ? &t->cn : &t->mn) -= 1;
		*(content ? &t->cbytes : &t->mbytes) -= e->len;
		if (e->mem != NULL)
			t->kept -= e->len;
		free(e->mem);
	}
}

static int
locate(struct objtab *t, const struct obj_ref *list, uint64_t *off, int depth)
{
	struct list_iter it;
	struct list_item item;
	const struct entry *l;
	struct entry *e;
	int rc;

	if (depth > LIST_LEVEL_MAX || t->slots[slot_of(t, list)] == 0)
		return (-1);
	l = &t->v[t->slots[slot_of(t, list)] - 1];
	if (l->mem == NULL || list_iter_init(&it, l->mem, l->len) == -1)
		return (-1);
	while ((rc = list_iter_next(&it, &item)) == 1) {
		if (item.type == LIST_ITEM_REF && item.ref.kind == OBJ_LIST) {
			if (locate(t, &item.ref, off, depth + 1) == -1)
				return (-1);
			continue;
		}
		if (item.type == LIST_ITEM_REF &&
		    t->slots[slot_of(t, &item.ref)] != 0) {
			e = &t->v[t->slots[slot_of(t, &item.ref)] - 1];
			if (e->mem == NULL && e->off == UINT64_MAX)
				e->off = *off;
		}
		*off += item.len;
	}
	return (rc);
}

int
objtab_locate(struct objtab *t, const struct obj_ref *list)
{
	uint64_t off = 0;

	return (locate(t, list, &off, 0));
}

int
objtab_lone(struct objtab *t, const struct obj_ref *ref)
{
	struct entry *e;
	uint32_t slot = t->slots[slot_of(t, ref)];

	if (ref->kind == OBJ_NONE)
		return (0);
	if (slot == 0)
		return (-1);
	e = &t->v[slot - 1];
	if (e->off == UINT64_MAX)
		e->off = 0;
	return (0);
}

static int
from_source(struct objtab *t, int rootfd, const struct entry *e, uint8_t *buf)
{
	const struct source *s = &t->src[e->source];
	struct obj_ref now;
	int fd = s->fd, rc;

	if (fd == -1 && (fd = openat(rootfd, s->path, O_RDONLY | O_NOFOLLOW |
	    O_NONBLOCK | O_CLOEXEC)) == -1)
		goto err0;
	rc = io_pread(fd, buf, e->len, (off_t)e->off);
	if (fd != s->fd)
		close(fd);
	if (rc == -1 || obj_ref_of(OBJ_CHUNK, buf, e->len, &now) == -1 ||
	    !obj_ref_equal(&now, &e->ref))
		goto err0;
	return (0);

err0:
	t->stale = (size_t)e->source + 1;
	errno = ESTALE;
	return (-1);
}

static int
hand_out(struct objtab *t, int rootfd, const struct entry *e, obj_sink_fn *fn,
    void *cookie)
{
	uint8_t buf[OBJ_MAX];

	if (e->mem != NULL)
		return (fn(cookie, &e->ref, e->mem, e->len));
	if (from_source(t, rootfd, e, buf) == -1)
		return (-1);
	return (fn(cookie, &e->ref, buf, e->len));
}

int
objtab_get(struct objtab *t, int rootfd, const struct obj_ref *ref,
    obj_sink_fn *fn, void *cookie)
{
	size_t i = slot_of(t, ref);

	if (t->slots[i] == 0) {
		errno = ENOENT;
		return (-1);
	}
	return (hand_out(t, rootfd, &t->v[t->slots[i] - 1], fn, cookie));
}

int
objtab_each(struct objtab *t, int rootfd, int content, obj_sink_fn *fn,
    void *cookie)
{
	size_t i;
	int rc;

	for (i = 0; i < t->n; i++) {
		if ((t->v[i].ref.kind == OBJ_CHUNK) != (content != 0))
			continue;
		if ((rc = hand_out(t, rootfd, &t->v[i], fn, cookie)) != 0)
			return (rc);
	}
	return (0);
}

const char *
objtab_stale(const struct objtab *t)
{
	return (t->stale == 0 ? "" : t->src[t->stale - 1].path);
}

void
objtab_count(const struct objtab *t, uint64_t *cn, uint64_t *cbytes,
    uint64_t *mn, uint64_t *mbytes)
{
	*cn = t->cn;
	*cbytes = t->cbytes;
	*mn = t->mn;
	*mbytes = t->mbytes;
}

int
objtab_source(const struct objtab *t, const struct obj_ref *ref,
    const char **path, uint32_t *len)
{
	size_t i = slot_of(t, ref);
	const struct entry *e;

	if (t->slots[i] == 0) {
		errno = ENOENT;
		return (-1);
	}
	e = &t->v[t->slots[i] - 1];
	*path = ref->kind == OBJ_CHUNK && e->source < t->nsrc ?
	    t->src[e->source].path : NULL;
	*len = e->len;
	return (0);
}
