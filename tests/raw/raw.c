/*
 * raw [-t seconds] [-T tenant] SOCKET COMMAND [argument ...]
 *
 * Speaks the client protocol by hand, well or badly; see raw_io.h for what it
 * prints.  It exits 0 when the command was carried out, whatever came of it, 1
 * when it could not connect or say what it had to, 2 on wrong use.
 */

#include <zstd.h>

#include "lib/content.h"
#include "raw_io.h"

struct command {
	const char *name;
	int args;               /* at least */
	int (*fn)(struct raw *, char **);
	const char *help;
};

static size_t
size_arg(const char *s, size_t otherwise)
{
	return (s == NULL ? otherwise : (size_t)strtoull(s, NULL, 0));
}

/* --- well behaved --- */

static int
do_hello(struct raw *r, char **a)
{
	(void)a;
	if (raw_hello(r, PROTO_VERSION, PROTO_VERSION) == -1)
		return (1);
	if (raw_wait(r, FRAME_HELLO)) {
		/* A refusal follows at once, or nothing does. */
		r->until = io_mono_us() + 300000;
		raw_rest(r);
	}
	return (0);
}

static int
do_version(struct raw *r, char **a)
{
	if (raw_hello(r, (uint32_t)size_arg(a[0], 1),
	    (uint32_t)size_arg(a[1], 1)) == -1)
		return (1);
	raw_rest(r);
	return (0);
}

static const struct {
	const char *name;
	uint8_t verb;
} verbs[] = {
	{ "attach", CLIENT_ATTACH }, { "wait", CLIENT_WAIT },
	{ "status", CLIENT_STATUS }, { "list", CLIENT_LIST },
	{ "kill", CLIENT_KILL }, { "receipt", CLIENT_RECEIPT },
	{ "info", CLIENT_INFO }, { "get", CLIENT_GET },
	{ "upload", CLIENT_UPLOAD },
};

static int
open_arg(struct client_open *o, const char *verb, const char *job)
{
	size_t i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, verb) == 0)
			o->verb = verbs[i].verb;
	}
	if (o->verb == 0)
		return (-1);
	o->follow = 1;
	o->all = 1;
	if (job != NULL)
		snprintf(o->job, sizeof(o->job), "%s", job);
	return (0);
}

static int
do_ask(struct raw *r, char **a)
{
	struct client_open o;

	if (open_arg(&o, a[0], a[1]) == -1)
		return (2);
	if (raw_greet(r))
		return (0);
	if (raw_open(r, 1, &o) == 0 && raw_frame(r, 1, FRAME_END, 0, NULL,
	    0) == 0)
		(void)raw_answer(r, 1);
	return (0);
}

/* ADMIN wherever it is sent. */
static int
do_admin(struct raw *r, char **a)
{
	struct client_open o;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_ADMIN;
	o.admin = (uint8_t)size_arg(a[0], SNAP_ADMIN_STATUS);
	if (a[0] != NULL && a[1] != NULL)
		snprintf(o.tenant.name, sizeof(o.tenant.name), "%s", a[1]);
	if (raw_greet(r))
		return (0);
	if (raw_open(r, 1, &o) == 0)
		(void)raw_answer(r, 1);
	return (0);
}

/* Has the host an object?  Its id is of the tenant's or of another's. */
static int
do_get(struct raw *r, char **a)
{
	struct client_open o;
	uint8_t ref[OBJ_REF_LEN];

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_GET;
	ref[0] = (uint8_t)size_arg(a[0], OBJ_CHUNK);
	if (obj_id_parse(a[1], ref + 1) == -1)
		return (2);
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	(void)raw_frame(r, 1, FRAME_DATA, FRAME_REFS, ref, sizeof(ref));
	(void)raw_frame(r, 1, FRAME_END, 0, NULL, 0);
	(void)raw_answer(r, 1);
	return (0);
}

/* Upload one chunk with these bytes; its id is printed. */
static int
do_put(struct raw *r, char **a)
{
	struct raw_pile pile = { NULL, 0 };
	struct obj_ref ref;
	char hex[2 * OBJ_ID_LEN + 1];

	if (content_from_mem(a[0], strlen(a[0]), raw_pile_add, &pile,
	    &ref) == -1)
		return (1);
	obj_id_hex(ref.id, hex);
	printf("id %u %s\n", ref.kind, hex);
	if (raw_greet(r))
		return (0);
	raw_upload(r, 1, pile.p, pile.len);
	(void)raw_answer(r, 1);
	free(pile.p);
	return (0);
}

/* Upload a spec and submit it, without a tree. */
static int
submit(struct raw *r, char **argv, int detach)
{
	struct raw_pile pile = { NULL, 0 };
	struct client_open o;

	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_SUBMIT;
	o.submit.detach = (uint8_t)detach;
	raw_spec(argv, &pile, &o.submit);
	if (raw_greet(r))
		return (-1);
	raw_upload(r, 1, pile.p, pile.len);
	(void)raw_open(r, 3, &o);
	(void)raw_frame(r, 3, FRAME_END, 0, NULL, 0);
	free(pile.p);
	return (0);
}

static int
do_run(struct raw *r, char **a)
{
	if (submit(r, a, 0) == 0)
		(void)raw_answer(r, 3);
	return (0);
}

static int
do_detach(struct raw *r, char **a)
{
	if (submit(r, a, 1) == 0)
		(void)raw_answer(r, 3);
	return (0);
}

/* Leave as soon as the job is accepted. */
static int
do_drop(struct raw *r, char **a)
{
	if (submit(r, a, 0) == -1)
		return (0);
	while (raw_next(r)) {
		if (r->stream == 3 && (r->type == FRAME_RESET ||
		    r->type == FRAME_REPLY))
			break;
	}
	return (0);
}

/* Leave without even waiting for that. */
static int
do_blind(struct raw *r, char **a)
{
	(void)submit(r, a, 0);
	return (0);
}

/* A job whose tree nobody has. */
static int
do_missing(struct raw *r, char **a)
{
	static char *argv[] = { NULL, NULL };
	struct raw_pile pile = { NULL, 0 };
	struct client_open o;

	(void)a;
	argv[0] = strdup("true");
	memset(&o, 0, sizeof(o));
	o.verb = CLIENT_SUBMIT;
	raw_spec(argv, &pile, &o.submit);
	o.submit.root.kind = OBJ_TREE;
	raw_random(o.submit.root.id, OBJ_ID_LEN, 5);
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	(void)raw_frame(r, 1, FRAME_END, 0, NULL, 0);
	(void)raw_answer(r, 1);
	free(argv[0]);
	free(pile.p);
	return (0);
}

/* --- badly behaved --- */

static int
garbage(struct raw *r, char **a)
{
	size_t n = size_arg(a[0], 256);
	uint8_t *p = malloc(n + 1);

	if (p == NULL)
		return (1);
	raw_random(p, n, size_arg(a[0] != NULL ? a[1] : NULL, 1));
	(void)raw_bytes(r, p, n);
	free(p);
	raw_rest(r);
	return (0);
}

static int
do_garbage(struct raw *r, char **a)
{
	return (garbage(r, a));
}

static int
do_late_garbage(struct raw *r, char **a)
{
	return (raw_greet(r) ? 0 : garbage(r, a));
}

/* Bytes in hexadecimal, as the first thing or after HELLO. */
static int
send_hex(struct raw *r, const char *hex)
{
	size_t n = strlen(hex) / 2;
	uint8_t *p = malloc(n + 1);

	if (p == NULL || text_unhex(hex, p, n) == -1)
		return (2);
	(void)raw_bytes(r, p, n);
	free(p);
	raw_rest(r);
	return (0);
}

static int
do_first(struct raw *r, char **a)
{
	return (send_hex(r, a[0]));
}

static int
do_send(struct raw *r, char **a)
{
	return (raw_greet(r) ? 0 : send_hex(r, a[0]));
}

/* A frame that says it is longer than any may be. */
static int
do_oversize(struct raw *r, char **a)
{
	uint8_t head[FRAME_HEAD] = { 0 };

	le_put32(head, (uint32_t)size_arg(a[0], FRAME_BODY_MAX + 1));
	le_put32(head + 4, 1);
	head[8] = FRAME_OPEN;
	if (raw_greet(r))
		return (0);
	(void)raw_bytes(r, head, sizeof(head));
	raw_rest(r);
	return (0);
}

/* One frame of any kind: STREAM TYPE FLAGS LENGTH, a body of zeros. */
static int
do_frame(struct raw *r, char **a)
{
	static const uint8_t zeros[FRAME_BODY_MAX];
	size_t len = size_arg(a[3], 0);

	if (raw_greet(r))
		return (0);
	(void)raw_frame(r, (uint32_t)size_arg(a[0], 0),
	    (uint8_t)size_arg(a[1], 0), (uint8_t)size_arg(a[2], 0), zeros,
	    len < sizeof(zeros) ? len : sizeof(zeros));
	raw_rest(r);
	return (0);
}

/* DATA and END of streams that do not take them. */
static int
do_order(struct raw *r, char **a)
{
	struct client_open o;

	(void)a;
	(void)open_arg(&o, "wait", "last");
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	(void)raw_frame(r, 1, FRAME_DATA, FRAME_STDIN, "x", 1);
	raw_rest(r);
	return (0);
}

/* Nothing at all. */
static int
do_silent(struct raw *r, char **a)
{
	(void)a;
	raw_rest(r);
	return (0);
}

/* HELLO, then nothing: PINGs stay unanswered. */
static int
do_idle(struct raw *r, char **a)
{
	(void)a;
	if (!raw_greet(r))
		raw_rest(r);
	return (0);
}

/* HELLO, then nothing but answers to PING. */
static int
do_pong(struct raw *r, char **a)
{
	r->pong = 1;
	return (do_idle(r, a));
}

/* The first N bytes of HELLO or of a request, then nothing. */
static int
do_half(struct raw *r, char **a)
{
	uint8_t buf[FRAME_HEAD] = { 40, 0, 0, 0, 1, 0, 0, 0, FRAME_OPEN };
	size_t n = size_arg(a[0], 6);

	if (raw_greet(r))
		return (0);
	(void)raw_bytes(r, buf, n < sizeof(buf) ? n : sizeof(buf));
	raw_rest(r);
	return (0);
}

static int
do_half_hello(struct raw *r, char **a)
{
	uint8_t buf[FRAME_HEAD] = { 40, 0, 0, 0, 0, 0, 0, 0, FRAME_HELLO };
	size_t n = size_arg(a[0], 6);

	(void)raw_bytes(r, buf, n < sizeof(buf) ? n : sizeof(buf));
	raw_rest(r);
	return (0);
}

/* N streams that stay open. */
static int
do_streams(struct raw *r, char **a)
{
	struct client_open o;
	size_t i, n = size_arg(a[0], FRAME_STREAMS + 1);

	(void)open_arg(&o, "upload", NULL);
	if (raw_greet(r))
		return (0);
	for (i = 0; i < n; i++) {
		if (raw_open(r, (uint32_t)(2 * i + 1), &o) == -1)
			break;
	}
	raw_rest(r);
	return (0);
}

/* N requests, or PINGs, and nothing is read until all are out. */
static int
do_flood(struct raw *r, char **a)
{
	struct client_open o;
	size_t i, n = size_arg(a[0], 100000);

	(void)open_arg(&o, "info", NULL);
	r->quiet = 1;
	if (raw_greet(r))
		return (0);
	for (i = 0; i < n; i++) {
		if (raw_open(r, (uint32_t)(2 * i + 1), &o) == -1 ||
		    raw_frame(r, (uint32_t)(2 * i + 1), FRAME_END, 0, NULL,
		    0) == -1)
			break;
	}
	printf("sent %zu\n", i);
	raw_rest(r);
	return (0);
}

static int
do_pings(struct raw *r, char **a)
{
	size_t i, n = size_arg(a[0], 100000);

	if (raw_greet(r))
		return (0);
	for (i = 0; i < n; i++) {
		if (raw_frame(r, 0, FRAME_PING, 0, NULL, 0) == -1)
			break;
	}
	printf("sent %zu\n", i);
	raw_rest(r);
	return (0);
}

/* Requests that are taken back at once. */
static int
do_resets(struct raw *r, char **a)
{
	struct client_open o;
	size_t i, n = size_arg(a[0], 10000);

	(void)open_arg(&o, "wait", "last");
	r->quiet = 1;
	if (raw_greet(r))
		return (0);
	for (i = 0; i < n; i++) {
		if (raw_open(r, (uint32_t)(2 * i + 1), &o) == -1 ||
		    raw_frame(r, (uint32_t)(2 * i + 1), FRAME_RESET, 0, NULL,
		    0) == -1)
			break;
		while (r->have > 0 || i % 16 == 15) {
			if (!raw_next(r) || r->type == FRAME_RESET)
				break;
		}
	}
	printf("sent %zu\n", i);
	raw_rest(r);
	return (0);
}

/* Follow a job and read nothing of it for the time there is. */
static int
do_no_read(struct raw *r, char **a)
{
	struct client_open o;
	struct pollfd pfd = { .fd = r->fd, .events = 0 };

	(void)open_arg(&o, "attach", a[0]);
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	while (io_mono_us() < r->until) {
		if (poll(&pfd, 1, 100) == 1 &&
		    (pfd.revents & (POLLHUP | POLLERR)))
			break;
	}
	return (raw_ended(r, pfd.revents ? "closed" : "timeout"));
}

/* Follow a job, read all, grant nothing. */
static int
do_no_credit(struct raw *r, char **a)
{
	struct client_open o;

	(void)open_arg(&o, "attach", a[0]);
	r->quiet = r->pong = 1;
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	raw_rest(r);
	printf("got %" PRIu64 "\n", r->data);
	return (0);
}

/* More DATA than there is credit for. */
static int
do_no_limit(struct raw *r, char **a)
{
	static const uint8_t zeros[FRAME_SLICE];
	struct client_open o;
	size_t i, n = size_arg(a[0], 2 * FRAME_CREDIT / FRAME_SLICE);

	(void)open_arg(&o, "get", NULL);
	if (raw_greet(r))
		return (0);
	(void)raw_open(r, 1, &o);
	for (i = 0; i < n; i++) {
		if (raw_frame(r, 1, FRAME_DATA, FRAME_REFS, zeros,
		    sizeof(zeros)) == -1)
			break;
	}
	raw_rest(r);
	return (0);
}

/* N records that are much larger than they look, as is allowed, or, with a
 * second argument, one that is larger than it says. */
static int
do_bomb(struct raw *r, char **a)
{
	static uint8_t zeros[4 * OBJ_MAX];
	uint8_t rec[OBJREC_HEAD + 8192], *all;
	struct objrec h;
	size_t i, n = size_arg(a[0], 1000), len;

	memset(&h, 0, sizeof(h));
	h.codec = OBJREC_ZSTD;
	h.raw_len = OBJ_MAX;
	(void)obj_ref_of(OBJ_CHUNK, zeros, OBJ_MAX, &h.ref);
	len = a[0] != NULL && a[1] != NULL ? sizeof(zeros) : OBJ_MAX;
	len = ZSTD_compress(rec + OBJREC_HEAD, 8192, zeros, len, 3);
	h.len = (uint32_t)len;
	objrec_encode(&h, rec);
	len += OBJREC_HEAD;
	/* No more than there is credit for. */
	if (n > FRAME_CREDIT / len)
		n = FRAME_CREDIT / len;
	if ((all = malloc(n * len + 1)) == NULL)
		return (1);
	for (i = 0; i < n; i++)
		memcpy(all + i * len, rec, len);
	if (!raw_greet(r)) {
		raw_upload(r, 1, all, n * len);
		(void)raw_answer(r, 1);
	}
	free(all);
	return (0);
}

/* An object under an id that is not its own. */
static int
do_forge(struct raw *r, char **a)
{
	uint8_t rec[OBJREC_HEAD + 5];
	struct objrec h;

	(void)a;
	memset(&h, 0, sizeof(h));
	h.ref.kind = OBJ_CHUNK;
	raw_random(h.ref.id, OBJ_ID_LEN, 3);
	h.raw_len = h.len = 5;
	objrec_encode(&h, rec);
	memcpy(rec + OBJREC_HEAD, "hello", 5);
	if (raw_greet(r))
		return (0);
	raw_upload(r, 1, rec, sizeof(rec));
	(void)raw_answer(r, 1);
	return (0);
}

static const struct command commands[] = {
	{ "hello", 0, do_hello, "HELLO, and who we are" },
	{ "version", 2, do_version, "MIN MAX: HELLO with other versions" },
	{ "ask", 1, do_ask, "VERB [JOB]: a request and its answer" },
	{ "admin", 0, do_admin, "[VERB [NAME]]: an ADMIN request" },
	{ "get", 2, do_get, "KIND ID: fetch an object" },
	{ "put", 1, do_put, "TEXT: upload an object" },
	{ "run", 1, do_run, "ARGV...: a job without a tree, followed" },
	{ "detach", 1, do_detach, "ARGV...: the same, not followed" },
	{ "drop", 1, do_drop, "ARGV...: and leave when it is accepted" },
	{ "blind", 1, do_blind, "ARGV...: and leave at once" },
	{ "missing", 0, do_missing, "a job whose tree is not there" },
	{ "garbage", 0, do_garbage, "[N [SEED]]: noise instead of HELLO" },
	{ "late-garbage", 0, do_late_garbage, "[N [SEED]]: noise after it" },
	{ "first", 1, do_first, "HEX: these bytes instead of HELLO" },
	{ "send", 1, do_send, "HEX: these bytes after it" },
	{ "oversize", 0, do_oversize, "[N]: a frame said to be N long" },
	{ "frame", 4, do_frame, "STREAM TYPE FLAGS LENGTH: any frame" },
	{ "order", 0, do_order, "DATA that is not wanted" },
	{ "silent", 0, do_silent, "nothing" },
	{ "idle", 0, do_idle, "nothing after HELLO" },
	{ "pong", 0, do_pong, "nothing but answers to PING" },
	{ "half", 0, do_half, "[N]: N bytes of a request, then nothing" },
	{ "half-hello", 0, do_half_hello, "[N]: N bytes of HELLO" },
	{ "streams", 0, do_streams, "[N]: N open streams" },
	{ "flood", 0, do_flood, "[N]: N requests, reading nothing" },
	{ "pings", 0, do_pings, "[N]: N PINGs, reading nothing" },
	{ "resets", 0, do_resets, "[N]: N requests that are taken back" },
	{ "no-read", 1, do_no_read, "JOB: follow it and read nothing" },
	{ "no-credit", 1, do_no_credit, "JOB: follow it without credit" },
	{ "no-limit", 0, do_no_limit, "[N]: more DATA than is allowed" },
	{ "bomb", 0, do_bomb, "[N [x]]: small records of large objects" },
	{ "forge", 0, do_forge, "an object under another's id" },
};

#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
usage(void)
{
	size_t i;

	fprintf(stderr,
	    "usage: raw [-t seconds] [-T tenant] socket command ...\n");
	for (i = 0; i < NCOMMANDS; i++)
		fprintf(stderr, "  %-12s %s\n", commands[i].name,
		    commands[i].help);
	return (2);
}

static int
perform(struct raw *r, const char *path, const char *name, char **args,
    int n)
{
	size_t i;
	int rc;

	for (i = 0; i < NCOMMANDS; i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		if (n < commands[i].args)
			break;
		raw_connect(r, path);
		r->until += r->began;
		rc = commands[i].fn(r, args);
		client_reply_done(&r->reply);
		close(r->fd);
		return (rc);
	}
	return (usage());
}

int
main(int argc, char **argv)
{
	static struct raw r = { .tenant = "" };
	int ch;

	r.until = 30000000;
	while ((ch = getopt(argc, argv, "+t:T:")) != -1) {
		if (ch == 't')
			r.until = (uint64_t)(strtod(optarg, NULL) * 1e6);
		else if (ch == 'T')
			r.tenant = optarg;
		else
			return (usage());
	}
	argc -= optind;
	argv += optind;
	if (argc < 2)
		return (usage());
	/* What follows a "--" is the command of a job. */
	if (argc > 2 && strcmp(argv[2], "--") == 0)
		return (perform(&r, argv[0], argv[1], argv + 3, argc - 3));
	return (perform(&r, argv[0], argv[1], argv + 2, argc - 2));
}
