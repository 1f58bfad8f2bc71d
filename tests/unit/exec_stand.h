#ifndef ERRAND_TESTS_EXEC_STAND_H
#define ERRAND_TESTS_EXEC_STAND_H

/*
 * A stand-in for errandd and the store, as far as errand-exec sees of them: it
 * starts the real program, writes uid maps through the pidfds it is given, and
 * serves objects from memory.  Include after cmocka.h and objset.h.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "chan.h"
#include "change.h"
#include "content.h"
#include "io.h"
#include "joblog.h"
#include "memfd.h"
#include "objrec.h"
#include "proto/exec_msg.h"
#include "proto/job_msg.h"
#include "proto/store_msg.h"
#include "text.h"
#include "tree.h"

#define STAND_WORKER    1879048200U
#define STAND_TENANT    1879179001U

struct stand {
	struct objset store;
	char dir[64];           /* the work root */
	pid_t pid;              /* of errand-exec */
	int chan;
	int rootless;
	unsigned int tenant;    /* host uid */
	unsigned int jobs;      /* run so far */
	unsigned int gets, puts;
	pid_t keeper;           /* the last that asked for its map */
	unsigned int kill_at;   /* kill it at its n-th GET, 0: never;
				 * what it is sent unasked is none */
	struct exec_msg hello;
};

struct stand_job {
	const char *const *argv;        /* ends with NULL */
	const char *workdir;
	const char *const *env;         /* names */
	const char *values;             /* NAME=VALUE NUL... */
	size_t values_len;
	struct obj_ref root;
	uint8_t net;
	uint8_t as_root;
	struct job_limits limits;
	const char *image;              /* that the spec names, or NULL */
	uint64_t scratch;               /* that the sandbox is made with */
	int signal;                     /* sent once it has started */
	int signal_early;               /* sent before GO */
	int no_go;                      /* close instead of GO */
	int await;                      /* send .signal when there is output */
};

struct stand_out {
	struct job_result result;
	int got_result;
	int started;
	int ended;
	int signalled;
	int gone;                       /* status, -1: not yet */
	int ready;
	char id[JOB_ID_LEN + 1];
	char box[JOB_ID_LEN + 1];       /* the sandbox */
	uint8_t *out[2];                /* NUL terminated */
	size_t len[2];
	uint64_t us_run, us_map, us_place, us_ready, us_started, us_ended;
	uint64_t us_result;
	uint64_t us_gone;
};

static inline void
stand_send_exec(struct stand *s, const struct exec_msg *m, const int *fds,
    size_t nfds)
{
	uint8_t buf[4096];
	ssize_t n = exec_msg_pack(m, buf, sizeof(buf));

	assert_true(n > 0);
	assert_int_equal(chan_send_wait(s->chan, buf, (size_t)n, fds, nfds),
	    0);
}

static inline int
stand_recv_exec(struct stand *s, struct exec_msg *m, int timeout)
{
	uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	n = chan_recv_wait(s->chan, buf, sizeof(buf), NULL, NULL, timeout);
	if (n == -1 && errno == ETIMEDOUT)
		return (0);
	assert_true(n > 0);
	assert_int_equal(exec_msg_parse(buf, (size_t)n, m), 0);
	return (1);
}

static inline void
stand_program(char *path, size_t len)
{
	const char *b = getenv("ERRAND_BUILD");

	(void)snprintf(path, len, "%s/bin/errand-exec",
	    b == NULL ? "build" : b);
}

/* Start errand-exec over a work root of its own. */
static inline void
stand_start(struct stand *s, int rootless)
{
	char path[256], tenant[128], u[16], g[16], dir[64];
	char *argv[] = { path, (char *)(uintptr_t)"-u", u,
	    (char *)(uintptr_t)"-g", g, (char *)(uintptr_t)"-d", dir,
	    rootless ? (char *)(uintptr_t)"-r" : NULL, NULL };
	unsigned int owner = rootless ? geteuid() : STAND_TENANT;
	int sv[2];

	memset(s, 0, sizeof(*s));
	s->rootless = rootless;
	s->tenant = owner;
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/errand-exec-test.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_int_equal(chmod(s->dir, 0711), 0);
	(void)snprintf(tenant, sizeof(tenant), "%s/%u", s->dir, owner);
	assert_int_equal(mkdir(tenant, 0700), 0);
	assert_int_equal(chown(tenant, owner, rootless ? getegid() : owner),
	    0);
	assert_int_equal(chan_pair(sv), 0);
	stand_program(path, sizeof(path));
	(void)snprintf(dir, sizeof(dir), "%s", s->dir);
	(void)snprintf(u, sizeof(u), "%u", rootless ? owner : STAND_WORKER);
	(void)snprintf(g, sizeof(g), "%u", rootless ? getegid() :
	    STAND_WORKER);
	if ((s->pid = fork()) == 0) {
		int null = open("/dev/null", O_RDWR);

		(void)dup2(null, 0);
		(void)dup2(null, 1);
		(void)dup2(sv[1], CHAN_FD);
		(void)close_range(CHAN_FD + 1, ~0U, 0);
		(void)fcntl(CHAN_FD, F_SETFD, 0);
		(void)execv(path, argv);
		perror(path);
		_exit(111);
	}
	assert_true(s->pid > 0);
	close(sv[1]);
	s->chan = sv[0];
	assert_int_equal(stand_recv_exec(s, &s->hello, 10000), 1);
	assert_int_equal(s->hello.op, EXEC_HELLO);
}

/* Returns how errand-exec ended. */
static inline int
stand_stop(struct stand *s)
{
	int status;

	close(s->chan);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(io_remove_tree(AT_FDCWD, s->dir), 0);
	objset_done(&s->store);
	return (status);
}

static inline pid_t
stand_pid(int pidfd)
{
	char path[64];
	uint8_t *buf;
	size_t len;
	pid_t pid;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	assert_int_equal(io_file_read(AT_FDCWD, path, 4096, &buf, &len), 0);
	pid = (pid_t)strtol(strstr((char *)buf, "\nPid:") + 5, NULL, 10);
	free(buf);
	return (pid);
}

static inline void
stand_proc_write(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd != -1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline void
stand_map(struct stand *s, int pidfd)
{
	pid_t pid = stand_pid(pidfd);
	char map[32];

	s->keeper = pid;
	if (s->rootless)
		return;
	(void)snprintf(map, sizeof(map), "0 %u 1\n", s->tenant);
	stand_proc_write(pid, "setgroups", "deny");
	stand_proc_write(pid, "gid_map", map);
	stand_proc_write(pid, "uid_map", map);
}

/* The store's side. */

static inline void
stand_reply(int fd, const struct store_msg *m, int memfd)
{
	uint8_t buf[2048];
	ssize_t n = store_msg_pack(m, buf, sizeof(buf));

	assert_true(n > 0);
	(void)chan_send_wait(fd, buf, (size_t)n, &memfd, memfd == -1 ? 0 : 1);
}

static inline void
stand_serve(struct stand *s, int fd, uint64_t id, const uint8_t *refs, size_t n)
{
	struct objrec rec = { .codec = OBJREC_RAW };
	struct objset_obj *o;
	struct store_msg r;
	uint8_t *map;
	size_t i, at = 0;
	int out;

	s->gets++;
	out = memfd_open("objects", LIMIT_GET_BYTES, &map);
	assert_true(out != -1);
	for (i = 0; i < n; i++) {
		assert_int_equal(obj_ref_decode(refs + i * OBJ_REF_LEN,
		    &rec.ref), 0);
		o = s->store.room == 0 ? NULL : objset_slot(s->store.obj,
		    s->store.room, &rec.ref);
		if (o == NULL || o->buf == NULL ||
		    at + OBJREC_HEAD + o->len > LIMIT_GET_BYTES)
			break;
		rec.raw_len = rec.len = (uint32_t)o->len;
		objrec_encode(&rec, map + at);
		memcpy(map + at + OBJREC_HEAD, o->buf, o->len);
		at += OBJREC_HEAD + o->len;
	}
	memset(&r, 0, sizeof(r));
	r.id = id;
	r.reply_to = STORE_GET;
	assert_int_equal(memfd_seal(out, map, LIMIT_GET_BYTES, at), 0);
	if (i == 0) {
		r.op = STORE_ERROR;
		r.u.error.code = ERR_MISSING;
		r.u.error.ref = rec.ref;
		(void)snprintf(r.u.error.text, sizeof(r.u.error.text),
		    "an object is missing");
		stand_reply(fd, &r, -1);
	} else {
		r.op = STORE_OK;
		r.u.ok.objects = (uint32_t)i;
		stand_reply(fd, &r, out);
	}
	close(out);
}

static inline void
stand_get(struct stand *s, int fd, const struct store_msg *m, int memfd)
{
	const uint8_t *refs;
	size_t len;

	if (s->kill_at > 0 && --s->kill_at == 0)
		(void)kill(s->keeper, SIGKILL);
	assert_int_equal(memfd_map(memfd, LIMIT_GET_OBJECTS * OBJ_REF_LEN,
	    &refs, &len), 0);
	assert_int_equal(len, m->u.get.refs * OBJ_REF_LEN);
	stand_serve(s, fd, m->id, refs, m->u.get.refs);
	memfd_unmap(refs, len);
}

/* What BIND has the store send unasked. */
static inline void
stand_first(struct stand *s, int fd, const struct obj_ref *spec)
{
	uint8_t ref[OBJ_REF_LEN];

	obj_ref_encode(spec, ref);
	stand_serve(s, fd, STORE_FIRST_ID, ref, 1);
}

static inline void
stand_put(struct stand *s, int fd, const struct store_msg *m, int memfd)
{
	const uint8_t *map;
	struct store_msg r;
	struct objrec rec;
	size_t len, at = 0, n = 0;

	s->puts++;
	assert_int_equal(memfd_map(memfd, LIMIT_PUT_BYTES, &map, &len), 0);
	while (at < len) {
		assert_true(len - at >= OBJREC_HEAD);
		assert_int_equal(objrec_decode(map + at, &rec), 0);
		at += OBJREC_HEAD;
		assert_true(rec.codec == OBJREC_RAW && rec.len <= len - at);
		(void)objset_put(&s->store, &rec.ref, map + at, rec.len);
		at += rec.len;
		n++;
	}
	assert_int_equal(n, m->u.put.objects);
	memset(&r, 0, sizeof(r));
	r.id = m->id;
	r.op = STORE_OK;
	r.reply_to = STORE_PUT;
	r.u.ok.objects = (uint32_t)n;
	stand_reply(fd, &r, -1);
	memfd_unmap(map, len);
}

/* Serve one request.  Returns 0 when the keeper has closed. */
static inline int
stand_store(struct stand *s, int fd)
{
	uint8_t buf[CHAN_MSG_MAX];
	struct store_msg m;
	size_t nfds = 1;
	int memfd = -1;
	ssize_t n;

	n = chan_recv_wait(fd, buf, sizeof(buf), &memfd, &nfds, -1);
	if (n <= 0)
		return (0);
	assert_int_equal(nfds, 1);
	assert_int_equal(store_msg_parse(buf, (size_t)n, &m), 0);
	if (m.op == STORE_GET)
		stand_get(s, fd, &m, memfd);
	else if (m.op == STORE_PUT)
		stand_put(s, fd, &m, memfd);
	else
		fail_msg("store op %u", m.op);
	close(memfd);
	return (1);
}

/* The job channel. */

static inline void
stand_say(int fd, int op, int sig)
{
	struct job_msg m;
	uint8_t buf[256];
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = (uint8_t)op;
	if (op == JOBC_SIGNAL)
		m.u.signal = (uint8_t)sig;
	n = job_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	(void)chan_send_wait(fd, buf, (size_t)n, NULL, 0);
}

/* Handle one message.  Returns 0 when the keeper has closed. */
static inline int
stand_job_msg(struct stand *s, const struct stand_job *j, struct stand_out *o,
    int *chan)
{
	uint8_t buf[CHAN_MSG_MAX];
	struct job_msg m;
	size_t nfds = 1;
	int fd = -1;
	ssize_t n;

	n = chan_recv_wait(*chan, buf, sizeof(buf), &fd, &nfds, -1);
	if (n <= 0)
		return (0);
	assert_int_equal(job_msg_parse(buf, (size_t)n, &m), 0);
	switch (m.op) {
	case JOBC_HELLO:
		assert_int_equal(m.u.version, CHANNEL_VERSION);
		break;
	case JOBC_MAP:
		o->us_map = io_mono_us();
		assert_int_equal(nfds, 1);
		stand_map(s, fd);
		stand_say(*chan, JOBC_MAPPED, 0);
		break;
	case JOBC_PLACE:
		o->us_place = io_mono_us();
		assert_int_equal(nfds, 1);
		stand_say(*chan, JOBC_PLACED, 0);
		if (j->signal_early)
			stand_say(*chan, JOBC_SIGNAL, j->signal_early);
		if (j->no_go) {
			close(*chan);
			*chan = -1;
			break;
		}
		stand_say(*chan, JOBC_GO, 0);
		break;
	case JOBC_READY:
		o->us_ready = io_mono_us();
		o->ready = 1;
		break;
	case JOBC_STARTED:
		assert_int_equal(o->ready, 1);
		o->us_started = io_mono_us();
		o->started = 1;
		if (j->signal && !j->await)
			stand_say(*chan, JOBC_SIGNAL, j->signal);
		break;
	case JOBC_LOG:
		assert_int_equal(o->ended, 0);
		stand_say(*chan, JOBC_LOGACK, 0);
		if (j->signal && j->await && !o->signalled++)
			stand_say(*chan, JOBC_SIGNAL, j->signal);
		break;
	case JOBC_ENDED:
		o->us_ended = io_mono_us();
		o->ended = 1;
		break;
	case JOBC_RESULT:
		o->us_result = io_mono_us();
		o->result = m.u.result;
		o->got_result = 1;
		break;
	default:
		fail_msg("job op %u", m.op);
	}
	if (nfds == 1)
		close(fd);
	return (1);
}

static inline void
stand_log_read(int fd, struct stand_out *o)
{
	struct joblog_reader *r;
	uint8_t buf[65536], stream;
	ssize_t n;

	assert_non_null(r = joblog_reader_new(fd, 0));
	o->out[0] = calloc(1, 1);
	o->out[1] = calloc(1, 1);
	while ((n = joblog_read(r, &stream, buf, sizeof(buf))) > 0) {
		int i = stream == JOBLOG_STDERR;

		assert_true(stream == JOBLOG_STDOUT ||
		    stream == JOBLOG_STDERR);
		o->out[i] = realloc(o->out[i], o->len[i] + (size_t)n + 1);
		assert_non_null(o->out[i]);
		memcpy(o->out[i] + o->len[i], buf, (size_t)n);
		o->len[i] += (size_t)n;
		o->out[i][o->len[i]] = 0;
	}
	assert_int_equal(n, 0);
	joblog_reader_free(r);
}

static inline void
stand_spec(struct stand *s, const struct stand_job *j, struct job_run *r)
{
	struct job_spec spec;
	uint8_t *buf;
	size_t len;

	memset(&spec, 0, sizeof(spec));
	spec.argv = (char **)(uintptr_t)j->argv;
	while (spec.argv[spec.argc] != NULL)
		spec.argc++;
	spec.env = (char **)(uintptr_t)j->env;
	while (spec.env != NULL && spec.env[spec.nenv] != NULL)
		spec.nenv++;
	spec.workdir = (char *)(uintptr_t)(j->workdir == NULL ? "" :
	    j->workdir);
	spec.image = (char *)(uintptr_t)j->image;
	assert_int_equal(job_spec_pack(&spec, &buf, &len), 0);
	assert_int_equal(content_from_mem(buf, len, objset_put, &s->store,
	    &r->spec), 0);
	r->spec_len = len;
	free(buf);
}

/* Ask for a sandbox; returns our end of its channel. */
static inline int
stand_prepare(struct stand *s, const struct stand_job *j, struct stand_out *o)
{
	struct exec_msg m;
	int job[2];

	memset(o, 0, sizeof(*o));
	o->gone = -1;
	text_job_id(o->id);
	text_job_id(o->box);
	assert_int_equal(chan_pair(job), 0);
	memset(&m, 0, sizeof(m));
	m.op = EXEC_PREPARE;
	memcpy(m.u.prepare.sandbox, o->box, sizeof(m.u.prepare.sandbox));
	m.u.prepare.host_uid = s->tenant;
	m.u.prepare.net = j->net;
	m.u.prepare.as_root = j->as_root;
	m.u.prepare.scratch = j->scratch;
	stand_send_exec(s, &m, &job[1], 1);
	close(job[1]);
	return (job[0]);
}

/* Send RUN; ${store}: our end of the store channel; returns the log. */
static inline int
stand_claim(struct stand *s, const struct stand_job *j, struct stand_out *o,
    int chan, int *end)
{
	int store[2], fds[3], nfds = 2, rd, wr;
	struct job_msg m;
	uint8_t buf[4096];
	char path[256];
	ssize_t n;

	s->jobs++;
	(void)snprintf(path, sizeof(path), "%s/%s.log", s->dir, o->id);
	wr = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	rd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(wr != -1 && rd != -1);
	unlink(path);
	assert_int_equal(chan_pair(store), 0);
	memset(&m, 0, sizeof(m));
	m.op = JOBC_RUN;
	memcpy(m.u.run.job, o->id, sizeof(m.u.run.job));
	m.u.run.root = j->root;
	m.u.run.limits = j->limits;
	stand_spec(s, j, &m.u.run);
	stand_first(s, store[0], &m.u.run.spec);
	fds[0] = store[1];
	fds[1] = wr;
	if (j->values != NULL) {
		m.u.run.flags = JOBC_RUN_VALUES;
		fds[nfds] = memfd_make("values", j->values, j->values_len);
		assert_true(fds[nfds] != -1);
		nfds++;
	}
	o->us_run = io_mono_us();
	n = job_msg_pack(&m, buf, sizeof(buf));
	assert_true(n > 0);
	assert_int_equal(chan_send_wait(chan, buf, (size_t)n, fds,
	    (size_t)nfds), 0);
	while (nfds > 0)
		close(fds[--nfds]);
	*end = store[0];
	return (rd);
}

/* Both at once; ${ends}: our ends of job and store channel. */
static inline int
stand_submit(struct stand *s, const struct stand_job *j, struct stand_out *o,
    int ends[2])
{

	ends[0] = stand_prepare(s, j, o);
	return (stand_claim(s, j, o, ends[0], &ends[1]));
}

#define STAND_MANY      32

static inline void
stand_gone(struct stand *s, struct stand_out *o, size_t n, size_t *left)
{
	struct exec_msg m;
	size_t i;

	if (!stand_recv_exec(s, &m, 0))
		return;
	assert_int_equal(m.op, EXEC_GONE);
	for (i = 0; i < n; i++) {
		if (strcmp(o[i].box, m.u.gone.sandbox) != 0)
			continue;
		assert_int_equal(o[i].gone, -1);
		o[i].gone = m.u.gone.status;
		o[i].us_gone = io_mono_us();
		--*left;
		return;
	}
	fail_msg("sandbox %s is not ours", m.u.gone.sandbox);
}

/* Run ${n} jobs at once, each to its end. */
static inline void
stand_run_many(struct stand *s, const struct stand_job *j, struct stand_out *o,
    size_t n)
{
	struct pollfd p[2 * STAND_MANY + 1];
	int ends[STAND_MANY][2], logs[STAND_MANY];
	size_t i, left = n, open = 2 * n;

	assert_true(n <= STAND_MANY);
	for (i = 0; i < n; i++)
		logs[i] = stand_submit(s, &j[i], &o[i], ends[i]);
	while (left > 0 || open > 0) {
		for (i = 0; i < 2 * n; i++)
			p[i] = (struct pollfd){ .fd = ends[i / 2][i % 2],
			    .events = POLLIN };
		p[2 * n] = (struct pollfd){ .fd = left > 0 ? s->chan : -1,
		    .events = POLLIN };
		if (poll(p, 2 * n + 1, 60000) <= 0)
			fail_msg("job %s does not end", o[0].id);
		for (i = 0; i < 2 * n; i++) {
			int *fd = &ends[i / 2][i % 2];

			if (p[i].revents && !(i % 2 == 0 ? stand_job_msg(s,
			    &j[i / 2], &o[i / 2], fd) : stand_store(s, *fd))) {
				io_close(fd);
			}
		}
		if (p[2 * n].revents)
			stand_gone(s, o, n, &left);
		for (i = 0, open = 0; i < 2 * n; i++)
			open += ends[i / 2][i % 2] != -1;
	}
	for (i = 0; i < n; i++) {
		stand_log_read(logs[i], &o[i]);
		close(logs[i]);
	}
}

static inline void
stand_run(struct stand *s, const struct stand_job *j, struct stand_out *o)
{

	stand_run_many(s, j, o, 1);
}

static inline void
stand_out_done(struct stand_out *o)
{

	free(o->out[0]);
	free(o->out[1]);
	o->out[0] = o->out[1] = NULL;
}

#endif /* !ERRAND_TESTS_EXEC_STAND_H */
