/*
 * The keeper's blocking reads from the store, and what they share with
 * storeclient_put.c.  Touches the job's store channel, which is bound to its
 * tenant, and memfds.  Not supervisor/store_client.c, which may name any
 * tenant.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/size.h"
#include "lib/tree.h"
#include "proto/client_msg.h"
#include "proto/limits.h"
#include "proto/store_msg.h"
#include "storeclient.h"
#include "storeclient_internal.h"

#define PIECES  64      /* chunks of a list in one request */

int
storeclient_fail(struct storeclient *sc, int err)
{

	if (sc->failed == 0)
		sc->failed = err;
	errno = sc->failed;
	return (-1);
}

/* The other end is gone. */
static int
lost(struct storeclient *sc)
{

	if (sc->failed == 0) {
		sc->gone = 1;
		(void)err_set(&sc->err, ERR_WORKER_LOST, "the host's store "
		    "ended while the job needed it");
		sc->err.retry = 1;
	}
	return (storeclient_fail(sc, EREMOTEIO));
}

struct storeclient *
storeclient_new(int fd, int other, int (*serve)(void *), void *cookie)
{
	struct storeclient *sc;

	if ((sc = calloc(1, sizeof(*sc))) == NULL)
		goto err0;
	if ((sc->packet = malloc(CHAN_MSG_MAX)) == NULL)
		goto err1;
	sc->fd = fd;
	sc->other = other;
	sc->serve = serve;
	sc->cookie = cookie;
	TAILQ_INIT(&sc->gets);
	return (sc);

err1:
	free(sc);
err0:
	return (NULL);
}

static void
get_free(struct storeclient *sc, struct get *g)
{

	TAILQ_REMOVE(&sc->gets, g, link);
	g->lane->ngets--;
	memfd_unmap(g->map, g->maplen);
	free(g->refs);
	free(g);
}

void
storeclient_free(struct storeclient *sc)
{
	struct get *g;

	if (sc == NULL)
		return;
	while ((g = TAILQ_FIRST(&sc->gets)) != NULL)
		get_free(sc, g);
	io_close(&sc->fd);
	free(sc->first.wants);
	free(sc->chunks.wants);
	free(sc->put);
	free(sc->packet);
	free(sc);
}

int
storeclient_failed(const struct storeclient *sc)
{

	return (sc->failed != 0);
}

int
storeclient_lost(const struct storeclient *sc)
{

	return (sc->gone);
}

const struct err *
storeclient_error(const struct storeclient *sc)
{

	return (&sc->err);
}

uint64_t
storeclient_send(struct storeclient *sc, int op, uint32_t n, int fd)
{
	struct store_msg m;
	uint8_t buf[256];
	ssize_t len;
	int rc;

	memset(&m, 0, sizeof(m));
	m.id = ++sc->id;
	m.op = (uint8_t)op;
	if (op == STORE_PUT)
		m.u.put.objects = n;
	else
		m.u.get.refs = n;
	if ((len = store_msg_pack(&m, buf, sizeof(buf))) == -1) {
		(void)storeclient_fail(sc, EPROTO);
		return (0);
	}
	rc = chan_send_wait(sc->fd, buf, (size_t)len, &fd, 1);
	if (rc == -1) {
		(void)(errno == EPIPE ? lost(sc) : storeclient_fail(sc,
		    errno));
		return (0);
	}
	return (m.id);
}

/*
 * The reply to a GET must hold what was asked for, from the first on, and
 * nothing else.  That the bytes have their ids was checked by the store when
 * it read them; it is the one that vouches for the tenant's objects.
 */
static int
get_check(const struct get *g, size_t served)
{
	struct objrec rec;
	size_t i, at = 0;

	for (i = 0; i < served; i++) {
		if (g->maplen - at < OBJREC_HEAD ||
		    objrec_decode(g->map + at, &rec) == -1)
			return (-1);
		at += OBJREC_HEAD;
		if (rec.codec != OBJREC_RAW || rec.len > g->maplen - at ||
		    !obj_ref_equal(&rec.ref, &g->refs[i]))
			return (-1);
		at += rec.len;
	}
	return (at == g->maplen ? 0 : -1);
}

/* Those that were not served are asked for again, before all others. */
static int
ask_rest(const struct get *g, size_t served)
{
	struct lane *l = g->lane;
	size_t rest = g->n - served, have = l->want_n - l->want_at, need;
	struct obj_ref *p;

	if (rest == 0)
		return (0);
	if (size_add(have, rest, &need) == -1)
		return (-1);
	if (l->want_at < rest) {
		p = size_grow(l->wants, &l->want_cap, l->want_n + rest,
		    sizeof(*p));
		if (p == NULL)
			return (-1);
		l->wants = p;
		memmove(p + rest, p + l->want_at, have * sizeof(*p));
		l->want_at = rest;
		l->want_n = rest + have;
	}
	l->want_at -= rest;
	memcpy(l->wants + l->want_at, g->refs + served,
	    rest * sizeof(*l->wants));
	return (0);
}

static int
on_get(struct storeclient *sc, struct get *g, const struct store_msg *m,
    int *fd)
{
	size_t served = m->u.ok.objects;

	if (served == 0 || served > g->n || *fd == -1)
		return (storeclient_fail(sc, EPROTO));
	if (memfd_map(*fd, LIMIT_GET_BYTES, &g->map, &g->maplen) == -1 ||
	    get_check(g, served) == -1)
		return (storeclient_fail(sc, EPROTO));
	if (!g->soft && ask_rest(g, served) == -1)
		return (storeclient_fail(sc, ENOMEM));
	g->id = 0;
	g->n = served;
	return (0);
}

/* Is it the answer that what storeclient_try wants is not there? */
static int
refused(struct storeclient *sc, const struct store_msg *m)
{
	struct get *g;

	if (m->id == 0 || (m->op != STORE_ERROR &&
	    !(m->op == STORE_OK && m->u.ok.objects == 0)))
		return (0);
	TAILQ_FOREACH(g, &sc->gets, link) {
		if (g->id == m->id && g->soft) {
			g->id = 0;
			g->refused = 1;
			return (1);
		}
	}
	return (0);
}

static int
on_reply(struct storeclient *sc, const struct store_msg *m, int *fd)
{
	struct get *g;
	size_t i;

	if (refused(sc, m))
		return (0);
	if (m->op == STORE_ERROR) {
		if (sc->failed == 0)
			sc->err = m->u.error;
		return (storeclient_fail(sc, EREMOTEIO));
	}
	if (m->op != STORE_OK || m->id == 0)
		return (storeclient_fail(sc, EPROTO));
	for (i = 0; i < PUTS_MAX; i++) {
		if (sc->puts[i] == m->id) {
			sc->puts[i] = 0;
			return (0);
		}
	}
	TAILQ_FOREACH(g, &sc->gets, link) {
		if (g->id == m->id)
			return (on_get(sc, g, m, fd));
	}
	return (storeclient_fail(sc, EPROTO));
}

/* Serve the other channel until the store's is readable. */
static int
wait_readable(struct storeclient *sc)
{
	struct pollfd p[2] = {
		{ .fd = sc->fd, .events = POLLIN },
		{ .fd = sc->other, .events = POLLIN },
	};

	for (;;) {
		if (poll(p, 2, -1) == -1) {
			if (errno != EINTR)
				return (-1);
			continue;
		}
		if (p[1].revents != 0 && sc->serve(sc->cookie) == -1)
			return (-1);
		if (p[0].revents != 0)
			return (0);
	}
}

int
storeclient_wait(struct storeclient *sc)
{
	struct store_msg m;
	int fd = -1, rc;
	size_t nfds = 1;
	ssize_t n;

	if (sc->failed != 0)
		return (storeclient_fail(sc, 0));
	if (wait_readable(sc) == -1)
		return (storeclient_fail(sc, errno));
	n = chan_recv_wait(sc->fd, sc->packet, CHAN_MSG_MAX, &fd, &nfds, -1);
	if (n == 0)
		return (lost(sc));
	if (n == -1)
		return (storeclient_fail(sc, errno));
	if (nfds == 0)
		fd = -1;
	if (store_msg_parse(sc->packet, (size_t)n, &m) == -1)
		rc = storeclient_fail(sc, EPROTO);
	else
		rc = on_reply(sc, &m, &fd);
	io_close(&fd);
	return (rc);
}

static int
lane_want(struct lane *l, const struct obj_ref *ref)
{
	struct obj_ref *p;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (l->want_at >= 4096 && l->want_at >= l->want_n / 2) {
		memmove(l->wants, l->wants + l->want_at,
		    (l->want_n - l->want_at) * sizeof(*l->wants));
		l->want_n -= l->want_at;
		l->want_at = 0;
	}
	p = size_grow(l->wants, &l->want_cap, l->want_n + 1, sizeof(*p));
	if (p == NULL)
		return (-1);
	l->wants = p;
	l->wants[l->want_n++] = *ref;
	return (0);
}

int
storeclient_want(struct storeclient *sc, const struct obj_ref *ref)
{

	return (lane_want(&sc->first, ref));
}

int
storeclient_want_chunk(struct storeclient *sc, const struct obj_ref *ref)
{

	return (lane_want(&sc->chunks, ref));
}

static int
lane_hungry(const struct lane *l)
{

	return (l->want_n - l->want_at < 2 * GET_OBJECTS);
}

int
storeclient_hungry(const struct storeclient *sc)
{

	return (lane_hungry(&sc->first));
}

int
storeclient_hungry_chunks(const struct storeclient *sc)
{

	return (lane_hungry(&sc->chunks));
}

/* A request for ${n} objects, or NULL. */
static struct get *
get_new(struct lane *l, const struct obj_ref *refs, size_t n)
{
	struct get *g;

	if ((g = calloc(1, sizeof(*g))) == NULL)
		goto err0;
	if (NEW_ARRAY(g->refs, n) == -1)
		goto err1;
	memcpy(g->refs, refs, n * sizeof(*refs));
	g->n = n;
	g->lane = l;
	return (g);

err1:
	free(g);
err0:
	return (NULL);
}

static void
get_add(struct storeclient *sc, struct get *g, uint64_t id)
{

	g->id = id;
	TAILQ_INSERT_TAIL(&sc->gets, g, link);
	g->lane->ngets++;
}

int
storeclient_expect(struct storeclient *sc, const struct obj_ref *ref)
{
	struct get *g;

	if ((g = get_new(&sc->first, ref, 1)) == NULL)
		return (storeclient_fail(sc, errno));
	sc->id = STORE_FIRST_ID;
	get_add(sc, g, sc->id);
	return (0);
}

/* Request ${n} objects.  Return 0, or -1. */
static int
get_send(struct storeclient *sc, struct lane *l, const struct obj_ref *refs,
    size_t n)
{
	uint8_t list[GET_OBJECTS * OBJ_REF_LEN];
	struct get *g;
	uint64_t id;
	size_t i;
	int fd;

	if (sc->failed != 0)
		return (storeclient_fail(sc, 0));
	for (i = 0; i < n; i++)
		obj_ref_encode(&refs[i], list + i * OBJ_REF_LEN);
	if ((g = get_new(l, refs, n)) == NULL)
		goto err0;
	if ((fd = memfd_make("refs", list, n * OBJ_REF_LEN)) == -1)
		goto err1;
	id = storeclient_send(sc, STORE_GET, (uint32_t)n, fd);
	io_close(&fd);
	if (id == 0)
		goto err1;
	get_add(sc, g, id);
	return (0);

err1:
	free(g->refs);
	free(g);
err0:
	return (storeclient_fail(sc, errno));
}

static int
lane_kick(struct storeclient *sc, struct lane *l)
{
	size_t n;

	while (l->ngets < GETS_MAX && l->want_at < l->want_n) {
		n = l->want_n - l->want_at;
		if (n > GET_OBJECTS)
			n = GET_OBJECTS;
		if (get_send(sc, l, l->wants + l->want_at, n) == -1)
			return (-1);
		l->want_at += n;
	}
	if (l->want_at == l->want_n)
		l->want_at = l->want_n = 0;
	return (0);
}

int
storeclient_kick(struct storeclient *sc)
{

	if (lane_kick(sc, &sc->first) == -1)
		return (-1);
	return (lane_kick(sc, &sc->chunks));
}

struct pieces {
	struct storeclient *sc;
	int soft;
	struct obj_ref refs[PIECES];
	size_t n;
};

static int
pieces_send(struct pieces *p)
{
	struct storeclient *sc = p->sc;
	size_t n = p->n;

	p->n = 0;
	if (n == 0)
		return (0);
	if (get_send(sc, p->soft ? &sc->tries : &sc->first, p->refs, n) == -1)
		return (-1);
	TAILQ_LAST(&sc->gets, get_head)->soft = (uint8_t)p->soft;
	return (0);
}

static int
piece_add(void *cookie, const struct obj_ref *ref)
{
	struct pieces *p = cookie;

	if (ref->kind != OBJ_CHUNK && ref->kind != OBJ_TREE)
		return (0);
	p->refs[p->n++] = *ref;
	return (p->n == PIECES ? pieces_send(p) : 0);
}

/* Is it only a list of parts, chunks of a file or of a wide directory? */
static int
in_pieces(enum obj_kind kind, const uint8_t *buf, size_t len)
{
	struct tree_iter it;

	return (kind == OBJ_LIST || (kind == OBJ_TREE &&
	    tree_iter_init(&it, buf, len) == 0 && it.level > 0));
}

/*
 * The pieces are wanted next, before what was announced; there are so few of
 * them that they may all be under way.
 */
static int
want_pieces(struct storeclient *sc, enum obj_kind kind, const uint8_t *buf,
    size_t len, int soft)
{
	struct pieces p = { .sc = sc, .soft = soft };

	if (!in_pieces(kind, buf, len))
		return (0);
	if (obj_children(kind, buf, len, piece_add, &p) != 0)
		return (-1);
	return (pieces_send(&p));
}

int
storeclient_want_pieces(struct storeclient *sc, const uint8_t *buf, size_t len)
{

	return (want_pieces(sc, OBJ_LIST, buf, len, 0));
}

/* The request of that kind whose next object is ${ref}, or NULL. */
static struct get *
get_find(struct storeclient *sc, const struct obj_ref *ref, int soft)
{
	struct get *g;

	TAILQ_FOREACH(g, &sc->gets, link) {
		if (g->soft == soft && obj_ref_equal(&g->refs[g->next], ref))
			return (g);
	}
	return (NULL);
}

/* Take the next object out of an answered request. */
static void
get_take(struct storeclient *sc, struct get *g, uint8_t *buf, size_t *len)
{
	struct objrec rec;

	(void)objrec_decode(g->map + g->at, &rec);
	memcpy(buf, g->map + g->at + OBJREC_HEAD, rec.len);
	*len = rec.len;
	g->at += OBJREC_HEAD + rec.len;
	if (++g->next == g->n)
		get_free(sc, g);
}

/* Is it the next that was announced, and not yet requested? */
static int
lane_skip(struct lane *l, const struct obj_ref *ref)
{

	if (l->want_at == l->want_n ||
	    !obj_ref_equal(ref, &l->wants[l->want_at]))
		return (0);
	l->want_at++;
	return (1);
}

/* Not announced, or out of order: a request of its own. */
static struct get *
get_alone(struct storeclient *sc, const struct obj_ref *ref)
{

	if (!lane_skip(&sc->first, ref))
		(void)lane_skip(&sc->chunks, ref);
	if (get_send(sc, &sc->first, ref, 1) == -1)
		return (NULL);
	return (TAILQ_LAST(&sc->gets, get_head));
}

int
storeclient_fetch_alone(struct storeclient *sc, const struct obj_ref *ref,
    uint8_t *buf, size_t *len)
{
	struct get *g;

	if (storeclient_kick(sc) == -1)
		return (-1);
	if ((g = get_find(sc, ref, 0)) == NULL &&
	    (g = get_alone(sc, ref)) == NULL)
		return (-1);
	while (g->id != 0) {
		if (storeclient_wait(sc) == -1)
			return (-1);
	}
	get_take(sc, g, buf, len);
	return (0);
}

int
storeclient_fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	struct storeclient *sc = cookie;

	if (storeclient_fetch_alone(sc, ref, buf, len) == -1)
		return (-1);
	if (want_pieces(sc, (enum obj_kind)ref->kind, buf, *len, 0) == -1)
		return (-1);
	return (storeclient_kick(sc));
}

int
storeclient_try(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	struct storeclient *sc = cookie;
	struct get *g;

	if ((g = get_find(sc, ref, 1)) == NULL) {
		if (get_send(sc, &sc->tries, ref, 1) == -1)
			return (-1);
		g = TAILQ_LAST(&sc->gets, get_head);
		g->soft = 1;
	}
	while (g->id != 0) {
		if (storeclient_wait(sc) == -1)
			return (-1);
	}
	if (g->refused) {
		get_free(sc, g);
		errno = ENOENT;
		return (-1);
	}
	get_take(sc, g, buf, len);
	return (want_pieces(sc, (enum obj_kind)ref->kind, buf, *len, 1));
}
