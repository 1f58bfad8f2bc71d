#ifndef ERRAND_TEST_SNAP_CLIENT_H
#define ERRAND_TEST_SNAP_CLIENT_H

/* The client, the loop that serves all three, and the worker's process. */

#include "snap_peers.h"

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
	if (!WIFEXITED(w->status))
		fail_msg("the worker died of signal %d", WTERMSIG(w->status));
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

/*
 * With SNAP_TEST_INSIDE the worker's code runs in a child of the test, without
 * its fence, so that a sanitizer can look for leaks at its end.
 */
static void
worker_inside(void)
{
	struct event_base *base = event_base_new();
	struct session *s;
	int status;

	if ((s = session_new(base, CHAN_FD)) == NULL)
		_exit(111);
	session_ready(s, 0);
	(void)event_base_dispatch(base);
	status = session_status(s);
	session_free(s);
	event_base_free(base);
	exit(status);
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
	if (getenv("SNAP_TEST_INSIDE") != NULL)
		worker_inside();
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

	w = world_now = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->objs = calloc(MAXOBJ, sizeof(*w->objs));
	assert_non_null(w->objs);
	w->store = w->log_fd = w->input_fd = -1;
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

#endif /* !ERRAND_TEST_SNAP_CLIENT_H */
