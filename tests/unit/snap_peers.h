#ifndef ERRAND_TEST_SNAP_PEERS_H
#define ERRAND_TEST_SNAP_PEERS_H

/* The supervisor and the store, as the test plays them. */

#include "snap_world.h"

/* --- the supervisor --- */

/* A worker that ended meanwhile, as many tests have it, is no fault. */
static void
peer_send(int chan, const uint8_t *buf, size_t len, int fd)
{
	if (chan_send_wait(chan, buf, len, &fd, fd != -1) == -1)
		assert_true(errno == EPIPE || errno == ECONNRESET);
	io_close(&fd);
}

static void
sup_send(struct world *w, int fd)
{
	static uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	n = snap_msg_pack(&w->out, buf, sizeof(buf));
	assert_true(n > 0);
	peer_send(w->sup, buf, (size_t)n, fd);
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

/* The job's input, as errandd gives it. */
static void
sup_taken(struct world *w)
{
	struct snap_msg *m = sup_out(w, SNAP_TAKEN, w->input_id);
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	w->input_fd = fds[0];
	m->u.taken.offset = w->input_offset;
	sup_send(w, fds[1]);
}

static void
sup_on_input(struct world *w)
{
	w->input_id = w->in.id;
	if (w->input_err != 0) {
		(void)err_set(&sup_out(w, SNAP_ERROR, w->input_id)->u.error,
		    (enum err_code)w->input_err, "no");
		sup_send(w, -1);
	} else if (!w->input_mute)
		sup_taken(w);
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
	case SNAP_INPUT:
		sup_on_input(w);
		break;
	case SNAP_INPUT_END:
		w->ninput_end++;
		w->input_how = w->in.u.input_end.how;
		sup_out(w, SNAP_OK, id)->reply_to = SNAP_INPUT_END;
		sup_send(w, -1);
		break;
	case SNAP_WINDOW:
		w->rows = w->in.u.window.rows;
		w->cols = w->in.u.window.cols;
		sup_out(w, SNAP_OK, id)->reply_to = SNAP_WINDOW;
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
	peer_send(w->store, buf, (size_t)n, fd);
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
store_usage(struct world *w, const struct store_msg *q)
{
	struct store_msg m;

	store_ok(&m, q);
	m.u.ok.usage.bytes = 4321;
	m.u.ok.usage.quota.bytes = 1 << 20;
	store_send(w, &m, -1);
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
	case STORE_USAGE:
		store_usage(w, &m);
		break;
	default:
		fail_msg("the worker asked the store op %u", m.op);
	}
	io_close(&fd);
}

#endif /* !ERRAND_TEST_SNAP_PEERS_H */
