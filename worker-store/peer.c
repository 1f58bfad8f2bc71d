/*
 * Ends of channels, and replies on them.  A tenant's peer that breaks the rules
 * loses its channel; errandd's ends the process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "care.h"
#include "dispatch.h"
#include "lease.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "peer.h"
#include "store.h"

#define EXIT_BUG        101     /* a promise between our processes broken */

LIST_HEAD(peer_list, peer);

struct peers {
	struct peer_list list;
};

struct peers *
peers_new(void)
{
	struct peers *ps;

	if ((ps = calloc(1, sizeof(*ps))) != NULL)
		LIST_INIT(&ps->list);
	return (ps);
}

/* Take the channel from the peer. */
static void
detach(struct peer *p)
{
	if (p->chan == NULL)
		return;
	lease_end(p);
	chan_free(p->chan);
	p->chan = NULL;
	LIST_REMOVE(p, link);
	care_gone(p->st, p);
	peer_release(p);
}

void
peers_free(struct peers *ps)
{
	struct peer *p;

	if (ps == NULL)
		return;
	while ((p = LIST_FIRST(&ps->list)) != NULL)
		detach(p);
	free(ps);
}

void
peer_hold(struct peer *p)
{
	p->held++;
}

void
peer_release(struct peer *p)
{
	if (--p->held == 0)
		free(p);
}

static void
on_end(void *cookie, const char *why)
{
	struct peer *p = cookie;

	if (p->kind == PEER_SUP) {
		log_info("supervisor: %s", why);
		event_base_loopbreak(p->st->base);
	} else
		log_debug("%s: %s", p->name, why);
	detach(p);
}

struct peer *
peer_new(struct store *st, int fd, enum peer_kind kind, uint32_t tenant,
    uint32_t rights)
{
	struct peer *p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		goto err0;
	p->st = st;
	p->kind = kind;
	p->tenant = tenant;
	p->rights = rights;
	p->held = 1;            /* by its channel */
	if (kind == PEER_SUP)
		(void)snprintf(p->name, sizeof(p->name), "supervisor");
	else if (kind == PEER_CARE)
		(void)snprintf(p->name, sizeof(p->name), "operator");
	else
		(void)snprintf(p->name, sizeof(p->name), "tenant %" PRIu32,
		    tenant);
	p->chan = chan_new(st->base, fd, p->name, dispatch_msg, on_end, p);
	if (p->chan == NULL)
		goto err1;
	if (kind != PEER_SUP)
		chan_bound(p->chan);
	LIST_INSERT_HEAD(&st->peers->list, p, link);
	return (p);

err1:
	free(p);
err0:
	return (NULL);
}

void
peer_close(struct peer *p, const char *why)
{
	if (p->chan == NULL)
		return;
	if (p->kind == PEER_SUP) {
		log_warnx("supervisor: %s", why);
		p->st->status = EXIT_BUG;
		event_base_loopbreak(p->st->base);
	} else
		log_warnx("%s: %s; channel closed", p->name, why);
	detach(p);
}

/*
 * A peer that asks on and on without reading the answers would have us keep
 * them: what the socket does not take counts as unanswered.
 */
int
peer_may_ask(struct peer *p)
{
	if (chan_queued(p->chan) == 0)
		p->unread = 0;
	return (p->waiting + p->unread < LIMIT_REQUESTS);
}

static void
send_msg(struct peer *p, const struct store_msg *m, int fd)
{
	uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	if (p->chan == NULL) {
		/* Nobody is left to hear it. */
		io_close(&fd);
		return;
	}
	if ((n = store_msg_pack(m, buf, sizeof(buf))) == -1) {
		io_close(&fd);
		peer_close(p, "a reply could not be encoded");
		return;
	}
	p->unread++;
	if (chan_send(p->chan, buf, (size_t)n, &fd, fd == -1 ? 0 : 1) == -1 &&
	    errno != EPIPE)
		peer_close(p, "replies are not being read");
}

void
peer_hello(struct peer *p, int landlock)
{
	struct store_msg m = { .op = STORE_HELLO };

	m.u.hello.version = CHANNEL_VERSION;
	m.u.hello.landlock = landlock;
	(void)snprintf(m.u.hello.software, sizeof(m.u.hello.software), "%s",
	    ERRAND_VERSION);
	send_msg(p, &m, -1);
}

void
ask_ok(const struct ask *a, struct store_msg *m, int fd)
{
	m->id = a->id;
	m->op = STORE_OK;
	m->reply_to = a->op;
	send_msg(a->peer, m, fd);
}

void
ask_err(const struct ask *a, const struct err *e)
{
	struct store_msg m = {
		.id = a->id,
		.op = STORE_ERROR,
		.reply_to = a->op
	};

	m.u.error = *e;
	log_debug("op %u refused: %s", a->op, e->text);
	send_msg(a->peer, &m, -1);
}
