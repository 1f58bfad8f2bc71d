/*
 * Back from chunks and lists to bytes.  Fetches objects through the caller;
 * every list is hostile.  Writes to a descriptor only in content_to_fd.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "content.h"
#include "io.h"
#include "list.h"
#include "object_internal.h"

/*
 * Invariants of struct walk:
 *  1. buf[d] holds the list being read at depth d, d <= LIST_LEVEL_MAX; the
 *     level of a list is one less than that of its parent, so the recursion
 *     ends there whatever the lists say.
 *  2. open[l] is true when the last list of level l that was read did not end
 *     where the level is cut: no other of its level may follow.
 *  3. zeros is true when the last piece handed out was a run of zeros.
 */
struct walk {
	obj_fetch_fn *fetch;
	void *fcookie;
	content_piece_fn *fn;
	void *cookie;
	uint8_t *buf[LIST_LEVEL_MAX + 1];
	uint8_t *chunk;
	uint8_t open[LIST_LEVEL_MAX + 1];
	int zeros;
};

static int
bad(void)
{
	errno = EPROTO;
	return (-1);
}

/* Fetch ${ref} into ${*buf}, which is made when it is first needed. */
static int
load(struct walk *w, const struct obj_ref *ref, uint8_t **buf, size_t *len)
{
	*len = 0;
	if (*buf == NULL && (*buf = malloc(OBJ_MAX)) == NULL)
		return (-1);
	return (w->fetch(w->fcookie, ref, *buf, len) != 0 ? -1 : 0);
}

/* Hand out one item of a list of level 0. */
static int
read_piece(struct walk *w, const struct list_item *item)
{
	size_t len;

	if (item->type == LIST_ITEM_ZERO) {
		if (w->zeros)
			return (bad());
		w->zeros = 1;
		return (w->fn(w->cookie, NULL, item->len));
	}
	w->zeros = 0;
	if (load(w, &item->ref, &w->chunk, &len) == -1)
		return (-1);
	if (len != item->len)
		return (bad());
	return (w->fn(w->cookie, w->chunk, len));
}

/*
 * Read the list that ${item} names, at ${depth}; it must be of ${level} unless
 * that is -1, and then of any length.
 */
static int
read_list(struct walk *w, const struct list_item *item, int depth, int level)
{
	struct list_iter it;
	struct list_item below;
	size_t len;
	int rc;

	if (load(w, &item->ref, &w->buf[depth], &len) == -1 ||
	    list_iter_init(&it, w->buf[depth], len) == -1)
		return (-1);
	if (level != -1 && (it.level != level || it.total != item->len ||
	    it.left < 2))
		return (bad());
	if (w->open[it.level])
		return (bad());
	while ((rc = list_iter_next(&it, &below)) == 1) {
		if (it.level == 0)
			rc = read_piece(w, &below);
		else
			rc = read_list(w, &below, depth + 1, it.level - 1);
		if (rc != 0)
			return (rc);
	}
	if (rc == -1)
		return (-1);
	w->open[it.level] = !it.cut || it.tail;
	return (0);
}

static int
read_chunk(struct walk *w, const struct obj_ref *ref)
{
	size_t len;

	if (load(w, ref, &w->chunk, &len) == -1)
		return (-1);
	if (len == 0 || len > OBJ_MAX)
		return (bad());
	return (w->fn(w->cookie, w->chunk, len));
}

int
content_read(const struct obj_ref *ref, obj_fetch_fn *fetch, void *fcookie,
    content_piece_fn *fn, void *cookie)
{
	struct walk w = { .fetch = fetch, .fcookie = fcookie, .fn = fn,
	    .cookie = cookie };
	struct list_item root = { .type = LIST_ITEM_REF, .ref = *ref };
	size_t i;
	int rc, e;

	switch (ref->kind) {
	case OBJ_NONE:
		return (0);
	case OBJ_CHUNK:
		rc = read_chunk(&w, ref);
		break;
	case OBJ_LIST:
		rc = read_list(&w, &root, 0, -1);
		break;
	default:
		return (bad());
	}
	e = errno;
	for (i = 0; i < sizeof(w.buf) / sizeof(w.buf[0]); i++)
		free(w.buf[i]);
	free(w.chunk);
	errno = e;
	return (rc);
}

struct target {
	int fd;
	uint64_t size;
	uint64_t off;           /* at most size */
	int hole;               /* the last piece was not written */
};

static int
write_piece(void *cookie, const uint8_t *buf, uint64_t len)
{
	struct target *t = cookie;

	if (len > t->size - t->off)
		return (bad());
	t->hole = buf == NULL;
	if (buf != NULL &&
	    io_pwrite(t->fd, buf, (size_t)len, (off_t)t->off) == -1)
		return (-1);
	t->off += len;
	return (0);
}

int
content_to_fd(const struct obj_ref *ref, uint64_t size, obj_fetch_fn *fetch,
    void *fcookie, int fd)
{
	struct target t = { .fd = fd, .size = size };

	if (size > SIZE_LIMIT)
		return (bad());
	if (content_read(ref, fetch, fcookie, write_piece, &t) != 0)
		return (-1);
	if (t.off != size)
		return (bad());
	/* Only a hole at the end leaves the file shorter than it is. */
	if (t.hole && ftruncate(fd, (off_t)size) == -1)
		return (-1);
	return (0);
}
