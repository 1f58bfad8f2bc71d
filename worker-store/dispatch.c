/*
 * Which request may come on which channel, and whom it goes to.  Takes new
 * channels from errandd (BIND); opens none.
 */
#include <sys/socket.h>

#include <errno.h>
#include <string.h>

#include "dispatch.h"
#include "fault.h"
#include "handlers.h"
#include "lib/log.h"
#include "peer.h"
#include "store.h"
#include "usage.h"

/* The descriptor must be one end of a channel. */
static int
is_channel(int fd)
{
	socklen_t len = sizeof(int);
	int type, domain;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return (0);
	len = sizeof(domain);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1)
		return (0);
	return (type == SOCK_SEQPACKET && domain == AF_UNIX);
}

static void
on_bind(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct store_msg ok = { 0 };
	uint32_t rights = m->u.bind.rights;
	enum peer_kind kind = PEER_TENANT;
	struct peer *p;
	struct err e;

	if ((rights & STORE_RIGHT_CARE) != 0) {
		if (rights != STORE_RIGHT_CARE || m->u.bind.tenant_id != 0) {
			peer_close(a->peer, "an operator has no tenant");
			return;
		}
		kind = PEER_CARE;
	}
	if (!is_channel(fds[0])) {
		peer_close(a->peer, "what came to be bound is no channel");
		return;
	}
	if ((kind == PEER_TENANT && usage_limit(a->peer->st,
	    m->u.bind.tenant_id, &m->u.bind.quota) == -1) ||
	    (p = peer_new(a->peer->st, fds[0], kind, m->u.bind.tenant_id,
	    rights)) == NULL) {
		fault_errno(&e, errno, NULL);
		ask_err(a, &e);
		return;
	}
	fds[0] = -1;
	ask_ok(a, &ok, -1);
	if (m->u.bind.first.kind != OBJ_NONE &&
	    (rights & STORE_RIGHT_GET) != 0)
		get_first(p, &m->u.bind.first);
}

struct route {
	uint8_t op;
	uint8_t kind;           /* enum peer_kind that may ask */
	uint32_t right;         /* that a tenant's channel needs */
	size_t nfds;
	handler_fn *handler;
};

static const struct route routes[] = {
	{ STORE_BIND,        PEER_SUP,    0,                1, on_bind },
	{ STORE_PUBLISH,     PEER_SUP,    0,                0, on_publish },
	{ STORE_SETTLE,      PEER_SUP,    0,                0, on_settle },
	{ STORE_UNSETTLED,   PEER_SUP,    0,                0, on_unsettled },
	{ STORE_HEAD,        PEER_SUP,    0,                0, on_head },
	{ STORE_STAT,        PEER_SUP,    0,                0, on_stat },
	{ STORE_COLLECT,     PEER_SUP,    0,                0, on_collect },
	{ STORE_EXPIRE,      PEER_SUP,    0,                0, on_expire },
	{ STORE_USAGE,       PEER_SUP,    0,                0, on_usage },
	{ STORE_USAGE,       PEER_TENANT, STORE_RIGHT_JOBS, 0, on_usage },
	{ STORE_PUT,         PEER_TENANT, STORE_RIGHT_PUT,  1, on_put },
	{ STORE_CHECK,       PEER_TENANT, STORE_RIGHT_PUT,  0, on_check },
	{ STORE_GET,         PEER_TENANT, STORE_RIGHT_GET,  1, on_get },
	{ STORE_JOB_GET,     PEER_TENANT, STORE_RIGHT_JOBS, 0, on_job_get },
	{ STORE_JOB_LIST,    PEER_TENANT, STORE_RIGHT_JOBS, 0, on_job_list },
	{ STORE_RECEIPT_GET, PEER_TENANT, STORE_RIGHT_JOBS, 0, on_receipt_get },
	{ STORE_CARE,        PEER_CARE,   STORE_RIGHT_CARE, 0, on_care },
};

#define NROUTES         (sizeof(routes) / sizeof(routes[0]))

static const struct route *
route_find(uint8_t op, enum peer_kind kind)
{
	const struct route *r;

	for (r = routes; r < routes + NROUTES; r++) {
		if (r->op == op && r->kind == kind)
			return (r);
	}
	return (NULL);
}

/* The supervisor says once which version it speaks, before anything else. */
static void
take_hello(struct peer *p, const struct store_msg *m, size_t nfds)
{
	if (p->kind != PEER_SUP || p->hello || m->op != STORE_HELLO ||
	    nfds != 0)
		peer_close(p, "HELLO is missing, or out of turn");
	else if (m->u.hello.version != CHANNEL_VERSION)
		peer_close(p, "the other end has another version");
	p->hello = 1;
}

static void
route(struct peer *p, const struct store_msg *m, int *fds, size_t nfds)
{
	const struct route *r = route_find(m->op, p->kind);
	const struct ask a = { p, m->id, m->op };
	struct err e;

	if (r == NULL)
		peer_close(p, "a message that may not come on this channel");
	else if (r->nfds != nfds)
		peer_close(p, "a wrong number of descriptors");
	else if (!peer_may_ask(p))
		peer_close(p, "too many requests without reading the answers");
	else if ((p->rights & r->right) != r->right) {
		fault_set(&e, ERR_DENIED, NULL,
		    "this channel was not given the right to ask that");
		ask_err(&a, &e);
	} else
		r->handler(&a, m, fds);
}

/*
 * Never a violation in the eyes of the channel: peer_close has ended it by
 * then, with a better reason.
 */
int
dispatch_msg(void *cookie, const uint8_t *buf, size_t len, int *fds,
    size_t nfds)
{
	struct peer *p = cookie;
	struct store_msg m;

	peer_hold(p);
	if (store_msg_parse(buf, len, &m) == -1)
		peer_close(p, "a malformed message");
	else if (m.op == STORE_HELLO || (p->kind == PEER_SUP && !p->hello))
		take_hello(p, &m, nfds);
	else
		route(p, &m, fds, nfds);
	peer_release(p);
	return (0);
}
