/*
 * The channel to errand-exec: sends PREPARE, hears HELLO and GONE.  What
 * keepers say comes on channels of their own, in sandbox_dispatch.c and
 * job_dispatch.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "config.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/log.h"
#include "roles.h"
#include "sandbox_leave.h"
#include "sandbox_pool.h"
#include "sup.h"

struct exec_link {
	struct sup *sup;
	struct child *child;
	void (*up)(struct sup *);
	void (*down)(struct sup *);
	int userns;
	int bounded;            /* without them all the same */
	char note[LIMIT_TEXT];
	uint8_t buf[CHAN_MSG_MAX];
};

static int
on_hello(struct exec_link *x, const struct exec_msg *m)
{
	if (child_state(x->child) != CHILD_STARTING)
		return (-1);
	if (m->u.hello.version != CHANNEL_VERSION) {
		log_warnx("exec: speaks version %u of the channel, not %u; "
		    "install programs of one release", m->u.hello.version,
		    CHANNEL_VERSION);
		return (-1);
	}
	x->userns = m->u.hello.userns;
	memcpy(x->note, m->u.hello.note, sizeof(x->note));
	x->bounded = m->u.hello.bounded && !x->userns &&
	    !x->sup->cfg->rootless;
	if (x->bounded)
		log_warnx("exec: sandboxes are made in bounded mode: %s",
		    x->note);
	else if (!x->userns)
		log_warnx("exec: no sandboxes here: %s", x->note);
	child_event(x->child, CHILD_READY);
	return (0);
}

/* Those of settled jobs are forgotten: keepers end after their result. */
static int
on_gone_msg(struct exec_link *x, const struct exec_msg *m)
{
	struct sandbox *b;

	if (child_state(x->child) != CHILD_UP)
		return (-1);
	if ((b = sandbox_pool_find(x->sup->sandboxes,
	    m->u.gone.sandbox)) != NULL)
		sandbox_gone(b, m->u.gone.status);
	else
		leavers_gone(x->sup->leavers, m->u.gone.sandbox,
		    m->u.gone.status);
	return (0);
}

static const struct route {
	uint8_t op;
	int (*fn)(struct exec_link *, const struct exec_msg *);
} routes[] = {
	{ EXEC_HELLO, on_hello },
	{ EXEC_GONE,  on_gone_msg },
};

static int
on_msg(void *cookie, const uint8_t *buf, size_t len, int *fds, size_t nfds)
{
	struct exec_link *x = cookie;
	struct exec_msg m;
	size_t i;

	(void)fds;
	if (nfds != 0 || exec_msg_parse(buf, len, &m) == -1)
		return (-1);
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (routes[i].op == m.op)
			return (routes[i].fn(x, &m));
	return (-1);
}

static void
on_up(void *cookie)
{
	struct exec_link *x = cookie;

	sandbox_pool_exec_up(x->sup->sandboxes);
	x->up(x->sup);
}

static void
on_gone(void *cookie)
{
	struct exec_link *x = cookie;

	x->userns = x->bounded = 0;
	x->note[0] = '\0';
	jobs_exec_lost(x->sup->jobs);
	sandbox_pool_exec_lost(x->sup->sandboxes);
	leavers_lost(x->sup->leavers);
}

static void
on_down(void *cookie)
{
	struct exec_link *x = cookie;

	x->down(x->sup);
}

static const struct child_ops ops = { on_msg, on_up, on_gone, on_down };

struct exec_link *
exec_link_new(struct sup *sup, void (*up)(struct sup *),
    void (*down)(struct sup *))
{
	struct exec_link *x;
	struct child_init init = {
		.base = sup->base, .cfg = sup->cfg, .role = &roles[ROLE_EXEC],
		.uid = sup->exec_uid, .level = sup->log_level, .ops = &ops
	};

	if ((x = calloc(1, sizeof(*x))) == NULL)
		goto err0;
	x->sup = sup;
	x->up = up;
	x->down = down;
	init.cookie = x;
	if ((x->child = child_new(&init)) == NULL)
		goto err1;
	return (x);

err1:
	free(x);
err0:
	return (NULL);
}

void
exec_link_free(struct exec_link *x)
{
	if (x == NULL)
		return;
	child_free(x->child);
	free(x);
}

struct child *
exec_link_child(struct exec_link *x)
{
	return (x->child);
}

int
exec_link_ready(const struct exec_link *x, const char **why)
{
	*why = NULL;
	if (child_state(x->child) != CHILD_UP)
		return (0);
	if (!x->userns && !x->bounded)
		*why = x->note;
	return (x->userns || x->bounded);
}

int
exec_link_bounded(const struct exec_link *x, const char **why)
{
	if (why != NULL)
		*why = x->note;
	return (child_state(x->child) == CHILD_UP && x->bounded);
}

int
exec_link_prepare(struct exec_link *x, const struct exec_msg *m, int *fds,
    size_t nfds)
{
	ssize_t n;

	if ((n = exec_msg_pack(m, x->buf, sizeof(x->buf))) == -1) {
		while (nfds > 0)
			io_close(&fds[--nfds]);
		return (-1);
	}
	return (child_send(x->child, x->buf, (size_t)n, fds, nfds));
}
