#ifndef ERRAND_TESTS_STORE_DRIVER_H
#define ERRAND_TESTS_STORE_DRIVER_H

/*
 * A real errand-store in a directory of its own, and both ends that talk to
 * it: the supervisor's and those of tenants.  Include after cmocka.h.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/object.h"
#include "lib/objrec.h"
#include "lib/text.h"
#include "lib/tree.h"
#include "proto/store_msg.h"

#ifndef DRV_UID
#define DRV_UID         61234           /* nobody that exists */
#endif
#define DRV_WAIT_MS     60000
#define DRV_ALL         (STORE_RIGHT_PUT | STORE_RIGHT_GET | STORE_RIGHT_JOBS)

struct drv {
	char dir[256];          /* the store's */
	char log[288];          /* what it says on stderr */
	pid_t pid;
	int fd;                 /* the supervisor's end */
	uint64_t id;            /* of the last request */
	int rebuild;            /* start it with -R */
	char said[LIMIT_TEXT];  /* before it served, or why it does not */
};

/* A reply, and what came with it. */
struct drv_reply {
	struct store_msg m;
	uint8_t buf[CHAN_MSG_MAX];      /* m points into it */
	const uint8_t *map;
	size_t len;
};

/* Objects on their way into a memfd. */
struct drv_objs {
	uint8_t *buf;
	size_t len;
	size_t cap;
	uint32_t n;
};

static inline void
drv_program(char *path, size_t cap)
{
	const char *bin = getenv("ERRAND_BIN"), *b = getenv("ERRAND_BUILD");

	if (bin != NULL)
		(void)snprintf(path, cap, "%s/errand-store", bin);
	else
		(void)snprintf(path, cap, "%s/bin/errand-store",
		    b != NULL ? b : "build");
}

/*
 * The words of ERRAND_TRACE, a command that runs another one without coming
 * between it and us: strace -D.  How many.
 */
static inline size_t
drv_trace(char *buf, size_t cap, const char **argv, size_t max)
{
	const char *trace = getenv("ERRAND_TRACE");
	char *word, *save;
	size_t n = 0;

	if (trace == NULL)
		return (0);
	(void)snprintf(buf, cap, "%s", trace);
	for (word = strtok_r(buf, " ", &save); word != NULL && n < max;
	    word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	return (n);
}

/* In the child: descriptor 3 is the channel, nothing else is left. */
static inline void
drv_exec(const struct drv *d, int fd)
{
	char path[512], id[16], words[1024];
	const char *argv[48];
	const char *const args[] = { path, "-u", id, "-g", id, "-d", d->dir,
	    "-l", "2" };
	size_t n;
	int root = geteuid() == 0, err;

	drv_program(path, sizeof(path));
	(void)snprintf(id, sizeof(id), "%u", root ? DRV_UID : geteuid());
	err = open(d->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (err == -1 || dup2(err, 2) == -1)
		_exit(111);
	if (fd == CHAN_FD) {
		if (fcntl(fd, F_SETFD, 0) == -1)
			_exit(111);
	} else if (dup2(fd, CHAN_FD) == -1)
		_exit(111);
	(void)close_range(CHAN_FD + 1, ~0U, 0);
	/* Behind its fence a sanitizer can report, but not look for leaks. */
	(void)setenv("ASAN_OPTIONS", "detect_leaks=0:symbolize=0", 1);
	n = drv_trace(words, sizeof(words), argv, 30);
	memcpy(argv + n, args, sizeof(args));
	n += sizeof(args) / sizeof(args[0]);
	if (d->rebuild)
		argv[n++] = "-R";
	if (!root)
		argv[n++] = "-r";
	argv[n] = NULL;
	(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(111);
}

/* A fresh directory in ${where}, as the supervisor would make it. */
static inline void
drv_init(struct drv *d, const char *where)
{
	char top[200];

	memset(d, 0, sizeof(*d));
	d->fd = -1;
	(void)snprintf(top, sizeof(top), "%s/errand-store-XXXXXX", where);
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 0711), 0);
	(void)snprintf(d->dir, sizeof(d->dir), "%s/store", top);
	(void)snprintf(d->log, sizeof(d->log), "%s/log", top);
	assert_int_equal(mkdir(d->dir, 0700), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(d->dir, DRV_UID, DRV_UID), 0);
}

/* Start it; 0 when it has said HELLO, -1 when it ended instead. */
static inline int
drv_start(struct drv *d)
{
	struct drv_reply r;
	int pair[2];
	size_t nfds = 0;
	ssize_t n;

	assert_int_equal(chan_pair(pair), 0);
	d->pid = fork();
	assert_true(d->pid != -1);
	if (d->pid == 0)
		drv_exec(d, pair[1]);
	close(pair[1]);
	d->fd = pair[0];
	do {
		n = chan_recv_wait(d->fd, r.buf, sizeof(r.buf), NULL, &nfds,
		    DRV_WAIT_MS);
		if (n <= 0)
			return (-1);
		assert_int_equal(store_msg_parse(r.buf, (size_t)n, &r.m), 0);
		if (r.m.op == STORE_WAIT)
			(void)snprintf(d->said, sizeof(d->said), "%s",
			    r.m.u.wait.text);
	} while (r.m.op == STORE_WAIT);
	assert_int_equal(r.m.op, STORE_HELLO);
	if (r.m.u.hello.trouble[0] != '\0') {
		(void)snprintf(d->said, sizeof(d->said), "%s",
		    r.m.u.hello.trouble);
		return (-1);
	}
	n = store_msg_pack(&r.m, r.buf, sizeof(r.buf));
	assert_true(n > 0);
	assert_int_equal(chan_send_wait(d->fd, r.buf, (size_t)n, NULL, 0), 0);
	return (0);
}

/* Wait for its end; its status, or 1000 + a signal. */
static inline int
drv_wait(struct drv *d)
{
	int status;

	io_close(&d->fd);
	kill(d->pid, SIGCONT);          /* a test may have stopped it */
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	d->pid = 0;
	return (WIFSIGNALED(status) ? 1000 + WTERMSIG(status) :
	    WEXITSTATUS(status));
}

static inline void
drv_kill(struct drv *d)
{
	kill(d->pid, SIGKILL);
	assert_int_equal(drv_wait(d), 1000 + SIGKILL);
}

/* End it in order, and remove everything. */
static inline void
drv_done(struct drv *d)
{
	char *slash;

	if (d->pid != 0)
		assert_int_equal(drv_wait(d), 0);
	if ((slash = strrchr(d->dir, '/')) != NULL)
		*slash = '\0';
	assert_int_equal(io_remove_tree(AT_FDCWD, d->dir), 0);
}

static inline int
drv_log_has(const struct drv *d, const char *text)
{
	uint8_t *buf;
	size_t len;
	int found;

	assert_int_equal(io_file_read(AT_FDCWD, d->log, 1 << 20, &buf, &len),
	    0);
	found = strstr((char *)buf, text) != NULL;
	free(buf);
	return (found);
}

/* Send a request; the descriptor is taken. */
static inline uint64_t
drv_send(struct drv *d, int fd, struct store_msg *m, int attach)
{
	uint8_t buf[CHAN_MSG_MAX];
	ssize_t n;

	m->id = m->op == STORE_HELLO ? 0 : ++d->id;
	n = store_msg_pack(m, buf, sizeof(buf));
	assert_true(n > 0);
	(void)chan_send_wait(fd, buf, (size_t)n, &attach,
	    attach == -1 ? 0 : 1);
	io_close(&attach);
	return (m->id);
}

/* Receive a reply; -1 when the channel has ended. */
static inline int
drv_recv(int fd, struct drv_reply *r)
{
	int fds[CHAN_FDS_MAX] = { -1 };
	size_t nfds = CHAN_FDS_MAX;
	ssize_t n;

	r->map = NULL;
	r->len = 0;
	n = chan_recv_wait(fd, r->buf, sizeof(r->buf), fds, &nfds,
	    DRV_WAIT_MS);
	if (n <= 0)
		return (-1);
	assert_int_equal(store_msg_parse(r->buf, (size_t)n, &r->m), 0);
	assert_true(r->m.op == STORE_OK || r->m.op == STORE_ERROR);
	if (nfds > 0) {
		assert_int_equal(nfds, 1);
		assert_int_equal(memfd_map(fds[0], 1 << 30, &r->map, &r->len),
		    0);
		close(fds[0]);
	}
	return (0);
}

static inline void
drv_reply_done(struct drv_reply *r)
{
	memfd_unmap(r->map, r->len);
	r->map = NULL;
}

/* Ask and wait.  ERR_NONE for OK, else the code; -1: the channel ended. */
static inline int
drv_call(struct drv *d, int fd, struct store_msg *m, int attach,
    struct drv_reply *r)
{
	uint64_t id = drv_send(d, fd, m, attach);

	if (drv_recv(fd, r) == -1)
		return (-1);
	assert_int_equal(r->m.id, id);
	assert_int_equal(r->m.reply_to, m->op);
	return (r->m.op == STORE_OK ? ERR_NONE : r->m.u.error.code);
}

/* A channel that is sent the object unasked; ${first} may be NULL. */
static inline int
drv_bind_first(struct drv *d, uint32_t tenant, uint32_t rights,
    const struct obj_ref *first)
{
	struct store_msg m = { .op = STORE_BIND };
	struct drv_reply r;
	int pair[2];

	assert_int_equal(chan_pair(pair), 0);
	m.u.bind.tenant_id = tenant;
	m.u.bind.rights = rights;
	if (first != NULL)
		m.u.bind.first = *first;
	assert_int_equal(drv_call(d, d->fd, &m, pair[1], &r), ERR_NONE);
	return (pair[0]);
}

static inline int
drv_bind(struct drv *d, uint32_t tenant, uint32_t rights)
{
	return (drv_bind_first(d, tenant, rights, NULL));
}

/* Add the record of an object, as it is. */
static inline void
drv_add_ref(struct drv_objs *o, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	struct objrec rec = { .ref = *ref, .codec = OBJREC_RAW };

	if (o->cap < o->len + OBJREC_HEAD + len) {
		o->cap = 2 * (o->len + OBJREC_HEAD + len);
		assert_non_null(o->buf = realloc(o->buf, o->cap));
	}
	rec.raw_len = rec.len = (uint32_t)len;
	objrec_encode(&rec, o->buf + o->len);
	memcpy(o->buf + o->len + OBJREC_HEAD, buf, len);
	o->len += OBJREC_HEAD + len;
	o->n++;
}

static inline struct obj_ref
drv_add(struct drv_objs *o, enum obj_kind kind, const void *buf, size_t len)
{
	struct obj_ref ref;

	assert_int_equal(obj_ref_of(kind, buf, len, &ref), 0);
	drv_add_ref(o, &ref, buf, len);
	return (ref);
}

/* An obj_sink_fn. */
static inline int
drv_sink(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	drv_add_ref(cookie, ref, buf, len);
	return (0);
}

/* Put and forget what was gathered. */
static inline int
drv_put(struct drv *d, int fd, struct drv_objs *o, struct drv_reply *r)
{
	struct store_msg m = { .op = STORE_PUT };
	int memfd, rc;

	memfd = memfd_make("put", o->buf, o->len);
	assert_true(memfd != -1);
	m.u.put.objects = o->n;
	rc = drv_call(d, fd, &m, memfd, r);
	o->len = o->n = 0;
	return (rc);
}

static inline int
drv_check(struct drv *d, int fd, const struct obj_ref *root,
    struct drv_reply *r)
{
	struct store_msg m = { .op = STORE_CHECK };

	m.u.check.root = *root;
	return (drv_call(d, fd, &m, -1, r));
}

/* Ask for objects; the answer is to be received. */
static inline uint64_t
drv_get_ask(struct drv *d, int fd, const struct obj_ref *refs, uint32_t n)
{
	struct store_msg m = { .op = STORE_GET };
	uint8_t *buf = calloc(n, OBJ_REF_LEN);
	uint32_t i;
	int memfd;

	assert_non_null(buf);
	for (i = 0; i < n; i++)
		obj_ref_encode(&refs[i], buf + i * OBJ_REF_LEN);
	memfd = memfd_make("get", buf, (size_t)n * OBJ_REF_LEN);
	assert_true(memfd != -1);
	free(buf);
	m.u.get.refs = n;
	return (drv_send(d, fd, &m, memfd));
}

static inline int
drv_get(struct drv *d, int fd, const struct obj_ref *refs, uint32_t n,
    struct drv_reply *r)
{
	uint64_t id = drv_get_ask(d, fd, refs, n);

	if (drv_recv(fd, r) == -1)
		return (-1);
	assert_int_equal(r->m.id, id);
	assert_int_equal(r->m.reply_to, STORE_GET);
	return (r->m.op == STORE_OK ? ERR_NONE : r->m.u.error.code);
}

/* A PUBLISH whose idempotency id and record come from the job's id. */
static inline struct store_msg
drv_publish_msg(uint32_t tenant, const char *job, const struct obj_ref *root,
    const struct obj_ref *spec)
{
	struct store_msg m = { .op = STORE_PUBLISH };

	m.u.publish.tenant_id = tenant;
	memcpy(m.u.publish.idem, job, sizeof(m.u.publish.idem));
	memcpy(m.u.publish.job, job, JOB_ID_LEN + 1);
	m.u.publish.root = *root;
	m.u.publish.spec = *spec;
	m.u.publish.record.p = (const uint8_t *)job;
	m.u.publish.record.len = JOB_ID_LEN;
	return (m);
}

/* A SETTLE whose digest and receipt say which it is. */
static inline struct store_msg
drv_settle_msg(uint32_t tenant, const char *job, uint64_t sequence,
    const struct obj_ref *root, const struct obj_ref *list)
{
	struct store_msg m = { .op = STORE_SETTLE };

	m.u.settle.tenant_id = tenant;
	memcpy(m.u.settle.job, job, JOB_ID_LEN + 1);
	m.u.settle.sequence = sequence;
	memcpy(m.u.settle.digest, job, JOB_ID_LEN);
	m.u.settle.root = *root;
	m.u.settle.list = *list;
	m.u.settle.record.p = (const uint8_t *)"settled";
	m.u.settle.record.len = 7;
	m.u.settle.receipt.p = (const uint8_t *)job;
	m.u.settle.receipt.len = JOB_ID_LEN;
	return (m);
}

static inline int
drv_publish(struct drv *d, uint32_t tenant, const char *job,
    const struct obj_ref *root, const struct obj_ref *spec,
    struct drv_reply *r)
{
	struct store_msg m = drv_publish_msg(tenant, job, root, spec);

	return (drv_call(d, d->fd, &m, -1, r));
}

static inline int
drv_settle(struct drv *d, uint32_t tenant, const char *job,
    uint64_t sequence, const struct obj_ref *root, const struct obj_ref *list,
    struct drv_reply *r)
{
	struct store_msg m = drv_settle_msg(tenant, job, sequence, root, list);

	return (drv_call(d, d->fd, &m, -1, r));
}

static inline int
drv_job(struct drv *d, int fd, enum store_op op, const char *job,
    struct drv_reply *r)
{
	struct store_msg m = { .op = (uint8_t)op };

	memcpy(m.u.job.job, job, JOB_ID_LEN + 1);
	return (drv_call(d, fd, &m, -1, r));
}

static inline void
drv_stat(struct drv *d, struct drv_reply *r)
{
	struct store_msg m = { .op = STORE_STAT };

	assert_int_equal(drv_call(d, d->fd, &m, -1, r), ERR_NONE);
}

/* Bytes that are the same for the same seed, and no two alike. */
static inline void
drv_bytes(uint64_t seed, uint8_t *buf, size_t len)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + 0x1234567;
	size_t i;

	for (i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf[i] = (uint8_t)(x >> 32);
	}
}

/* A chunk of a seed. */
static inline struct obj_ref
drv_chunk(struct drv_objs *o, uint64_t seed, size_t len)
{
	uint8_t buf[OBJ_MAX];

	drv_bytes(seed, buf, len);
	return (drv_add(o, OBJ_CHUNK, buf, len));
}

/* A directory of files of one chunk each, not yet put. */
static inline struct obj_ref
drv_tree(struct drv_objs *o, const struct obj_ref *files, size_t n,
    uint64_t size)
{
	struct tree_builder *tb = tree_builder_new();
	struct tree_entry e = { .kind = TREE_FILE, .mode = 0644 };
	struct obj_ref ref;
	char name[32];
	size_t i;

	assert_non_null(tb);
	for (i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "f%08zu", i);
		e.name = (const uint8_t *)name;
		e.name_len = (uint16_t)strlen(name);
		e.ref = files[i];
		e.size = size;
		assert_int_equal(tree_builder_add(tb, &e), 0);
	}
	assert_int_equal(tree_builder_finish(tb, drv_sink, o, &ref), 0);
	tree_builder_free(tb);
	return (ref);
}

#endif /* !ERRAND_TESTS_STORE_DRIVER_H */
