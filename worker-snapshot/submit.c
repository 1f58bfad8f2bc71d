/*
 * The client's SUBMIT.  Asks the store whether all is there and hands the job
 * to the supervisor, with the values of its environment in a memfd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "dispatch.h"
#include "follow.h"
#include "handlers.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/size.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

/*
 * SUBMIT.  The tree and the spec must be complete in the store; otherwise the
 * client is told what is missing, sends that, and submits again.
 *
 * Invariants of struct submit:
 *  1. env_fd is not -1 exactly while values that the client sent are ours: at
 *     env_map until they are sealed, and then the supervisor's.
 *  2. checks is the number of CHECKs without an answer; asked says that they
 *     were sent, so that it happens once.
 *  3. nneed references are at need.
 */
struct submit {
	struct job_submit sub;
	int env_fd;
	uint8_t *env_map;
	size_t env_len;
	uint8_t asked;
	unsigned int checks;
	uint8_t *need;
	size_t nneed;
};

void
submit_open(struct stream *st, const struct client_open *o)
{
	struct submit *sm;

	if (NEW_ARRAY(sm, 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	st->priv = sm;
	sm->sub = o->submit;
	sm->env_fd = -1;
}

void
submit_done(struct stream *st)
{
	struct submit *sm = st->priv;

	if (sm == NULL)
		return;
	memfd_unmap(sm->env_map, LIMIT_ENV_BYTES);
	io_close(&sm->env_fd);
	free(sm->need);
	free(sm);
}

/* Values of the environment: kept in a memfd, never looked at. */
void
submit_take(struct stream *st, const uint8_t *p, size_t len)
{
	struct submit *sm = st->priv;

	if (len > LIMIT_ENV_BYTES - sm->env_len) {
		stream_failf(st, ERR_LIMIT, "the environment is larger than "
		    "%d bytes", LIMIT_ENV_BYTES);
		return;
	}
	if (sm->env_fd == -1) {
		sm->env_fd = memfd_open("values", LIMIT_ENV_BYTES,
		    &sm->env_map);
		if (sm->env_fd == -1) {
			stream_failf(st, ERR_INTERNAL,
			    "the host ran out of memory");
			return;
		}
	}
	memcpy(sm->env_map + sm->env_len, p, len);
	sm->env_len += len;
	(void)frame_consumed(conn_frames(st->s->conn), st->id, len);
}

/* Seal the values.  0, or -1 when the stream was failed. */
static int
env_close(struct stream *st)
{
	struct submit *sm = st->priv;
	uint8_t *map = sm->env_map;

	if (sm->env_fd == -1)
		return (0);
	if (map[sm->env_len - 1] != '\0') {
		stream_failf(st, ERR_INVALID,
		    "the last value of the environment is cut off");
		return (-1);
	}
	sm->env_map = NULL;
	if (memfd_seal(sm->env_fd, map, LIMIT_ENV_BYTES, sm->env_len) == -1) {
		stream_failf(st, ERR_INTERNAL,
		    "the host could not keep the environment");
		return (-1);
	}
	return (0);
}

void
submit_end(struct stream *st)
{
	(void)env_close(st);
	/* The look that follows every event goes on from here. */
}

static void
on_submitted(void *cookie, const struct snap_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct submit *sm = st->priv;
	struct client_reply r;

	(void)fd;
	if (m->op == SNAP_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	memset(&r, 0, sizeof(r));
	r.kind = CLIENT_ACCEPTED;
	r.existed = m->u.submitted.existed;
	memcpy(r.record.id, m->u.submitted.job, sizeof(r.record.id));
	r.record.state = m->u.submitted.state;
	if (!r.existed)
		r.record.times.submitted = io_real_us();
	stream_reply(st, &r, !sm->sub.detach);
	if (!sm->sub.detach)
		follow_start(st, r.record.id,
		    FOLLOW_LOG | FOLLOW_STATES | FOLLOW_STAY, 0, NULL);
}

static void
hand_over(struct stream *st)
{
	struct submit *sm = st->priv;
	struct snap_msg *m = sup_msg(st->s->sup, SNAP_SUBMIT);
	int fd = sm->env_fd;

	sm->env_fd = -1;
	m->u.submit = sm->sub;
	sup_request(st->s->sup, fd, on_submitted, st);
}

static void
send_need(struct stream *st)
{
	struct submit *sm = st->priv;

	stream_data(st, FRAME_REFS, sm->need, sm->nneed * OBJ_REF_LEN);
	stream_count(st, CLIENT_NEED, sm->nneed, 0);
}

/* Add what an answer to CHECK names.  0, or -1 when it is malformed. */
static int
need_add(struct submit *sm, const struct store_msg *m, int fd)
{
	const uint8_t *map;
	size_t len, n = m->u.ok.objects;
	uint8_t *p;

	if (n == 0)
		return (0);
	if (fd == -1 || n > LIMIT_NEED_REFS ||
	    memfd_map(fd, (size_t)LIMIT_NEED_REFS * OBJ_REF_LEN, &map,
	    &len) == -1)
		return (-1);
	/* The rest is told when these have come. */
	if (n > LIMIT_NEED_REFS - sm->nneed)
		n = LIMIT_NEED_REFS - sm->nneed;
	if (len != m->u.ok.objects * (size_t)OBJ_REF_LEN)
		goto err0;
	p = realloc(sm->need, (sm->nneed + n + 1) * OBJ_REF_LEN);
	if (p == NULL)
		goto err0;
	sm->need = p;
	memcpy(p + sm->nneed * OBJ_REF_LEN, map, n * OBJ_REF_LEN);
	sm->nneed += n;
	memfd_unmap(map, len);
	return (0);

err0:
	memfd_unmap(map, len);
	return (-1);
}

static void
on_checked(void *cookie, const struct store_msg *m, int *fd)
{
	struct stream *st = cookie;
	struct submit *sm = st->priv;

	sm->checks--;
	if (st->over)
		return;
	if (m->op == STORE_ERROR) {
		stream_fail(st, &m->u.error);
		return;
	}
	if (need_add(sm, m, *fd) == -1) {
		stream_failf(st, ERR_INTERNAL,
		    "the host's store gave a malformed answer");
		return;
	}
	if (sm->checks > 0)
		return;
	if (sm->nneed > 0)
		send_need(st);
	else
		hand_over(st);
}

static void
check(struct stream *st, const struct obj_ref *ref)
{
	struct submit *sm = st->priv;
	struct store_msg m;

	if (ref->kind == OBJ_NONE)
		return;
	memset(&m, 0, sizeof(m));
	m.op = STORE_CHECK;
	m.u.check.root = *ref;
	sm->checks++;
	store_request(st->s->store, &m, -1, on_checked, st);
}

/* Is an upload that the client began before still under way? */
static int
upload_is_open(const struct stream *st)
{
	const struct stream *up;
	size_t i;

	for (i = 0; i < st->s->nstreams; i++) {
		up = st->s->streams[i];
		if (up->id < st->id && !up->over &&
		    up->route->verb == CLIENT_UPLOAD)
			return (1);
	}
	return (0);
}

/*
 * DATA of an upload may come after a SUBMIT that was sent later: control
 * frames overtake it.  So the check waits until earlier uploads are through,
 * or it would ask for what is on its way.
 */
void
submit_kick(struct stream *st)
{
	struct submit *sm = st->priv;

	if (!st->ended || sm->asked || upload_is_open(st))
		return;
	sm->asked = 1;
	check(st, &sm->sub.root);
	check(st, &sm->sub.spec);
	if (sm->checks == 0)
		stream_failf(st, ERR_INVALID, "the job has no spec");
}
