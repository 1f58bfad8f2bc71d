/*
 * A stand-in for errand-store, taken over by what tenants put into it.  It
 * sheds and fences as the real one does.  Scenarios:
 *
 *  no-hello, wrong-version, hello-twice, hello-fd, early, garbage KIND,
 *  say OP, mute, flood, try WHAT...
 *  answer HOW     the first request, by "id" (of no request), "op" (of
 *                 another kind), "twice", "fd" (where none belongs), "kind"
 *                 KIND (that descriptor), "list" KIND (a list of old jobs
 *                 that is "garbage", "long" or "strange")
 *  relay HOW      the real store is behind us, and what goes through is
 *                 changed; see relay.h
 */

#include <sys/mman.h>

#include <poll.h>

#include "bad_fds.h"
#include "lib/le.h"
#include "lib/sandbox.h"
#include "proto/store_msg.h"
#include "stand_in.h"
#include "relay.h"
#include "tries.h"
#include "worker-store/sandbox.h"

#define FLOOD           200000
#define JOB_NOBODY      "aaaaaaaaaaaaaaaa"

static uint8_t buf[CHAN_MSG_MAX];
static struct store_msg in, out;

static void
store_say(const struct store_msg *m, const int *fds, size_t nfds)
{
	static uint8_t b[CHAN_MSG_MAX];
	ssize_t n;

	if ((n = store_msg_pack(m, b, sizeof(b))) == -1)
		leave("a message could not be packed");
	if (tell(CHAN_FD, b, (size_t)n, fds, nfds) == -1)
		leave("the channel was closed");
}

static struct store_msg *
make(uint8_t op, uint64_t id, uint8_t reply_to)
{
	memset(&out, 0, sizeof(out));
	out.op = op;
	out.id = id;
	out.reply_to = reply_to;
	if (op == STORE_HELLO)
		out.u.hello.version = CHANNEL_VERSION;
	if (op == STORE_ERROR)
		out.u.error.code = ERR_IO;
	return (&out);
}

static void
hello(void)
{
	store_say(make(STORE_HELLO, 0, 0), NULL, 0);
}

/* The next request of errandd. */
static void
listen_one(void)
{
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t n;

	do {
		if ((n = hear(CHAN_FD, buf, sizeof(buf), fds, &nfds)) == 0)
			leave("the channel was closed");
		if (store_msg_parse(buf, (size_t)n, &in) == -1)
			leave("errandd sent what cannot be read");
	} while (in.op == STORE_HELLO);
	say("heard request %u", in.op);
}

static void
no_hello(void)
{
}

static void
wrong_version(void)
{
	struct store_msg *m = make(STORE_HELLO, 0, 0);

	m->u.hello.version++;
	store_say(m, NULL, 0);
}

static void
hello_twice(void)
{
	hello();
	hello();
}

static void
hello_fd(void)
{
	store_say(make(STORE_HELLO, 0, 0), &bad_fds[BAD_NULL], 1);
}

static void
early(void)
{
	store_say(make(STORE_OK, 1, STORE_UNSETTLED), NULL, 0);
}

static void
garbage(void)
{
	static const uint8_t none[1];

	hello();
	(void)send_garbage(CHAN_FD, arg(1), none, 0);
}

/* Requests, which only others may make. */
static void
say_op(void)
{
	struct store_msg *m;

	hello();
	if (strcmp(arg(1), "HEAD") == 0)
		m = make(STORE_HEAD, 1, 0);
	else if (strcmp(arg(1), "STAT") == 0)
		m = make(STORE_STAT, 1, 0);
	else if (strcmp(arg(1), "UNSETTLED") == 0)
		m = make(STORE_UNSETTLED, 1, 0);
	else {
		m = make(STORE_JOB_GET, 1, 0);
		strcpy(m->u.job.job, JOB_NOBODY);
	}
	store_say(m, NULL, 0);
}

static void
mute(void)
{
	hello();
}

/* Answers to what nobody asked. */
static void
flood(void)
{
	unsigned long i;

	hello();
	say("floods");
	for (i = 0; i < FLOOD; i++)
		store_say(make(STORE_ERROR, 1000000 + i, STORE_HEAD), NULL, 0);
	say("sent %lu", i);
}

static void
try_it(void)
{
	hello();
	try_all(1);
}

/* A list of jobs that had not ended: errandd acts on it as root. */
static int
list_make(void)
{
	static uint8_t b[1 << 16];
	struct job_record r;
	size_t n = 0, i;
	ssize_t len;

	if (strcmp(arg(2), "garbage") == 0) {
		memset(b, 0xff, sizeof(b));
		return (memfd_make("list", b, sizeof(b)));
	}
	if (strcmp(arg(2), "long") == 0)
		return (bad_memfd((off_t)65 << 20, F_SEAL_SEAL | F_SEAL_SHRINK |
		    F_SEAL_GROW | F_SEAL_WRITE));
	/* Of a tenant by a wrong number, of a name that is none, and ended. */
	for (i = 0; i < 3; i++) {
		memset(&r, 0, sizeof(r));
		memset(r.id, 'a' + (int)i, JOB_ID_LEN);
		snprintf(r.tenant, sizeof(r.tenant), "%s",
		    i == 1 ? "nobody" : arg(3));
		r.tenant_id = i == 0 ? 4000000000U : 1;
		r.state = i == 2 ? JOB_EXITED : JOB_RUNNING;
		if ((len = job_record_pack(&r, b + n + 4, LIMIT_RECORD)) == -1)
			leave("a record could not be packed");
		le_put32(b + n, (uint32_t)len);
		n += 4 + (size_t)len;
	}
	return (memfd_make("list", b, n));
}

static void
answer(void)
{
	int fd = -1;

	hello();
	listen_one();
	if (strcmp(arg(1), "id") == 0)
		store_say(make(STORE_OK, in.id + 1000, in.op), NULL, 0);
	else if (strcmp(arg(1), "op") == 0)
		store_say(make(STORE_OK, in.id, STORE_SETTLE), NULL, 0);
	else if (strcmp(arg(1), "twice") == 0) {
		store_say(make(STORE_ERROR, in.id, in.op), NULL, 0);
		store_say(make(STORE_ERROR, in.id, in.op), NULL, 0);
	} else if (strcmp(arg(1), "fd") == 0)
		store_say(make(STORE_ERROR, in.id, in.op), &bad_fds[BAD_NULL],
		    1);
	else {
		fd = strcmp(arg(1), "kind") == 0 ? bad_fd(arg(2)) :
		    list_make();
		make(STORE_OK, in.id, in.op)->u.ok.objects = 1;
		store_say(&out, &fd, 1);
		if (strcmp(arg(2), "strange") == 0)
			leave("done");
	}
}

static const struct {
	const char *name;
	void (*play)(void);
} scenes[] = {
	{ "no-hello", no_hello }, { "wrong-version", wrong_version },
	{ "hello-twice", hello_twice }, { "hello-fd", hello_fd },
	{ "early", early }, { "garbage", garbage }, { "say", say_op },
	{ "mute", mute }, { "flood", flood }, { "try", try_it },
	{ "answer", answer },
};

int
main(int argc, char **argv)
{
	struct options o;
	size_t i;
	int dir;

	stand_in_begin("store", argc, argv, &o);
	try_pid = getppid();
	bad_fds_make();
	if (scene_is("relay"))
		relay_begin(argv);
	if (sandbox_drop(o.uid, o.gid) == -1)
		fatal("become user %u", o.uid);
	if (scene_is("relay"))
		relay_serve();
	if ((dir = open(o.dir, O_RDONLY | O_DIRECTORY)) == -1)
		fatal("%s", o.dir);
	sandbox_fence(dir);
	for (i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (scene_is(scenes[i].name)) {
			scenes[i].play();
			wait_end(CHAN_FD);
		}
	leave("there is no such scenario");
}
