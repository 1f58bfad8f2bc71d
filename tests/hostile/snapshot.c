/*
 * A stand-in for errand-snapshot, taken over by whoever is its client.  It
 * sheds and fences as the real one does, with the real one's tables; then it
 * asks for what it may not have.  Scenarios, by when they begin:
 *
 *  before HELLO   no-hello, wrong-version, hello-fd, early
 *  idle           idle-hello, idle-bind, idle-garbage KIND
 *  served         tenant NAME..., garbage KIND, say OP, with-fd OP,
 *                 truncated, try WHAT...
 *  bound          twice OP, no-id, submit-fd KIND, foreign JOB, absurd WHAT,
 *                 greedy, flood OP, store-say OP, store-foreign JOB ROOT,
 *                 store-put KIND,
 *                 store-flood, store-garbage KIND
 */

#include "bad_fds.h"
#include "lib/le.h"
#include "lib/objrec.h"
#include "lib/sandbox.h"
#include "proto/snapshot_msg.h"
#include "proto/store_msg.h"
#include "stand_in.h"
#include "tries.h"
#include "worker-snapshot/sandbox.h"

#define FLOOD           300000

static struct snap_msg in, out;
static uint8_t buf[CHAN_MSG_MAX];
static uint64_t last_id;
static int store = -1;

/* Each op by name, with the least that makes it well-formed. */
static const struct {
	const char *name;
	uint8_t op;
	int request;
} ops[] = {
	{ "HELLO", SNAP_HELLO, 0 }, { "SERVE", SNAP_SERVE, 0 },
	{ "BIND", SNAP_BIND, 1 }, { "SUBMIT", SNAP_SUBMIT, 1 },
	{ "WATCH", SNAP_WATCH, 1 }, { "SIGNAL", SNAP_SIGNAL, 1 },
	{ "LIVE", SNAP_LIVE, 1 }, { "ADMIN", SNAP_ADMIN, 1 },
	{ "BOUND", SNAP_BOUND, 1 }, { "SUBMITTED", SNAP_SUBMITTED, 1 },
	{ "WATCHED", SNAP_WATCHED, 1 }, { "OK", SNAP_OK, 1 },
	{ "ERROR", SNAP_ERROR, 1 }, { "JOB", SNAP_JOB, 0 },
	{ "LOG", SNAP_LOG, 0 },
};

#define JOB_NOBODY      "aaaaaaaaaaaaaaaa"

static const char *
op_name(uint8_t op)
{
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].op == op)
			return (ops[i].name);
	return ("nothing known");
}

static void
submit_fill(struct job_submit *s)
{
	memset(s->idem, 7, sizeof(s->idem));
	s->idem[0] = (uint8_t)last_id;
	s->spec.kind = OBJ_CHUNK;
	memset(s->spec.id, 9, sizeof(s->spec.id));
	s->spec_len = 100;
}

static struct snap_msg *
make(const char *name)
{
	size_t i;

	memset(&out, 0, sizeof(out));
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, name) == 0)
			break;
	if (i == sizeof(ops) / sizeof(ops[0]))
		fatalx("no message is called \"%s\"", name);
	out.op = ops[i].op;
	out.id = ops[i].request ? ++last_id : 0;
	switch (out.op) {
	case SNAP_HELLO: out.u.hello.version = CHANNEL_VERSION; break;
	case SNAP_SUBMIT: submit_fill(&out.u.submit); break;
	case SNAP_WATCH: strcpy(out.u.watch.job, JOB_NOBODY); break;
	case SNAP_SIGNAL: strcpy(out.u.signal.job, JOB_NOBODY); break;
	case SNAP_ADMIN: out.u.admin.verb = SNAP_ADMIN_STATUS; break;
	case SNAP_BOUND: strcpy(out.u.bound.tenant, "root"); break;
	case SNAP_SUBMITTED:
		strcpy(out.u.submitted.job, JOB_NOBODY);
		out.u.submitted.state = JOB_RUNNING;
		break;
	case SNAP_OK: out.reply_to = SNAP_SIGNAL; break;
	case SNAP_ERROR: out.u.error.code = ERR_IO; break;
	case SNAP_JOB:
		strcpy(out.u.job.job, JOB_NOBODY);
		out.u.job.state = JOB_RUNNING;
		break;
	case SNAP_LOG: strcpy(out.u.log.job, JOB_NOBODY); break;
	default: break;
	}
	return (&out);
}

static size_t
packed(const struct snap_msg *m)
{
	ssize_t n;

	if ((n = snap_msg_pack(m, buf, sizeof(buf))) == -1)
		leave("a message could not be packed");
	return ((size_t)n);
}

static int
send_msg(const struct snap_msg *m, const int *fds, size_t nfds)
{
	return (tell(CHAN_FD, buf, packed(m), fds, nfds));
}

/* The next message from errandd, told in the log; a store channel is kept. */
static void
listen_one(void)
{
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t n;

	if ((n = hear(CHAN_FD, buf, sizeof(buf), fds, &nfds)) == 0)
		leave("the channel was closed");
	if (snap_msg_parse(buf, (size_t)n, &in) == -1)
		leave("errandd sent what cannot be read");
	if (in.op == SNAP_ERROR)
		say("heard ERROR %s: %s", err_code_name(in.u.error.code),
		    in.u.error.text);
	else if (in.op == SNAP_WATCHED)
		say("heard WATCHED active %d, %zu descriptors",
		    in.u.watched.active, nfds);
	else if (in.op == SNAP_BOUND)
		say("heard BOUND %s, %zu descriptors", in.u.bound.tenant,
		    nfds);
	else if (in.op == SNAP_OK && in.reply_to == SNAP_LIVE)
		say("heard OK, %u jobs", in.u.live.n);
	else
		say("heard %s", op_name(in.op));
	if (in.op == SNAP_BOUND && nfds == 1)
		store = fds[0];
}

static void
ask(const struct snap_msg *m)
{
	if (send_msg(m, NULL, 0) == -1)
		leave("the channel was closed");
	listen_one();
}

/* Before HELLO. */

static void
no_hello(void)
{
	wait_end(CHAN_FD);
}

static void
wrong_version(void)
{
	struct snap_msg *m = make("HELLO");

	m->u.hello.version++;
	(void)send_msg(m, NULL, 0);
	wait_end(CHAN_FD);
}

static void
hello_fd(void)
{
	int fd = bad_fds[BAD_NULL];

	(void)send_msg(make("HELLO"), &fd, 1);
	wait_end(CHAN_FD);
}

static void
early(void)
{
	(void)send_msg(make("BIND"), NULL, 0);
	wait_end(CHAN_FD);
}

/* Idle or served. */

static void
garbage(void)
{
	size_t n = packed(make("LIVE"));

	(void)send_garbage(CHAN_FD, arg(1), buf, n);
	wait_end(CHAN_FD);
}

static void
say_op(void)
{
	(void)send_msg(make(arg(1)), NULL, 0);
	wait_end(CHAN_FD);
}

static void
hello_again(void)
{
	(void)send_msg(make("HELLO"), NULL, 0);
	wait_end(CHAN_FD);
}

static void
idle_bind(void)
{
	(void)send_msg(make("BIND"), NULL, 0);
	wait_end(CHAN_FD);
}

static void
tenants(void)
{
	struct snap_msg *m;
	size_t i;

	for (i = 1; i < scene.n; i++) {
		m = make("BIND");
		snprintf(m->u.bind.tenant, sizeof(m->u.bind.tenant), "%s",
		    scene.word[i]);
		ask(m);
	}
	leave("done");
}

/* More descriptors than fit: the kernel cuts them off. */
static void
truncated(void)
{
	int fds[FDS_MAX];
	size_t i;

	for (i = 0; i < FDS_MAX; i++)
		fds[i] = bad_fds[BAD_NULL];
	(void)send_msg(make("BIND"), fds, FDS_MAX);
	wait_end(CHAN_FD);
}

static void
try_it(void)
{
	try_all(1);
	leave("done");
}

/* Bound. */

/* LIVE with the id 0, which is no request's. */
static void
no_id(void)
{
	(void)tell(CHAN_FD, "\x42\x00", 2, NULL, 0);
	wait_end(CHAN_FD);
}

static void
submit_fd(void)
{
	int fds[FDS_MAX];
	size_t i, n = 1;

	fds[0] = bad_fds[BAD_GOOD];
	if (strcmp(arg(1), "two") == 0)
		n = 2;
	else if (strcmp(arg(1), "sixteen") == 0)
		n = CHAN_FDS_MAX;
	else
		fds[0] = bad_fd(arg(1));
	for (i = 1; i < n; i++)
		fds[i] = fds[0];
	if (send_msg(make("SUBMIT"), fds, n) == -1)
		leave("the channel was closed");
	listen_one();
	leave("done");
}

static void
with_fd(void)
{
	int fd = bad_fds[BAD_NULL];

	(void)send_msg(make(arg(1)), &fd, 1);
	wait_end(CHAN_FD);
}

/* Another tenant's job: as if there were none. */
static void
foreign(void)
{
	struct snap_msg *m;
	int sig;

	m = make("WATCH");
	snprintf(m->u.watch.job, sizeof(m->u.watch.job), "%s", arg(1));
	m->u.watch.log = 1;
	ask(m);
	for (sig = 0; sig <= 9; sig += 9) {
		m = make("SIGNAL");
		snprintf(m->u.signal.job, sizeof(m->u.signal.job), "%s",
		    arg(1));
		m->u.signal.signal = (uint8_t)sig;
		ask(m);
	}
	ask(make("LIVE"));
	leave("done");
}

/* A SUBMIT whose fields are out of their bounds, made by hand. */
static void
absurd(void)
{
	static struct raw sub, lim, m, body;
	uint8_t id[33] = { OBJ_CHUNK, 1 };
	unsigned int i;

	for (i = 1; i <= 8; i++)
		raw_num(&lim, i, UINT64_MAX);
	raw_bytes(&sub, 1, "0123456789abcdef", 16);
	raw_bytes(&sub, 3, id, sizeof(id));
	if (strcmp(arg(1), "spec") == 0)
		raw_num(&sub, 4, UINT64_MAX);
	else
		raw_num(&sub, 4, 100);
	if (strcmp(arg(1), "limits") == 0)
		raw_bytes(&sub, 5, lim.b, lim.n);
	raw_bytes(&body, 1, sub.b, sub.n);
	raw_num(&m, 1, ++last_id);
	raw_bytes(&m, 5, body.b, body.n);
	(void)tell(CHAN_FD, m.b, m.n, NULL, 0);
	wait_end(CHAN_FD);
}

/* Within what the messages can say, beyond what a tenant may have. */
static void
greedy(void)
{
	struct snap_msg *m = make("SUBMIT");

	memset(&m->u.submit.limits, 0xff, sizeof(m->u.submit.limits));
	ask(m);
	m = make("SUBMIT");
	m->u.submit.net = JOB_NET_HOST;
	ask(m);
	m = make("SUBMIT");
	m->u.submit.root.kind = OBJ_TREE;
	memset(m->u.submit.root.id, 0xee, sizeof(m->u.submit.root.id));
	ask(m);
	leave("done");
}

/* Ask and ask, and read no answer. */
static void
flood(void)
{
	size_t n = packed(make(arg(1)));
	unsigned long i;

	say("floods");
	for (i = 0; i < FLOOD; i++)
		if (tell(CHAN_FD, buf, n, NULL, 0) == -1)
			break;
	say("sent %lu", i);
	wait_end(CHAN_FD);
}

/* On the store's channel. */

static struct store_msg smsg;

static int
store_send(const int *fds, size_t nfds)
{
	ssize_t n = store_msg_pack(&smsg, buf, sizeof(buf));

	if (n == -1)
		leave("a message for the store could not be packed");
	return (tell(store, buf, (size_t)n, fds, nfds));
}

static void
store_make(uint8_t op)
{
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = op;
	smsg.id = op == STORE_HELLO || op == STORE_WAIT ? 0 : ++last_id;
}

/* Whether the channel is still open. */
static int
store_listen(const char *about)
{
	struct store_msg m;
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t n;

	if ((n = hear(store, buf, sizeof(buf), fds, &nfds)) == 0) {
		say("%s: the store closed the channel", about);
		return (0);
	}
	if (store_msg_parse(buf, (size_t)n, &m) == -1)
		leave("the store sent what cannot be read");
	if (m.op == STORE_ERROR)
		say("%s: ERROR %s", about, err_code_name(m.u.error.code));
	else
		say("%s: OK, %u objects, %zu bytes, %zu descriptors", about,
		    m.u.ok.objects, m.reply_to == STORE_JOB_GET ||
		    m.reply_to == STORE_RECEIPT_GET ? m.u.ok.data.len : 0,
		    nfds);
	return (1);
}

/* Requests of the supervisor, on a tenant's channel. */
static void
store_say(void)
{
	static const char *const names[] = {
		[STORE_HELLO] = "HELLO", [STORE_BIND] = "BIND",
		[STORE_PUBLISH] = "PUBLISH", [STORE_SETTLE] = "SETTLE",
		[STORE_UNSETTLED] = "UNSETTLED", [STORE_HEAD] = "HEAD",
		[STORE_STAT] = "STAT", [STORE_CARE] = "CARE",
		[STORE_COLLECT] = "COLLECT", [STORE_EXPIRE] = "EXPIRE",
		[STORE_WAIT] = "WAIT", [STORE_OK] = "OK"
	};
	static uint8_t one[1] = { 1 };
	uint8_t op;
	int fd = bad_fds[BAD_NULL];

	for (op = 1; op < STORE_OP__MAX; op++)
		if (names[op] != NULL && strcmp(names[op], arg(1)) == 0)
			break;
	store_make(op);
	if (op == STORE_HELLO)
		smsg.u.hello.version = CHANNEL_VERSION;
	else if (op == STORE_CARE)
		smsg.u.care.task = CARE_VERIFY;
	else if (op == STORE_BIND) {
		smsg.u.bind.tenant_id = 1;
		smsg.u.bind.rights = 7;
	} else if (op == STORE_PUBLISH) {
		smsg.u.publish.tenant_id = 1;
		memset(smsg.u.publish.idem, 1, 16);
		strcpy(smsg.u.publish.job, JOB_NOBODY);
		smsg.u.publish.spec.kind = OBJ_CHUNK;
		smsg.u.publish.spec.id[0] = 1;
		smsg.u.publish.record = (struct store_bytes){ one, 1 };
	} else if (op == STORE_SETTLE) {
		strcpy(smsg.u.settle.job, JOB_NOBODY);
		smsg.u.settle.sequence = 1;
		smsg.u.settle.digest[0] = 1;
		smsg.u.settle.record = (struct store_bytes){ one, 1 };
		smsg.u.settle.receipt = (struct store_bytes){ one, 1 };
	} else if (op == STORE_OK)
		smsg.reply_to = STORE_BIND;
	(void)store_send(&fd, op == STORE_BIND);
	(void)store_listen(arg(1));
	leave("done");
}

static void
ref_arg(const char *hex, uint8_t kind, struct obj_ref *r)
{
	memset(r, 0, sizeof(*r));
	r->kind = kind;
	if (obj_id_parse(hex, r->id) == -1)
		leave("a reference cannot be read");
}

static void
store_get(const struct obj_ref *r, const char *about)
{
	uint8_t enc[OBJ_REF_LEN];
	int fd;

	obj_ref_encode(r, enc);
	if ((fd = memfd_make("refs", enc, sizeof(enc))) == -1)
		leave("memfd");
	store_make(STORE_GET);
	smsg.u.get.refs = 1;
	(void)store_send(&fd, 1);
	close(fd);
	(void)store_listen(about);
}

/* What another tenant has: its job, its receipt, its tree. */
static void
store_foreign(void)
{
	struct obj_ref root;

	ref_arg(arg(2), OBJ_TREE, &root);
	store_make(STORE_JOB_GET);
	snprintf(smsg.u.job.job, sizeof(smsg.u.job.job), "%s", arg(1));
	(void)store_send(NULL, 0);
	(void)store_listen("JOB_GET");
	store_make(STORE_RECEIPT_GET);
	snprintf(smsg.u.job.job, sizeof(smsg.u.job.job), "%s", arg(1));
	(void)store_send(NULL, 0);
	(void)store_listen("RECEIPT_GET");
	store_make(STORE_CHECK);
	smsg.u.check.root = root;
	(void)store_send(NULL, 0);
	(void)store_listen("CHECK");
	store_get(&root, "GET");
	store_make(STORE_JOB_LIST);
	smsg.u.list.limit = LIMIT_LIST_JOBS;
	(void)store_send(NULL, 0);
	(void)store_listen("JOB_LIST");
	leave("done");
}

/* One record whose id is not that of its bytes, or whose head lies. */
static int
lying_record(const char *kind)
{
	uint8_t rec[OBJREC_HEAD + 8];
	struct objrec r = { .raw_len = 8, .len = 8 };

	r.ref.kind = OBJ_CHUNK;
	memset(r.ref.id, 0x5a, sizeof(r.ref.id));
	objrec_encode(&r, rec);
	memcpy(rec + OBJREC_HEAD, "8 bytes.", 8);
	if (strcmp(kind, "lying-length") == 0)
		le_put32(rec + 8, UINT32_MAX);
	else if (strcmp(kind, "lying-codec") == 0)
		rec[1] = OBJREC_ZSTD;
	else if (strcmp(kind, "lying-tree") == 0)
		rec[0] = OBJ_TREE;
	return (memfd_make("put", rec, sizeof(rec)));
}

static void
store_put(void)
{
	int fds[2];
	size_t n = 1;

	if (strncmp(arg(1), "lying", 5) == 0)
		fds[0] = lying_record(arg(1));
	else if (strcmp(arg(1), "none") == 0)
		n = 0;
	else if (strcmp(arg(1), "two") == 0) {
		n = 2;
		fds[0] = fds[1] = bad_fds[BAD_GOOD];
	} else
		fds[0] = bad_fd(arg(1));
	store_make(STORE_PUT);
	smsg.u.put.objects = strcmp(arg(2), "many") == 0 ? 4096 : 1;
	(void)store_send(fds, n);
	(void)store_listen(arg(1));
	leave("done");
}

static void
store_flood(void)
{
	unsigned long i;
	ssize_t n;

	store_make(STORE_JOB_LIST);
	smsg.u.list.limit = LIMIT_LIST_JOBS;
	n = store_msg_pack(&smsg, buf, sizeof(buf));
	say("floods");
	for (i = 0; n > 0 && i < FLOOD; i++)
		if (tell(store, buf, (size_t)n, NULL, 0) == -1)
			break;
	say("sent %lu", i);
	while (store_listen("after the flood"))
		continue;
	leave("done");
}

static void
store_garbage(void)
{
	ssize_t n;

	store_make(STORE_JOB_LIST);
	n = store_msg_pack(&smsg, buf, sizeof(buf));
	(void)send_garbage(store, arg(1), buf, (size_t)n);
	(void)store_listen(arg(1));
	leave("done");
}

enum when { FIRST, IDLE, SERVED, BOUND };

static const struct {
	const char *name;
	enum when when;
	void (*play)(void);
} plays[] = {
	{ "no-hello",           FIRST,  no_hello },
	{ "wrong-version",      FIRST,  wrong_version },
	{ "hello-fd",           FIRST,  hello_fd },
	{ "early",              FIRST,  early },
	{ "idle-hello",         IDLE,   hello_again },
	{ "idle-bind",          IDLE,   idle_bind },
	{ "idle-garbage",       IDLE,   garbage },
	{ "tenant",             SERVED, tenants },
	{ "garbage",            SERVED, garbage },
	{ "say",                SERVED, say_op },
	{ "truncated",          SERVED, truncated },
	{ "with-fd",            SERVED, with_fd },
	{ "try",                SERVED, try_it },
	{ "twice",              BOUND,  say_op },
	{ "no-id",              BOUND,  no_id },
	{ "submit-fd",          BOUND,  submit_fd },
	{ "foreign",            BOUND,  foreign },
	{ "absurd",             BOUND,  absurd },
	{ "greedy",             BOUND,  greedy },
	{ "flood",              BOUND,  flood },
	{ "store-say",          BOUND,  store_say },
	{ "store-foreign",      BOUND,  store_foreign },
	{ "store-put",          BOUND,  store_put },
	{ "store-flood",        BOUND,  store_flood },
	{ "store-garbage",      BOUND,  store_garbage },
};

static void
play(void)
{
	size_t i;

	for (i = 0; i < sizeof(plays) / sizeof(plays[0]); i++)
		if (scene_is(plays[i].name))
			break;
	if (i == sizeof(plays) / sizeof(plays[0]))
		leave("there is no such scenario");
	if (plays[i].when >= IDLE && send_msg(make("HELLO"), NULL, 0) == -1)
		leave("the channel was closed");
	if (plays[i].when >= SERVED)
		listen_one();           /* SERVE */
	if (plays[i].when >= BOUND)
		ask(make("BIND"));
	plays[i].play();
	leave("done");
}

int
main(int argc, char **argv)
{
	struct options o;

	stand_in_begin("snapshot", argc, argv, &o);
	try_pid = getppid();
	bad_fds_make();
	if (!o.rootless)
		snap_root(NULL);
	if (sandbox_drop(o.uid, o.gid) == -1)
		fatal("become user %u", o.uid);
	(void)snap_fence();
	play();
	return (0);
}
