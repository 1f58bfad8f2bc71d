#ifndef ERRAND_TEST_SNAP_WORLD_H
#define ERRAND_TEST_SNAP_WORLD_H

/*
 * A real errand-snapshot with everything around it played by the test: the
 * supervisor, the store, and the client at the other end of the connection.
 * One loop, world_step, serves all three; tests say what they wait for.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/chan.h"
#include "lib/content.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/joblog.h"
#include "lib/le.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/tree.h"
#include "proto/client_msg.h"
#include "proto/snapshot_msg.h"
#include "proto/store_msg.h"

/* No test needs all of it. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define WORKER_UID      1879048200U
#define NCHANNELS       8       /* of DATA */
#define MAXOBJ          8192
#define MAXJOBS         32
#define MAXSTREAMS      128
#define WAIT_MS         20000

struct obj {
	struct obj_ref ref;
	uint8_t *raw;
	size_t len;
};

/* What the client saw on a stream. */
struct seen {
	uint32_t id;
	uint8_t *data[NCHANNELS];
	size_t len[NCHANNELS];
	unsigned int nreplies;
	unsigned int njobs;             /* JOB among them */
	struct client_reply first;
	struct client_reply last;
	int done;                       /* last REPLY */
	int reset;
	struct err err;
};

struct world {
	/* the process */
	pid_t pid;
	int status;
	int exited;
	/* supervisor */
	int sup;
	int hello;
	struct snap_msg in;
	struct snap_msg out;
	struct err deny;                /* code: refuse BIND */
	int bind_wait;                  /* do not answer BIND yet */
	uint64_t bind_id;
	char bind_tenant[TENANT_NAME_MAX + 1];
	unsigned int nmsgs;             /* the worker sent, on both channels */
	char job[JOB_ID_LEN + 1];       /* id of the next job */
	struct job_submit submit;
	uint8_t *values;
	size_t nvalues;
	int log_fd;                     /* the job's, or -1 */
	int ended;                      /* WATCHED says so */
	char watched[JOB_ID_LEN + 1];
	unsigned int nwatch;
	char signalled[JOB_ID_LEN + 1];
	int signal;
	struct snap_live live[4];
	unsigned int nlive;
	/* store */
	int store;
	struct obj *objs;
	size_t nobjs;
	struct job_record jobs[MAXJOBS];        /* newest first */
	size_t njobs;
	int mute;                       /* the store does not even read */
	int put_wait;                   /* keep PUTs unanswered */
	uint64_t puts[256];
	unsigned int nputs;             /* unanswered */
	unsigned int puts_max;
	uint64_t put_bytes;             /* in memfds that are unanswered */
	/* client */
	int sock;
	struct frame_conn *fc;
	int eof;
	int hello_seen;
	struct client_hello host;
	int goaway;
	struct err bye;
	int no_read;                    /* the client does not read */
	int no_credit;                  /* it reads but grants nothing */
	int raw;                        /* frames are not checked, and those
					 * of streams only counted */
	unsigned int nframes;
	size_t raw_len;
	uint8_t raw_buf[2 * FRAME_BODY_MAX];
	struct seen streams[MAXSTREAMS];
	size_t nstreams;
};

/* --- objects --- */

static struct obj *
obj_find(struct world *w, const struct obj_ref *ref)
{
	size_t i;

	for (i = 0; i < w->nobjs; i++) {
		if (obj_ref_equal(&w->objs[i].ref, ref))
			return (&w->objs[i]);
	}
	return (NULL);
}

static void
obj_add(struct world *w, const struct obj_ref *ref, const void *raw,
    size_t len)
{
	struct obj *o;

	if (obj_find(w, ref) != NULL)
		return;
	assert_true(w->nobjs < MAXOBJ);
	o = &w->objs[w->nobjs++];
	o->ref = *ref;
	o->raw = malloc(len);
	o->len = len;
	memcpy(o->raw, raw, len);
}

static int
world_sink(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	obj_add(cookie, ref, buf, len);
	return (0);
}

static int
bytes_sink(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	uint8_t **p = cookie;   /* p[0] grows at p[1] */
	size_t n;

	assert_int_equal(objrec_pack(ref, buf, len, p[1], &n), 0);
	p[1] += n;
	return (0);
}

/* --- the supervisor --- */

static void
sup_send(struct world *w, int fd)
{
	static uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	n = snap_msg_pack(&w->out, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(chan_send_wait(w->sup, buf, (size_t)n, &fd,
	    fd != -1), 0);
	io_close(&fd);
}

static struct snap_msg *
sup_out(struct world *w, uint8_t op, uint64_t id)
{
	memset(&w->out, 0, sizeof(w->out));
	w->out.op = op;
	w->out.id = id;
	return (&w->out);
}

static void
sup_bound(struct world *w)
{
	struct snap_msg *m = sup_out(w, SNAP_BOUND, w->bind_id);
	int sv[2];

	assert_int_equal(chan_pair(sv), 0);
	w->store = sv[0];
	strcpy(m->u.bound.tenant, "mara");
	memset(m->u.bound.host_key, 7, 32);
	strcpy(m->u.bound.host, "testhost");
	m->u.bound.cpus = 4;
	m->u.bound.memory = 1 << 30;
	m->u.bound.limits.pids = 99;
	sup_send(w, sv[1]);
}

static void
sup_event(struct world *w, const char *job, uint8_t state,
    const struct job_record *rec)
{
	struct snap_msg *m = sup_out(w, SNAP_JOB, 0);

	strcpy(m->u.job.job, job);
	m->u.job.state = state;
	if (rec != NULL) {
		m->u.job.record = *rec;
		m->u.job.has_record = 1;
	}
	sup_send(w, -1);
}

static void
sup_grew(struct world *w, const char *job, uint64_t bytes)
{
	struct snap_msg *m = sup_out(w, SNAP_LOG, 0);

	strcpy(m->u.log.job, job);
	m->u.log.bytes = bytes;
	sup_send(w, -1);
}

static void
sup_on_submit(struct world *w, int *fd)
{
	const uint8_t *map;
	struct snap_msg *m;
	uint64_t id = w->in.id;

	w->submit = w->in.u.submit;
	if (*fd != -1) {
		assert_int_equal(memfd_map(*fd, LIMIT_ENV_BYTES, &map,
		    &w->nvalues), 0);
		w->values = malloc(w->nvalues + 1);
		memcpy(w->values, map, w->nvalues);
		memfd_unmap(map, w->nvalues);
	}
	m = sup_out(w, SNAP_SUBMITTED, id);
	strcpy(m->u.submitted.job, w->job);
	m->u.submitted.state = JOB_STARTING;
	sup_send(w, -1);
}

static void
sup_on_watch(struct world *w)
{
	struct snap_msg *m;
	uint64_t id = w->in.id;
	int fd = -1;

	w->nwatch++;
	strcpy(w->watched, w->in.u.watch.job);
	if (w->in.u.watch.log && w->log_fd != -1) {
		char path[64];

		/* Read-only, as the supervisor hands it out. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", w->log_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd != -1);
	}
	m = sup_out(w, SNAP_WATCHED, id);
	m->u.watched.active = !w->ended;
	m->u.watched.state = JOB_RUNNING;
	sup_send(w, fd);
}

static void
sup_on_admin(struct world *w)
{
	uint64_t id = w->in.id;
	uint32_t after = w->in.u.admin.after, i;
	uint8_t verb = w->in.u.admin.verb;
	struct snap_msg *m = sup_out(w, SNAP_OK, id);

	m->reply_to = SNAP_ADMIN;
	m->u.admin_ok.verb = verb;
	if (verb == SNAP_ADMIN_STATUS) {
		strcpy(m->u.admin_ok.status.version, "0.1.0");
		m->u.admin_ok.status.slots = 5;
	} else {
		/* 70 tenants, ids 1 to 70 */
		for (i = 0; i < 32 && after + i + 1 <= 70; i++) {
			struct tenant_info *t = &m->u.admin_ok.tenants[i];

			snprintf(t->name, sizeof(t->name), "t%u",
			    after + i + 1);
			t->id = after + i + 1;
		}
		m->u.admin_ok.ntenants = i;
	}
	sup_send(w, -1);
}

static void
sup_handle(struct world *w, int *fd)
{
	struct snap_msg *m;
	uint64_t id = w->in.id;

	switch (w->in.op) {
	case SNAP_HELLO:
		w->hello = 1;
		break;
	case SNAP_BIND:
		w->bind_id = id;
		strcpy(w->bind_tenant, w->in.u.bind.tenant);
		if (w->deny.code != ERR_NONE) {
			sup_out(w, SNAP_ERROR, id)->u.error = w->deny;
			sup_send(w, -1);
		} else if (!w->bind_wait)
			sup_bound(w);
		break;
	case SNAP_SUBMIT:
		sup_on_submit(w, fd);
		break;
	case SNAP_WATCH:
		sup_on_watch(w);
		break;
	case SNAP_SIGNAL:
		strcpy(w->signalled, w->in.u.signal.job);
		w->signal = w->in.u.signal.signal;
		sup_out(w, SNAP_OK, id)->reply_to = SNAP_SIGNAL;
		sup_send(w, -1);
		break;
	case SNAP_LIVE:
		m = sup_out(w, SNAP_OK, id);
		m->reply_to = SNAP_LIVE;
		m->u.live.n = w->nlive;
		memcpy(m->u.live.jobs, w->live, sizeof(w->live));
		sup_send(w, -1);
		break;
	case SNAP_ADMIN:
		sup_on_admin(w);
		break;
	default:
		fail_msg("the worker sent op %u", w->in.op);
	}
}

static void
sup_step(struct world *w)
{
	static uint8_t buf[CHAN_MSG_MAX];
	int fds[CHAN_FDS_MAX], fd = -1;
	size_t nfds = CHAN_FDS_MAX;
	ssize_t n;

	n = chan_recv_wait(w->sup, buf, sizeof(buf), fds, &nfds, 1000);
	if (n == 0) {
		io_close(&w->sup);
		return;
	}
	assert_true(n > 0);
	assert_true(nfds <= 1);
	if (nfds == 1)
		fd = fds[0];
	assert_int_equal(snap_msg_parse(buf, (size_t)n, &w->in), 0);
	w->nmsgs++;
	sup_handle(w, &fd);
	io_close(&fd);
}

/* --- the store --- */

static void
store_send(struct world *w, struct store_msg *m, int fd)
{
	static uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	n = store_msg_pack(m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(chan_send_wait(w->store, buf, (size_t)n, &fd,
	    fd != -1), 0);
	io_close(&fd);
}

static void
store_ok(struct store_msg *m, const struct store_msg *q)
{
	memset(m, 0, sizeof(*m));
	m->id = q->id;
	m->op = STORE_OK;
	m->reply_to = q->op;
}

static void
store_refuse(struct world *w, const struct store_msg *q, enum err_code code,
    const char *text)
{
	struct store_msg m;

	store_ok(&m, q);
	m.op = STORE_ERROR;
	(void)err_set(&m.u.error, code, "%s", text);
	store_send(w, &m, -1);
}

static void
store_put(struct world *w, const struct store_msg *q, int fd)
{
	const uint8_t *map;
	struct objrec rec;
	struct obj_ref ref;
	struct store_msg m;
	size_t len, at;
	uint32_t n = 0;

	assert_int_equal(memfd_map(fd, LIMIT_PUT_BYTES, &map, &len), 0);
	for (at = 0; at < len; at += OBJREC_HEAD + rec.len, n++) {
		assert_int_equal(objrec_decode(map + at, &rec), 0);
		assert_int_equal(rec.codec, OBJREC_RAW);
		assert_int_equal(obj_ref_of(rec.ref.kind,
		    map + at + OBJREC_HEAD, rec.len, &ref), 0);
		assert_true(obj_ref_equal(&ref, &rec.ref));
		if (w->nobjs < MAXOBJ)
			obj_add(w, &ref, map + at + OBJREC_HEAD, rec.len);
	}
	memfd_unmap(map, len);
	assert_int_equal(n, q->u.put.objects);
	assert_true(n <= LIMIT_PUT_OBJECTS);
	w->put_bytes += len;
	if (w->put_wait) {
		assert_true(w->nputs < 256);
		w->puts[w->nputs++] = q->id;
		if (w->nputs > w->puts_max)
			w->puts_max = w->nputs;
		return;
	}
	store_ok(&m, q);
	m.u.ok.objects = n;
	m.u.ok.bytes = len - n * OBJREC_HEAD;
	store_send(w, &m, -1);
}

/* Answer the PUTs that were kept. */
static void
store_puts_release(struct world *w)
{
	struct store_msg m;
	unsigned int i;

	for (i = 0; i < w->nputs; i++) {
		memset(&m, 0, sizeof(m));
		m.id = w->puts[i];
		m.op = STORE_OK;
		m.reply_to = STORE_PUT;
		m.u.ok.objects = 1;
		store_send(w, &m, -1);
	}
	w->nputs = 0;
	w->put_bytes = 0;
}

struct missing {
	struct world *w;
	uint8_t *refs;
	uint32_t n;
};

static int
missing_add(void *cookie, const struct obj_ref *ref)
{
	struct missing *ms = cookie;
	struct obj *o;

	if ((o = obj_find(ms->w, ref)) == NULL) {
		ms->refs = realloc(ms->refs, (ms->n + 1) * OBJ_REF_LEN);
		obj_ref_encode(ref, ms->refs + ms->n++ * OBJ_REF_LEN);
		return (0);
	}
	if (ref->kind == OBJ_CHUNK)
		return (0);
	return (obj_children(ref->kind, o->raw, o->len, missing_add, ms));
}

static void
store_check(struct world *w, const struct store_msg *q)
{
	struct missing ms = { w, NULL, 0 };
	struct store_msg m;
	int fd = -1;

	assert_int_equal(missing_add(&ms, &q->u.check.root), 0);
	store_ok(&m, q);
	m.u.ok.objects = ms.n;
	if (ms.n > 0)
		fd = memfd_make("missing", ms.refs, ms.n * OBJ_REF_LEN);
	free(ms.refs);
	store_send(w, &m, fd);
}

static void
store_get(struct world *w, const struct store_msg *q, int fd)
{
	static uint8_t out[LIMIT_GET_BYTES];
	const uint8_t *map;
	struct objrec rec;
	struct obj_ref ref;
	struct store_msg m;
	struct obj *o;
	size_t len, n = 0;
	uint32_t i;

	assert_int_equal(memfd_map(fd, LIMIT_GET_OBJECTS * OBJ_REF_LEN, &map,
	    &len), 0);
	assert_int_equal(len, q->u.get.refs * OBJ_REF_LEN);
	for (i = 0; i < q->u.get.refs; i++) {
		assert_int_equal(obj_ref_decode(map + i * OBJ_REF_LEN, &ref),
		    0);
		if ((o = obj_find(w, &ref)) == NULL ||
		    n + OBJREC_HEAD + o->len > sizeof(out))
			break;
		memset(&rec, 0, sizeof(rec));
		rec.ref = ref;
		rec.raw_len = rec.len = (uint32_t)o->len;
		objrec_encode(&rec, out + n);
		memcpy(out + n + OBJREC_HEAD, o->raw, o->len);
		n += OBJREC_HEAD + o->len;
	}
	memfd_unmap(map, len);
	if (i == 0) {
		store_refuse(w, q, ERR_MISSING, "an object is not there");
		return;
	}
	store_ok(&m, q);
	m.u.ok.objects = i;
	store_send(w, &m, memfd_make("got", out, n));
}

static struct job_record *
store_job(struct world *w, const char *id)
{
	size_t i;

	for (i = 0; i < w->njobs; i++) {
		if (strcmp(w->jobs[i].id, id) == 0)
			return (&w->jobs[i]);
	}
	return (NULL);
}

static void
store_job_get(struct world *w, const struct store_msg *q)
{
	static uint8_t rec[LIMIT_RECORD];
	struct job_record *j;
	struct store_msg m;

	if ((j = store_job(w, q->u.job.job)) == NULL) {
		store_refuse(w, q, ERR_NOT_FOUND, "no such job");
		return;
	}
	store_ok(&m, q);
	if (q->op == STORE_RECEIPT_GET) {
		m.u.ok.data.p = (const uint8_t *)"a receipt";
		m.u.ok.data.len = 9;
	} else {
		m.u.ok.data.p = rec;
		m.u.ok.data.len = (size_t)job_record_pack(j, rec, sizeof(rec));
	}
	store_send(w, &m, -1);
}

static void
store_job_list(struct world *w, const struct store_msg *q)
{
	static uint8_t out[MAXJOBS * (4 + LIMIT_RECORD)];
	struct store_msg m;
	size_t at = 0;
	uint32_t i;
	ssize_t n;

	for (i = 0; i < w->njobs && i < q->u.list.limit; i++) {
		n = job_record_pack(&w->jobs[i], out + at + 4, LIMIT_RECORD);
		assert_true(n > 0);
		le_put32(out + at, (uint32_t)n);
		at += 4 + (size_t)n;
	}
	store_ok(&m, q);
	m.u.ok.objects = i;
	store_send(w, &m, i == 0 ? -1 : memfd_make("list", out, at));
}

static void
store_step(struct world *w)
{
	static uint8_t buf[CHAN_MSG_MAX];
	int fds[CHAN_FDS_MAX], fd = -1;
	size_t nfds = CHAN_FDS_MAX;
	struct store_msg m;
	ssize_t n;

	n = chan_recv_wait(w->store, buf, sizeof(buf), fds, &nfds, 1000);
	if (n == 0) {
		io_close(&w->store);
		return;
	}
	assert_true(n > 0);
	if (nfds == 1)
		fd = fds[0];
	assert_int_equal(store_msg_parse(buf, (size_t)n, &m), 0);
	w->nmsgs++;
	switch (m.op) {
	case STORE_PUT:
		store_put(w, &m, fd);
		break;
	case STORE_CHECK:
		store_check(w, &m);
		break;
	case STORE_GET:
		store_get(w, &m, fd);
		break;
	case STORE_JOB_GET:
	case STORE_RECEIPT_GET:
		store_job_get(w, &m);
		break;
	case STORE_JOB_LIST:
		store_job_list(w, &m);
		break;
	default:
		fail_msg("the worker asked the store op %u", m.op);
	}
	io_close(&fd);
}

/* --- the client --- */

static struct seen *
seen_of(struct world *w, uint32_t id)
{
	size_t i;

	for (i = 0; i < w->nstreams; i++) {
		if (w->streams[i].id == id)
			return (&w->streams[i]);
	}
	assert_true(w->nstreams < MAXSTREAMS);
	w->streams[w->nstreams].id = id;
	return (&w->streams[w->nstreams++]);
}

static void
client_data(struct world *w, struct seen *s, const struct frame *f)
{
	uint8_t *p;

	assert_true(f->flags < NCHANNELS);
	p = realloc(s->data[f->flags], s->len[f->flags] + f->len);
	assert_non_null(p);
	memcpy(p + s->len[f->flags], f->body, f->len);
	s->data[f->flags] = p;
	s->len[f->flags] += f->len;
	if (!w->no_credit)
		assert_int_equal(frame_consumed(w->fc, s->id, f->len), 0);
}

static void
client_reply(struct seen *s, const struct frame *f)
{
	client_reply_done(&s->last);
	assert_int_equal(client_reply_parse(f->body, f->len, &s->last), 0);
	if (s->nreplies++ == 0)
		s->first = s->last;
	s->njobs += s->last.kind == CLIENT_JOB;
	if ((f->flags & FRAME_MORE) == 0)
		s->done = 1;
}

static int
client_frame(void *cookie, const struct frame *f)
{
	struct world *w = cookie;
	struct seen *s;

	switch (f->type) {
	case FRAME_HELLO:
		w->hello_seen = 1;
		return (client_hello_parse(f->body, f->len, &w->host));
	case FRAME_GOAWAY:
		w->goaway = 1;
		return (err_parse(f->body, f->len, &w->bye));
	case FRAME_DATA:
		client_data(w, seen_of(w, f->stream), f);
		return (0);
	case FRAME_REPLY:
		client_reply(seen_of(w, f->stream), f);
		return (0);
	case FRAME_RESET:
		s = seen_of(w, f->stream);
		s->reset = 1;
		return (f->len == 0 ? 0 : err_parse(f->body, f->len, &s->err));
	default:
		return (0);
	}
}

static void
client_write(struct world *w)
{
	const uint8_t *p;
	size_t len;
	ssize_t n;

	while (w->sock != -1 && (len = frame_out(w->fc, &p)) > 0) {
		n = send(w->sock, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1)
			return;
		frame_out_done(w->fc, (size_t)n);
	}
}

/* For tests that send frames by hand, of streams that fc does not know. */
static void
client_raw(struct world *w, const uint8_t *p, size_t len)
{
	struct frame f;
	size_t at = 0;

	assert_true(len <= sizeof(w->raw_buf) - w->raw_len);
	memcpy(w->raw_buf + w->raw_len, p, len);
	w->raw_len += len;
	for (; w->raw_len - at >= FRAME_HEAD; at += FRAME_HEAD + f.len) {
		f.len = le_get32(w->raw_buf + at);
		assert_true(f.len <= FRAME_BODY_MAX);
		if (w->raw_len - at - FRAME_HEAD < f.len)
			break;
		f.stream = le_get32(w->raw_buf + at + 4);
		f.type = w->raw_buf[at + 8];
		f.flags = w->raw_buf[at + 9];
		f.body = w->raw_buf + at + FRAME_HEAD;
		if (f.stream == 0)
			assert_int_equal(client_frame(w, &f), 0);
		else
			w->nframes++;
	}
	w->raw_len -= at;
	memmove(w->raw_buf, w->raw_buf + at, w->raw_len);
}

static void
client_read(struct world *w)
{
	static uint8_t buf[65536];
	ssize_t n;

	n = recv(w->sock, buf, sizeof(buf), MSG_DONTWAIT);
	if (n == -1 && errno == EAGAIN)
		return;
	if (n <= 0) {
		w->eof = 1;
		io_close(&w->sock);
		return;
	}
	if (w->raw)
		client_raw(w, buf, (size_t)n);
	else if (frame_feed(w->fc, buf, (size_t)n) == -1)
		fail_msg("the worker broke the protocol: %s",
		    frame_fault(w->fc));
}

/* --- the loop --- */

static void
world_step(struct world *w, int ms)
{
	struct pollfd p[3];
	const uint8_t *out;

	client_write(w);
	p[0] = (struct pollfd){ .fd = w->sup, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = w->mute ? -1 : w->store,
	    .events = POLLIN };
	p[2] = (struct pollfd){ .fd = w->no_read ? -1 : w->sock,
	    .events = POLLIN };
	if (p[2].fd != -1 && frame_out(w->fc, &out) > 0)
		p[2].events |= POLLOUT;
	(void)poll(p, 3, ms);
	if (p[0].revents != 0)
		sup_step(w);
	if (p[1].revents != 0)
		store_step(w);
	if (p[2].revents & ~POLLOUT)
		client_read(w);
}

/* Step until the condition holds; fail after WAIT_MS. */
#define world_until(w, cond) do { \
	uint64_t world_end = io_mono_us() + WAIT_MS * 1000; \
	while (!(cond)) { \
		if (io_mono_us() > world_end) \
			fail_msg("waited in vain for %s", #cond); \
		world_step((w), 50); \
	} \
} while (0)

/* Step for a while, for what must not happen. */
static void
world_quiet(struct world *w, int ms)
{
	uint64_t end = io_mono_us() + (uint64_t)ms * 1000;

	while (io_mono_us() < end)
		world_step(w, 10);
}

static int
world_exited(struct world *w)
{
	if (!w->exited && waitpid(w->pid, &w->status, WNOHANG) == w->pid)
		w->exited = 1;
	return (w->exited);
}

/* The worker's status; it must end by itself. */
static int
world_exit(struct world *w)
{
	world_until(w, world_exited(w));
	assert_true(WIFEXITED(w->status));
	return (WEXITSTATUS(w->status));
}

static const char *
worker_path(void)
{
	static char path[PATH_MAX];
	const char *b = getenv("ERRAND_BUILD");
	ssize_t n;
	char *p;
	int i;

	if (b != NULL) {
		snprintf(path, sizeof(path), "%s/bin/errand-snapshot", b);
		return (path);
	}
	n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	assert_true(n > 0);
	path[n] = '\0';
	for (i = 0; i < 3; i++) {
		p = strrchr(path, '/');
		assert_non_null(p);
		*p = '\0';
	}
	strcat(path, "/bin/errand-snapshot");
	return (path);
}

static void
worker_exec(int chan)
{
	char uid[16];
	int null;

	snprintf(uid, sizeof(uid), "%u", geteuid() == 0 ? WORKER_UID :
	    geteuid());
	if (getenv("SNAP_TEST_LOUD") == NULL &&
	    (null = open("/dev/null", O_WRONLY)) != -1)
		(void)dup2(null, STDERR_FILENO);
	if (dup2(chan, CHAN_FD) == -1)
		_exit(111);
	(void)fcntl(CHAN_FD, F_SETFD, 0);
	(void)close_range(CHAN_FD + 1, ~0U, 0);
	(void)setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	if (geteuid() == 0)
		execl(worker_path(), "errand-snapshot", "-u", uid, "-g", uid,
		    "-l", "3", (char *)NULL);
	else
		execl(worker_path(), "errand-snapshot", "-u", uid, "-g", uid,
		    "-l", "3", "-r", (char *)NULL);
	_exit(111);
}

/* Start the worker and hand it a connection. */
static struct world *
world_start(int admin)
{
	struct world *w;
	struct snap_msg *m;
	int sv[2], cv[2];

	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->objs = calloc(MAXOBJ, sizeof(*w->objs));
	assert_non_null(w->objs);
	w->store = w->log_fd = -1;
	strcpy(w->job, "aaaabbbbccccdddd");
	assert_int_equal(chan_pair(sv), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    cv), 0);
	w->pid = fork();
	assert_true(w->pid != -1);
	if (w->pid == 0)
		worker_exec(sv[1]);
	close(sv[1]);
	w->sup = sv[0];
	w->sock = cv[0];
	w->fc = frame_conn_new(FRAME_CLIENT, client_frame, w);
	assert_non_null(w->fc);
	world_until(w, w->hello);
	m = sup_out(w, SNAP_SERVE, 0);
	m->u.serve.admin = (uint8_t)admin;
	m->u.serve.peer_uid = 1000;
	sup_send(w, cv[1]);
	return (w);
}

static void
client_hello(struct world *w, uint32_t min, uint32_t max)
{
	struct client_hello h;
	uint8_t buf[512];
	ssize_t n;

	memset(&h, 0, sizeof(h));
	h.proto_min = min;
	h.proto_max = max;
	strcpy(h.software, "test");
	n = client_hello_pack(&h, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(frame_send(w->fc, 0, FRAME_HELLO, 0, buf, (size_t)n),
	    0);
}

/* Start, and say HELLO; the answer may still be under way. */
static struct world *
world_new(void)
{
	struct world *w = world_start(0);

	client_hello(w, PROTO_VERSION, PROTO_VERSION);
	return (w);
}

static uint32_t
client_ask(struct world *w, const struct client_open *o)
{
	uint8_t buf[4096];
	uint32_t id = frame_stream_new(w->fc);
	ssize_t n;

	n = client_open_pack(o, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(frame_send(w->fc, id, FRAME_OPEN, 0, buf, (size_t)n),
	    0);
	return (id);
}

/* Ask by verb and job name, and half close. */
static struct seen *
client_simple(struct world *w, uint8_t verb, const char *job)
{
	struct client_open o;
	uint32_t id;

	memset(&o, 0, sizeof(o));
	o.verb = verb;
	if (job != NULL)
		strcpy(o.job, job);
	id = client_ask(w, &o);
	assert_int_equal(frame_send(w->fc, id, FRAME_END, 0, NULL, 0), 0);
	return (seen_of(w, id));
}

static void
world_free(struct world *w)
{
	size_t i, k;

	if (!world_exited(w)) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, &w->status, 0);
	}
	io_close(&w->sup);
	io_close(&w->store);
	io_close(&w->sock);
	io_close(&w->log_fd);
	frame_conn_free(w->fc);
	for (i = 0; i < w->nobjs; i++)
		free(w->objs[i].raw);
	for (i = 0; i < w->nstreams; i++) {
		for (k = 0; k < NCHANNELS; k++)
			free(w->streams[i].data[k]);
		client_reply_done(&w->streams[i].last);
	}
	free(w->objs);
	free(w->values);
	free(w);
}

/* A number in /proc/PID/status of the worker. */
static unsigned long long
proc_status(pid_t pid, const char *key, int base)
{
	unsigned long long v = ~0ULL;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, strlen(key)) == 0)
			v = strtoull(line + strlen(key), NULL, base);
	}
	fclose(f);
	return (v);
}

/* Close the client's end, and see the worker go with status 0. */
static void
world_done(struct world *w)
{
	io_close(&w->sock);
	assert_int_equal(world_exit(w), 0);
	world_free(w);
}

#endif /* !ERRAND_TEST_SNAP_WORLD_H */
