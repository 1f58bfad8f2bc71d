/*
 * Asking for the contents of files before they are written.  Touches the job's
 * store channel and memory.
 *
 * Two walks over the plan, in the order in which its files are written.  The
 * first asks for lists.  The second, behind it, takes the lists as they come,
 * holds them for the writer and asks for their chunks, and for the chunks of
 * files that have no list.  A list that names other lists is the writer's to
 * follow, since it is of a large file and has requests enough of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "ahead.h"
#include "lib/tree.h"
#include "plan.h"
#include "storeclient.h"

#define HELD_MAX        512     /* lists; most have some dozens of bytes */
#define HELD_BYTES      (1 << 20)
#define SIMPLE_MAX      128     /* chunks of a list that is asked for here */

struct walk {
	uint32_t dir;           /* PLAN_NONE: at the end */
	uint32_t child;
};

struct held {
	STAILQ_ENTRY(held) link;
	struct obj_ref ref;
	int asked;              /* for its chunks */
	size_t len;
	uint8_t bytes[];
};

/*
 * Invariants:
 *  1. held are the lists of the files between the writer and the second walk,
 *     in order, but for those that the writer took.
 *  2. The second walk is never ahead of the first.
 */
struct ahead {
	const struct plan *plan;
	struct storeclient *sc;
	struct walk lists, chunks;
	STAILQ_HEAD(, held) held;
	size_t nheld, bytes;
	uint8_t buf[OBJ_MAX];
};

struct ahead *
ahead_new(const struct plan *plan, struct storeclient *sc)
{
	struct ahead *a;

	if ((a = malloc(sizeof(*a))) == NULL)
		return (NULL);
	memset(a, 0, offsetof(struct ahead, buf));
	a->plan = plan;
	a->sc = sc;
	STAILQ_INIT(&a->held);
	return (a);
}

static void
held_drop(struct ahead *a)
{
	struct held *h = STAILQ_FIRST(&a->held);

	STAILQ_REMOVE_HEAD(&a->held, link);
	a->nheld--;
	a->bytes -= h->len;
	free(h);
}

void
ahead_free(struct ahead *a)
{

	if (a == NULL)
		return;
	while (!STAILQ_EMPTY(&a->held))
		held_drop(a);
	free(a);
}

/* The next file of a walk, or NULL at its end. */
static const struct plan_node *
walk_next(const struct plan *p, struct walk *w)
{
	const struct plan_node *dir, *nd;
	uint32_t up;

	while (w->dir != PLAN_NONE) {
		dir = &p->nodes[w->dir];
		if (w->child == dir->n) {
			w->dir = plan_next_dir(p, w->dir, &up);
			w->child = 0;
			continue;
		}
		nd = &p->nodes[dir->first + w->child++];
		if (nd->kind == TREE_FILE && nd->ref.kind != OBJ_NONE)
			return (nd);
	}
	return (NULL);
}

static int
ask_lists(struct ahead *a)
{
	const struct plan_node *nd;

	while (storeclient_hungry(a->sc) &&
	    (nd = walk_next(a->plan, &a->lists)) != NULL)
		if (nd->ref.kind == OBJ_LIST &&
		    storeclient_want(a->sc, &nd->ref) == -1)
			return (-1);
	return (storeclient_kick(a->sc));
}

static int
count(void *cookie, const struct obj_ref *ref)
{
	size_t *n = cookie;

	if (ref->kind == OBJ_LIST)
		return (1);
	return (ref->kind == OBJ_CHUNK && ++*n > SIMPLE_MAX);
}

static int
want(void *cookie, const struct obj_ref *ref)
{

	return (ref->kind == OBJ_CHUNK ? storeclient_want_chunk(cookie, ref) :
	    0);
}

/* Fetch a list, keep it for the writer, ask for what it names. */
static int
take_list(struct ahead *a, const struct obj_ref *ref)
{
	struct held *h;
	size_t len, n = 0;
	int rc;

	if (storeclient_fetch_alone(a->sc, ref, a->buf, &len) == -1)
		return (-1);
	if ((h = malloc(sizeof(*h) + len)) == NULL)
		return (-1);
	h->ref = *ref;
	h->len = len;
	memcpy(h->bytes, a->buf, len);
	STAILQ_INSERT_TAIL(&a->held, h, link);
	a->nheld++;
	a->bytes += len;
	if ((rc = obj_children(OBJ_LIST, h->bytes, len, count, &n)) == -1)
		return (-1);
	h->asked = rc == 0;
	return (h->asked ? obj_children(OBJ_LIST, h->bytes, len, want, a->sc) :
	    0);
}

static int
ask_chunks(struct ahead *a)
{
	const struct plan_node *nd;

	while (storeclient_hungry_chunks(a->sc) && a->nheld < HELD_MAX &&
	    a->bytes < HELD_BYTES &&
	    (nd = walk_next(a->plan, &a->chunks)) != NULL) {
		if (nd->ref.kind == OBJ_LIST ?
		    ask_lists(a) == -1 || take_list(a, &nd->ref) == -1 :
		    storeclient_want_chunk(a->sc, &nd->ref) == -1)
			return (-1);
	}
	return (storeclient_kick(a->sc));
}

int
ahead_go(struct ahead *a)
{

	if (ask_lists(a) == -1)
		return (-1);
	return (ask_chunks(a));
}

int
ahead_fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf, size_t *len)
{
	struct ahead *a = cookie;
	struct held *h = STAILQ_FIRST(&a->held);
	int asked;

	if (h == NULL || !obj_ref_equal(&h->ref, ref))
		return (storeclient_fetch(a->sc, ref, buf, len));
	memcpy(buf, h->bytes, h->len);
	*len = h->len;
	asked = h->asked;
	held_drop(a);
	return (asked ? 0 : storeclient_want_pieces(a->sc, buf, *len));
}
