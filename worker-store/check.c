/*
 * CHECK: what is missing below a root.  Reads the index and trees; writes
 * nothing but marks in memory of what is complete.
 */
#include <errno.h>
#include <stdlib.h>

#include "fault.h"
#include "handlers.h"
#include "lease.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "proto/limits.h"
#include "store.h"
#include "walk.h"
#include "walks.h"

struct check {
	struct ask ask;         /* its peer is held */
	struct walk *walk;
};

static void
check_free(void *cookie)
{
	struct check *c = cookie;

	walk_free(c->walk);
	peer_release(c->ask.peer);
	free(c);
}

/* What is missing, as the reply carries it.  A descriptor, or -1. */
static int
missing_fd(const struct walk *w)
{
	size_t n = walk_missing(w), len, i;
	uint8_t *buf;
	int fd = -1;

	if (size_mul(n, OBJ_REF_LEN, &len) == -1 || NEW_ARRAY(buf, len) == -1)
		return (-1);
	for (i = 0; i < n; i++)
		obj_ref_encode(walk_missing_get(w, i), buf + i * OBJ_REF_LEN);
	fd = memfd_make("missing", buf, len);
	free(buf);
	return (fd);
}

static void
fail(const struct check *c, int err)
{
	struct err e;

	fault_errno(&e, err, err == EBADMSG ? walk_at(c->walk) : NULL);
	ask_err(&c->ask, &e);
}

static void
check_done(void *cookie, int rc)
{
	struct check *c = cookie;
	struct store_msg ok = { 0 };
	int fd = -1;

	c->ask.peer->waiting--;
	if (rc == -1) {
		fail(c, errno);
		goto done;
	}
	/* The PUBLISH that comes next need not look again. */
	if (walk_missing(c->walk) == 0)
		walk_mark_pending(c->walk);
	else if ((fd = missing_fd(c->walk)) == -1) {
		fail(c, errno);
		goto done;
	}
	ok.u.ok.objects = (uint32_t)walk_missing(c->walk);
	ask_ok(&c->ask, &ok, fd);
done:
	check_free(c);
}

void
on_check(const struct ask *a, const struct store_msg *m, int *fds)
{
	struct store *st = a->peer->st;
	struct check *c;
	struct err e;

	(void)fds;
	if ((c = calloc(1, sizeof(*c))) == NULL)
		goto err0;
	c->ask = *a;
	peer_hold(a->peer);
	if ((c->walk = walk_new(st, a->peer->tenant,
	    LIMIT_NEED_REFS)) == NULL)
		goto err1;
	if (lease_root(a->peer, &m->u.check.root) == -1)
		goto err1;
	walk_root(c->walk, &m->u.check.root);
	a->peer->waiting++;
	if (walks_run(st->walks, c->walk, check_done, check_free, c) == -1) {
		a->peer->waiting--;
		goto err1;
	}
	return;

err1:
	check_free(c);
err0:
	fault_errno(&e, ENOMEM, NULL);
	ask_err(a, &e);
}
