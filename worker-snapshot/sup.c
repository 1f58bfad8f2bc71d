/*
 * The supervisor's channel, descriptor 3: our requests, its answers and events.
 * Touches that channel only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pend.h"
#include "sup.h"

struct sup {
	struct event_base *base;
	struct chan *chan;
	const struct sup_ops *ops;
	void *cookie;
	struct pend_table pend;
	struct event *broken;   /* ends us from the loop */
	int bad;                /* we saw a broken rule */
	struct snap_msg in;
	struct snap_msg out;
	uint8_t buf[CHAN_MSG_MAX];
};

/* What the supervisor may send. */
static const struct {
	uint8_t reply;          /* else: an event, id 0 */
	uint8_t fds;            /* most descriptors with it */
} known[SNAP_OP__MAX] = {
	[SNAP_SERVE] = { 0, 1 },
	[SNAP_BOUND] = { 1, 1 },
	[SNAP_SUBMITTED] = { 1, 0 },
	[SNAP_WATCHED] = { 1, 1 },
	[SNAP_OK] = { 1, 0 },
	[SNAP_ERROR] = { 1, 0 },
	[SNAP_JOB] = { 0, 0 },
	[SNAP_LOG] = { 0, 0 },
	[SNAP_TAKEN] = { 1, 1 },
	[SNAP_INPUT_STOP] = { 0, 0 },
};

/* The reply to a request; SNAP_ERROR answers any of them. */
static const uint8_t answer[SNAP_OP__MAX] = {
	[SNAP_BIND] = SNAP_BOUND,
	[SNAP_SUBMIT] = SNAP_SUBMITTED,
	[SNAP_WATCH] = SNAP_WATCHED,
	[SNAP_SIGNAL] = SNAP_OK,
	[SNAP_LIVE] = SNAP_OK,
	[SNAP_ADMIN] = SNAP_OK,
	[SNAP_INPUT] = SNAP_TAKEN,
	[SNAP_INPUT_END] = SNAP_OK,
	[SNAP_WINDOW] = SNAP_OK,
};

static int
violation(struct sup *sup, const char *what)
{
	log_warnx("supervisor: %s (op %u)", what, sup->in.op);
	sup->bad = 1;
	return (-1);
}

static int
is_known(const struct snap_msg *m, size_t nfds)
{
	if (m->op >= SNAP_OP__MAX || nfds > known[m->op].fds)
		return (0);
	if (known[m->op].reply)
		return (m->id != 0);
	return (m->op == SNAP_SERVE || m->op == SNAP_JOB ||
	    m->op == SNAP_LOG || m->op == SNAP_INPUT_STOP);
}

static int
on_reply(struct sup *sup, int *fd)
{
	struct pend *p, was;

	if ((p = pend_find(&sup->pend, sup->in.id)) == NULL)
		return (violation(sup, "a reply to no request"));
	if (sup->in.op != SNAP_ERROR && (sup->in.op != answer[p->op] ||
	    (sup->in.op == SNAP_OK && sup->in.reply_to != p->op)))
		return (violation(sup, "a reply of the wrong kind"));
	was = pend_take(&sup->pend, p);
	if (was.fn != NULL)
		((sup_fn *)was.fn)(was.cookie, &sup->in, fd);
	return (0);
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct sup *sup = cookie;
	int fd = -1, rc = 0;

	if (snap_msg_parse(buf, len, &sup->in) == -1) {
		sup->in.op = 0;
		return (violation(sup, "a malformed message"));
	}
	if (!is_known(&sup->in, nfds))
		return (violation(sup, "a message it may not send"));
	if (nfds == 1) {
		fd = fds[0];
		fds[0] = -1;
	}
	if (known[sup->in.op].reply)
		rc = on_reply(sup, &fd);
	else if (sup->in.op == SNAP_SERVE)
		sup->ops->serve(sup->cookie, &sup->in, &fd);
	else
		sup->ops->event(sup->cookie, &sup->in);
	io_close(&fd);
	sup->ops->after(sup->cookie);
	return (rc);
}

static void
on_end(void *cookie, const char *why)
{
	struct sup *sup = cookie;

	sup->ops->end(sup->cookie, why, sup->bad);
}

static void
on_broken(evutil_socket_t fd, short what, void *cookie)
{
	struct sup *sup = cookie;

	(void)fd;
	(void)what;
	sup->ops->end(sup->cookie, "cannot send to the supervisor", 1);
}

struct sup *
sup_new(struct event_base *base, int fd, const struct sup_ops *ops,
    void *cookie)
{
	struct sup *sup;

	if (NEW_ARRAY(sup, 1) == -1)
		goto err0;
	sup->base = base;
	sup->ops = ops;
	sup->cookie = cookie;
	if ((sup->broken = evtimer_new(base, on_broken, sup)) == NULL) {
		errno = ENOMEM;
		goto err1;
	}
	sup->chan = chan_new(base, fd, "supervisor", on_msg, on_end, sup);
	if (sup->chan == NULL)
		goto err2;

	return (sup);

err2:
	event_free(sup->broken);
err1:
	free(sup);
err0:
	return (NULL);
}

void
sup_free(struct sup *sup)
{
	if (sup == NULL)
		return;
	chan_free(sup->chan);
	event_free(sup->broken);
	free(sup);
}

struct snap_msg *
sup_msg(struct sup *sup, enum snap_op op)
{
	memset(&sup->out, 0, sizeof(sup->out));
	sup->out.op = (uint8_t)op;
	return (&sup->out);
}

/* Without the supervisor there is nothing to go on with. */
static void
give_up(struct sup *sup)
{
	log_warn("supervisor: sending op %u", sup->out.op);
	event_active(sup->broken, EV_TIMEOUT, 0);
}

static void
send_out(struct sup *sup, int fd)
{
	ssize_t n;

	n = snap_msg_pack(&sup->out, sup->buf, sizeof(sup->buf));
	if (n == -1) {
		io_close(&fd);
		give_up(sup);
		return;
	}
	if (chan_send(sup->chan, sup->buf, (size_t)n, &fd, fd != -1) == -1 &&
	    errno != EPIPE)             /* which the end function reports */
		give_up(sup);
}

void
sup_hello(struct sup *sup, int landlock)
{
	struct snap_msg *m = sup_msg(sup, SNAP_HELLO);

	m->u.hello.version = CHANNEL_VERSION;
	snprintf(m->u.hello.software, sizeof(m->u.hello.software), "%s",
	    ERRAND_VERSION);
	m->u.hello.landlock = landlock;
	send_out(sup, -1);
}

void
sup_request(struct sup *sup, int fd, sup_fn *fn, void *cookie)
{
	struct pend *p;

	p = pend_add(&sup->pend, sup->out.op, (pend_fn *)fn, cookie);
	if (p == NULL) {
		errno = ENOBUFS;
		io_close(&fd);
		give_up(sup);
		return;
	}
	sup->out.id = p->id;
	send_out(sup, fd);
}

void
sup_cancel(struct sup *sup, const void *cookie)
{
	pend_cancel(&sup->pend, cookie);
}

size_t
sup_used(const struct sup *sup)
{
	return (sup->pend.used);
}
