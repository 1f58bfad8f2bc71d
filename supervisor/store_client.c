/*
 * errandd's requests to errand-store, on the channel that may name any tenant.
 * Errand-snapshot and keepers have files of nearly this name for channels that
 * are bound to one.
 */
#include <sys/queue.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "proto/limits.h"
#include "roles.h"
#include "store_client.h"
#include "sup.h"

/* A barrier on a bad disk takes long; a store that is stuck takes for ever. */
#define ANSWER_SEC      45

struct request {
	TAILQ_ENTRY(request) next;
	uint64_t id;
	uint8_t op;
	store_reply_fn *fn;     /* NULL: forgotten */
	void *cookie;
};

/*
 * Invariants:
 *  1. waiting holds what was sent to the present store process and is not
 *     answered yet, oldest first; nwaiting counts it, below LIMIT_REQUESTS.
 *  2. Ids ascend and are never used again.
 *  3. late is armed exactly while something waits, and anew at each answer.
 */
struct store_client {
	struct sup *sup;
	struct child *child;
	void (*up)(struct sup *);
	void (*down)(struct sup *);
	void (*stuck)(struct sup *);
	TAILQ_HEAD(, request) waiting;
	unsigned int nwaiting;
	uint64_t last_id;
	struct event late;
	uint8_t *buf;           /* CHAN_MSG_MAX */
	int32_t landlock;       /* as the store said */
	char note[LIMIT_TEXT];  /* its last words on how it opens, or not */
	int trouble;            /* it does not */
};

static void
late_arm(struct store_client *sc)
{
	struct timeval tv = { ANSWER_SEC, 0 };

	if (sc->nwaiting == 0)
		event_del(&sc->late);
	else if (event_add(&sc->late, &tv) == -1)
		log_warnx("store: timer");
}

static void
on_late(evutil_socket_t fd, short what, void *cookie)
{
	struct store_client *sc = cookie;

	(void)fd;
	(void)what;
	child_fault(sc->child, "does not answer");
}

static struct request *
request_find(struct store_client *sc, uint64_t id)
{
	struct request *r;

	TAILQ_FOREACH(r, &sc->waiting, next)
		if (r->id == id)
			return (r);
	return (NULL);
}

static void
request_answer(struct store_client *sc, struct request *r,
    const struct store_msg *m, int fd)
{
	store_reply_fn *fn = r->fn;
	void *cookie = r->cookie;

	TAILQ_REMOVE(&sc->waiting, r, next);
	sc->nwaiting--;
	late_arm(sc);
	free(r);
	if (fn != NULL)
		fn(cookie, m, fd);
}

static int
on_hello(struct store_client *sc, const struct store_msg *m)
{
	sc->landlock = m->u.hello.landlock;
	if (m->u.hello.version != CHANNEL_VERSION) {
		log_warnx("store: speaks version %u of the channel, not %u; "
		    "install programs of one release", m->u.hello.version,
		    CHANNEL_VERSION);
		return (-1);
	}
	if (m->u.hello.trouble[0] != '\0') {
		/* It ends by itself, and is tried again later. */
		memcpy(sc->note, m->u.hello.trouble, sizeof(sc->note));
		sc->trouble = 1;
		sc->stuck(sc->sup);
		return (0);
	}
	sc->trouble = 0;
	child_event(sc->child, CHILD_READY);
	return (0);
}

/* What it is busy with before it can say HELLO. */
static int
on_wait(struct store_client *sc, const struct store_msg *m)
{
	if (child_state(sc->child) != CHILD_STARTING)
		return (-1);
	memcpy(sc->note, m->u.wait.text, sizeof(sc->note));
	sc->trouble = 0;
	child_wait(sc->child);
	return (0);
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct store_client *sc = cookie;
	struct store_msg m;
	struct request *r;

	if (store_msg_parse(buf, len, &m) == -1 || nfds > 1)
		return (-1);
	if (m.op == STORE_HELLO)
		return (nfds == 0 ? on_hello(sc, &m) : -1);
	if (m.op == STORE_WAIT)
		return (nfds == 0 ? on_wait(sc, &m) : -1);
	if (child_state(sc->child) != CHILD_UP)
		return (-1);
	if (m.op != STORE_OK && m.op != STORE_ERROR)
		return (-1);
	if ((r = request_find(sc, m.id)) == NULL || r->op != m.reply_to)
		return (-1);
	if (nfds == 1 && (m.op != STORE_OK ||
	    (r->op != STORE_UNSETTLED && r->op != STORE_EXPIRE)))
		return (-1);
	request_answer(sc, r, &m, nfds == 1 ? fds[0] : -1);
	return (0);
}

static void
hello_send(struct store_client *sc)
{
	struct store_msg m;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = STORE_HELLO;
	m.u.hello.version = CHANNEL_VERSION;
	strncpy(m.u.hello.software, ERRAND_VERSION,
	    sizeof(m.u.hello.software) - 1);
	if ((n = store_msg_pack(&m, sc->buf, CHAN_MSG_MAX)) == -1 ||
	    child_send(sc->child, sc->buf, (size_t)n, NULL, 0) == -1)
		log_warn("store: hello");
}

static void
on_up(void *cookie)
{
	struct store_client *sc = cookie;

	hello_send(sc);
	sc->up(sc->sup);
}

/* Answers that will not come. */
static void
on_gone(void *cookie)
{
	struct store_client *sc = cookie;
	struct request *r;
	struct store_msg m;
	unsigned int n = sc->nwaiting;

	memset(&m, 0, sizeof(m));
	m.op = STORE_ERROR;
	m.u.error.code = ERR_WORKER_LOST;
	m.u.error.retry = 1;
	strcpy(m.u.error.text, "the store ended before it answered");
	while (n-- > 0 && (r = TAILQ_FIRST(&sc->waiting)) != NULL) {
		m.id = r->id;
		m.reply_to = r->op;
		request_answer(sc, r, &m, -1);
	}
}

static void
on_down(void *cookie)
{
	struct store_client *sc = cookie;

	sc->down(sc->sup);
}

static const struct child_ops ops = { on_msg, on_up, on_gone, on_down };

struct store_client *
store_client_new(struct sup *sup, void (*up)(struct sup *),
    void (*down)(struct sup *), void (*stuck)(struct sup *))
{
	struct store_client *sc;
	struct child_init init = {
		.base = sup->base, .cfg = sup->cfg, .role = &roles[ROLE_STORE],
		.uid = sup->store_uid, .level = sup->log_level, .ops = &ops
	};

	if ((sc = calloc(1, sizeof(*sc))) == NULL)
		goto err0;
	TAILQ_INIT(&sc->waiting);
	evtimer_assign(&sc->late, sup->base, on_late, sc);
	sc->sup = sup;
	sc->up = up;
	sc->down = down;
	sc->stuck = stuck;
	if ((sc->buf = malloc(CHAN_MSG_MAX)) == NULL)
		goto err1;
	init.cookie = sc;
	if ((sc->child = child_new(&init)) == NULL)
		goto err2;
	return (sc);

err2:
	free(sc->buf);
err1:
	free(sc);
err0:
	return (NULL);
}

void
store_client_free(struct store_client *sc)
{
	struct request *r;

	if (sc == NULL)
		return;
	event_del(&sc->late);
	child_free(sc->child);
	while ((r = TAILQ_FIRST(&sc->waiting)) != NULL) {
		TAILQ_REMOVE(&sc->waiting, r, next);
		free(r);
	}
	free(sc->buf);
	free(sc);
}

int32_t
store_client_landlock(const struct store_client *sc)
{
	return (sc->landlock);
}

struct child *
store_client_child(struct store_client *sc)
{
	return (sc->child);
}

const char *
store_client_note(const struct store_client *sc)
{
	return (sc->note);
}

int
store_client_trouble(const struct store_client *sc)
{
	return (sc->trouble && !store_client_up(sc));
}

void
store_client_rebuild(struct store_client *sc)
{
	snprintf(sc->note, sizeof(sc->note), "the index is made anew");
	sc->trouble = 0;
	child_rebuild(sc->child);
}

int
store_client_up(const struct store_client *sc)
{
	return (child_state(sc->child) == CHILD_UP);
}

/*
 * The request is recorded before it is sent: a send may fault the store, and
 * then on_gone answers it.
 */
uint64_t
store_request(struct store_client *sc, struct store_msg *m, int fd,
    store_reply_fn *fn, void *cookie)
{
	struct request *r;
	ssize_t n;

	errno = EAGAIN;
	if (!store_client_up(sc) || sc->nwaiting >= LIMIT_REQUESTS - 1)
		goto err0;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		goto err0;
	m->id = r->id = ++sc->last_id;
	r->op = m->op;
	r->fn = fn;
	r->cookie = cookie;
	if ((n = store_msg_pack(m, sc->buf, CHAN_MSG_MAX)) == -1)
		goto err1;
	TAILQ_INSERT_TAIL(&sc->waiting, r, next);
	if (sc->nwaiting++ == 0)
		late_arm(sc);
	(void)child_send(sc->child, sc->buf, (size_t)n, &fd, fd != -1);
	return (m->id);

err1:
	log_warnx("store: a request of kind %d does not fit", m->op);
	errno = EMSGSIZE;
	free(r);
err0:
	io_close(&fd);
	return (0);
}

void
store_forget(struct store_client *sc, uint64_t id)
{
	struct request *r;

	if (id != 0 && (r = request_find(sc, id)) != NULL)
		r->fn = NULL;
}
