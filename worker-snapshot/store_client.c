/*
 * Requests to the store on the channel that came with BOUND: whatever is sent
 * there concerns the connection's tenant.  Touches that channel only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pend.h"
#include "proto/client_msg.h"
#include "store_client.h"

/* failed of struct pend */
#define FAIL_BUSY       1
#define FAIL_LOST       2

struct store_client {
	struct chan *chan;      /* NULL: the store is gone */
	void (*after)(void *);
	void *cookie;
	struct pend_table pend;
	struct event *fail;     /* answers requests that failed */
	uint8_t buf[CHAN_MSG_MAX];
};

static void
fail_msg(const struct pend *p, struct store_msg *m)
{
	memset(m, 0, sizeof(*m));
	m->id = p->id;
	m->op = STORE_ERROR;
	m->reply_to = p->op;
	if (p->failed == FAIL_BUSY)
		(void)err_set(&m->u.error, ERR_BUSY,
		    "too many requests are waiting for the store; try again");
	else
		(void)err_set(&m->u.error, ERR_WORKER_LOST,
		    "the host's store was restarted; connect again");
	m->u.error.retry = 1;
}

/* Answer what was never sent, or never will be answered by the store. */
static void
on_fail(evutil_socket_t fd, short what, void *cookie)
{
	struct store_client *sc = cookie;
	struct store_msg m;
	struct pend was;
	size_t i;
	int none = -1;

	(void)fd;
	(void)what;
	for (i = 0; i < PEND_MAX; i++) {
		if (sc->pend.slots[i].id == 0 || !sc->pend.slots[i].failed)
			continue;
		was = pend_take(&sc->pend, &sc->pend.slots[i]);
		if (was.fn == NULL)
			continue;
		fail_msg(&was, &m);
		((store_fn *)was.fn)(was.cookie, &m, &none);
	}
	sc->after(sc->cookie);
}

static void
fail_later(struct store_client *sc, struct pend *p, uint8_t how)
{
	static const struct timeval now = { 0, 0 };

	p->failed = how;
	(void)event_add(sc->fail, &now);
}

static void
lose(struct store_client *sc)
{
	size_t i;

	chan_free(sc->chan);
	sc->chan = NULL;
	for (i = 0; i < PEND_MAX; i++) {
		if (sc->pend.slots[i].id != 0)
			fail_later(sc, &sc->pend.slots[i], FAIL_LOST);
	}
}

static void
on_end(void *cookie, const char *why)
{
	struct store_client *sc = cookie;

	log_warnx("store: %s", why);
	lose(sc);
}

static int
violation(const struct store_msg *m, const char *what)
{
	log_warnx("store: %s (op %u)", what, m->op);
	return (-1);
}

/* Which replies may carry a descriptor is the business of those who asked. */
static int
on_reply(struct store_client *sc, const struct store_msg *m, int *fd)
{
	struct pend *p, was;

	if (m->op != STORE_OK && m->op != STORE_ERROR)
		return (violation(m, "a message it may not send"));
	if ((p = pend_find(&sc->pend, m->id)) == NULL || p->failed)
		return (violation(m, "a reply to no request"));
	if (m->reply_to != p->op)
		return (violation(m, "a reply of the wrong kind"));
	was = pend_take(&sc->pend, p);
	if (was.fn != NULL)
		((store_fn *)was.fn)(was.cookie, m, fd);
	return (0);
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct store_client *sc = cookie;
	struct store_msg m;
	int fd = -1, rc;

	if (store_msg_parse(buf, len, &m) == -1) {
		log_warnx("store: a malformed message");
		return (-1);
	}
	if (nfds > 1)
		return (violation(&m, "too many descriptors"));
	if (nfds == 1) {
		fd = fds[0];
		fds[0] = -1;
	}
	rc = on_reply(sc, &m, &fd);
	io_close(&fd);
	if (rc == 0)
		sc->after(sc->cookie);
	return (rc);
}

struct store_client *
store_client_new(struct event_base *base, int fd, void (*after)(void *),
    void *cookie)
{
	struct store_client *sc;

	if (NEW_ARRAY(sc, 1) == -1)
		goto err0;
	sc->after = after;
	sc->cookie = cookie;
	if ((sc->fail = evtimer_new(base, on_fail, sc)) == NULL) {
		errno = ENOMEM;
		goto err1;
	}
	sc->chan = chan_new(base, fd, "store", on_msg, on_end, sc);
	if (sc->chan == NULL)
		goto err2;

	return (sc);

err2:
	event_free(sc->fail);
err1:
	free(sc);
err0:
	return (NULL);
}

void
store_client_free(struct store_client *sc)
{
	if (sc == NULL)
		return;
	chan_free(sc->chan);
	event_free(sc->fail);
	free(sc);
}

/*
 * A slot is always free: dispatch.c opens no stream when PEND_GATE are taken,
 * and streams never have more than two requests each, puts apart.  If that were
 * wrong, everything would be failed, and this request never answered.
 */
void
store_request(struct store_client *sc, struct store_msg *m, int fd,
    store_fn *fn, void *cookie)
{
	struct pend *p;
	ssize_t n;

	p = pend_add(&sc->pend, m->op, (pend_fn *)fn, cookie);
	if (p == NULL) {
		log_warnx("store: more than %d requests", PEND_MAX);
		io_close(&fd);
		lose(sc);
		return;
	}
	m->id = p->id;
	if (sc->chan == NULL) {
		io_close(&fd);
		fail_later(sc, p, FAIL_LOST);
		return;
	}
	if ((n = store_msg_pack(m, sc->buf, sizeof(sc->buf))) == -1) {
		log_warn("store: packing op %u", m->op);
		io_close(&fd);
		fail_later(sc, p, FAIL_BUSY);
		return;
	}
	if (chan_send(sc->chan, sc->buf, (size_t)n, &fd, fd != -1) == -1)
		fail_later(sc, p, errno == ENOBUFS ? FAIL_BUSY : FAIL_LOST);
}

void
store_cancel(struct store_client *sc, const void *cookie)
{
	if (sc != NULL)
		pend_cancel(&sc->pend, cookie);
}

size_t
store_used(const struct store_client *sc)
{
	return (sc->pend.used);
}

unsigned int
store_pending(const struct store_client *sc, enum store_op op)
{
	return (pend_count(&sc->pend, (uint8_t)op));
}
