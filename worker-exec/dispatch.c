/*
 * errandd's channel to errand-exec: each PREPARE becomes a keeper, each dead
 * keeper a GONE.  Makes and reaps processes and nothing else; a job's own
 * affairs are in keeper.c and what it calls.
 */
#include <sys/queue.h>
#include <sys/wait.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "dispatch.h"
#include "keeper.h"
#include "lib/chan.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/worker_args.h"
#include "ns.h"
#include "proto/exec_msg.h"
#include "sandbox.h"
#include "template.h"

/* For keepers to leave nothing behind; errandd waits a little longer for us. */
#define LAST_US         2500000

/*
 * A keeper that was not reaped yet.
 *
 * Invariant: in the list from its fork until its GONE was sent; the event
 * watches its pidfd as long.
 */
struct kept {
	LIST_ENTRY(kept) link;
	struct dispatch *d;
	char id[JOB_ID_LEN + 1];
	pid_t pid;
	int pidfd;
	struct event *ev;
};

struct dispatch {
	struct event_base *base;
	struct chan *chan;
	const struct worker_args *cfg;
	const struct exec_filters *filters;
	LIST_HEAD(, kept) kept;
	int userns;
	int ending;             /* the channel has ended */
	char note[LIMIT_TEXT];
};

static void
send_msg(struct dispatch *d, const struct exec_msg *m)
{
	uint8_t buf[2048];
	ssize_t n;

	if ((n = exec_msg_pack(m, buf, sizeof(buf))) == -1 ||
	    chan_send(d->chan, buf, (size_t)n, NULL, 0) == -1)
		log_warn("a message to errandd");
}

static void
send_gone(struct dispatch *d, const char *id, int status)
{
	struct exec_msg m;

	memset(&m, 0, sizeof(m));
	m.op = EXEC_GONE;
	memcpy(m.u.gone.sandbox, id, sizeof(m.u.gone.sandbox));
	m.u.gone.status = status;
	send_msg(d, &m);
}

static void
kept_free(struct kept *k)
{

	LIST_REMOVE(k, link);
	event_free(k->ev);
	io_close(&k->pidfd);
	free(k);
}

static void
on_death(evutil_socket_t fd, short what, void *cookie)
{
	struct kept *k = cookie;
	struct dispatch *d = k->d;
	char id[JOB_ID_LEN + 1];
	int status = -1;

	(void)fd;
	(void)what;
	while (waitpid(k->pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (status != 0)
		log_warnx("sandbox %s: its keeper ended with status %#x", k->id,
		    (unsigned int)status);
	memcpy(id, k->id, sizeof(id));
	kept_free(k);
	if (!d->ending)
		send_gone(d, id, status);
	else if (LIST_EMPTY(&d->kept))
		event_base_loopbreak(d->base);
}

/* Watch a keeper.  Return 0, or -1. */
static int
keep(struct dispatch *d, const struct prep *p, pid_t pid, int pidfd)
{
	struct kept *k;

	if ((k = calloc(1, sizeof(*k))) == NULL)
		goto err0;
	k->d = d;
	k->pid = pid;
	k->pidfd = pidfd;
	memcpy(k->id, p->id, sizeof(k->id));
	if ((k->ev = event_new(d->base, pidfd, EV_READ, on_death, k)) == NULL)
		goto err1;
	if (event_add(k->ev, NULL) == -1)
		goto err2;
	LIST_INSERT_HEAD(&d->kept, k, link);
	return (0);

err2:
	event_free(k->ev);
err1:
	free(k);
err0:
	return (-1);
}

static void
prep_fill(struct prep *p, const struct exec_msg *m, const int *fds, size_t nfds)
{

	memset(p, 0, sizeof(*p));
	memcpy(p->id, m->u.prepare.sandbox, sizeof(p->id));
	p->host_uid = m->u.prepare.host_uid;
	p->net = m->u.prepare.net;
	p->as_root = m->u.prepare.as_root;
	p->ids = m->u.prepare.ids;
	p->scratch = m->u.prepare.scratch;
	memcpy(p->image, m->u.prepare.image, sizeof(p->image));
	p->chan = fds[0];
	p->disk = nfds > 1 ? fds[1] : -1;
	p->parent = getpid();
}

static void
no_keeper(struct dispatch *d, const struct prep *p, const char *why)
{

	log_warnx("no sandbox: %s", why);
	keeper_stillborn(p->chan, why);
	send_gone(d, p->id, 111 << 8);
}

/*
 * The keeper begins in here and never comes back.  What it inherits of us, it
 * closes; the event loop is not touched in it.
 */
static void
keeper_make(struct dispatch *d, struct prep *p)
{
	uint64_t flags = NS_KEEPER;
	char why[LIMIT_TEXT];
	int pidfd = -1;
	pid_t pid;

	if (!d->userns && !d->cfg->bounded) {
		no_keeper(d, p, d->note);
		return;
	}
	if (template_view(d->cfg, p->image, p->view, sizeof(p->view)) == -1) {
		(void)snprintf(why, sizeof(why), "the image %s could not be "
		    "mounted when errandd was started; its log says why",
		    p->image);
		no_keeper(d, p, why);
		return;
	}
	if (d->cfg->bounded)
		flags &= ~(uint64_t)CLONE_NEWUSER;
	if (p->net != JOB_NET_HOST)
		flags |= CLONE_NEWNET;
	if ((pid = ns_clone(flags, &pidfd)) == 0)
		keeper_main(p, d->cfg, d->filters);
	if (pid == -1) {
		(void)snprintf(why, sizeof(why), "the sandbox could not be "
		    "made on the host: %s", strerror(errno));
		no_keeper(d, p, why);
		return;
	}
	if (keep(d, p, pid, pidfd) == -1) {
		log_warn("sandbox %s", p->id);
		io_close(&pidfd);
	}
}

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct dispatch *d = cookie;
	struct exec_msg m;
	struct prep p;

	if (exec_msg_parse(buf, len, &m) == -1 || m.op != EXEC_PREPARE ||
	    nfds < 1 || nfds > 2)
		return (-1);
	prep_fill(&p, &m, fds, nfds);
	/* The channel closes our copies of the descriptors. */
	keeper_make(d, &p);
	return (0);
}

/*
 * Without errandd there is nobody to make sandboxes for.  Keepers see the end
 * of their own channels; they would die with us, so they get the time to remove
 * what they made.
 */
static void
on_end(void *cookie, const char *why)
{
	static const struct timeval last = { LAST_US / 1000000,
	    LAST_US % 1000000 };
	struct dispatch *d = cookie;

	log_info("errandd: %s", why);
	d->ending = 1;
	if (LIST_EMPTY(&d->kept))
		event_base_loopbreak(d->base);
	else
		event_base_loopexit(d->base, &last);
}

struct dispatch *
dispatch_new(struct event_base *base, int fd, const struct worker_args *cfg,
    const struct exec_filters *filters)
{
	struct dispatch *d;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		goto err0;
	d->base = base;
	d->cfg = cfg;
	d->filters = filters;
	LIST_INIT(&d->kept);
	if ((d->chan = chan_new(base, fd, "errandd", on_msg, on_end,
	    d)) == NULL)
		goto err1;
	return (d);

err1:
	free(d);
err0:
	return (NULL);
}

void
dispatch_ready(struct dispatch *d, const char *note)
{
	struct exec_msg m;

	if (d->cfg->bounded)
		(void)snprintf(d->note, sizeof(d->note), "%s", note);
	else
		d->userns = ns_trial(d->note, sizeof(d->note)) == 0;
	memset(&m, 0, sizeof(m));
	m.op = EXEC_HELLO;
	m.u.hello.version = CHANNEL_VERSION;
	(void)snprintf(m.u.hello.software, sizeof(m.u.hello.software),
	    "errand %s", ERRAND_VERSION);
	m.u.hello.userns = (uint8_t)d->userns;
	m.u.hello.bounded = (uint8_t)d->cfg->bounded;
	memcpy(m.u.hello.note, d->note, sizeof(m.u.hello.note));
	send_msg(d, &m);
}

void
dispatch_free(struct dispatch *d)
{
	struct kept *k;

	if (d == NULL)
		return;
	while ((k = LIST_FIRST(&d->kept)) != NULL)
		kept_free(k);
	chan_free(d->chan);
	free(d);
}
