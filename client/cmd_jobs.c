/*
 * errand ps, status, logs, attach, wait, kill.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "common.h"
#include "follow.h"
#include "json.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "objget.h"
#include "out.h"
#include "signals.h"
#include "stdin.h"
#include "tty.h"

enum { OPT_FROM = 500, OPT_TAIL, OPT_STREAM, OPT_NO_STDIN };

static const struct option common_longs[] = { COMMON_OPTS };

struct spec_bytes {
	uint8_t *p;
	size_t len;
};

static int
spec_piece(void *cookie, const uint8_t *p, uint64_t len)
{
	struct spec_bytes *b = cookie;

	if (p == NULL || len > LIMIT_SPEC - b->len)
		return (-1);
	memcpy(b->p + b->len, p, (size_t)len);
	b->len += (size_t)len;
	return (0);
}

/* The spec of a job; missing ones leave ${sp} empty and return -1. */
static int
load_spec(struct objget *g, const struct job_record *rec, struct job_spec *sp)
{
	struct spec_bytes b = { 0 };
	int rc = -1;

	memset(sp, 0, sizeof(*sp));
	if ((b.p = malloc(LIMIT_SPEC)) == NULL)
		return (-1);
	if (content_read(&rec->submit.spec, objget_fetch, g, spec_piece,
	    &b) == 0)
		rc = job_spec_parse(b.p, b.len, sp);
	free(b.p);
	return (rc);
}

/* The command on one line, escaped, for listings. */
static const char *
command_line(const struct job_spec *sp)
{
	static char line[256];
	size_t i, n = 0;

	line[0] = '\0';
	for (i = 0; i < sp->argc && n + 2 < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%.100s",
		    i > 0 ? " " : "", out_escape(sp->argv[i],
		    strlen(sp->argv[i])));
	return (line);
}

static const char *
outcome(const struct job_record *r)
{
	static char buf[64];

	if (!JOB_IS_FINAL(r->state))
		return ("-");
	if (r->unknown)
		return (r->ran ? "ran, its end is not known" :
		    "not known whether it ran");
	if (!r->ran)
		return ("did not run");
	if (r->signal != 0)
		snprintf(buf, sizeof(buf), "signal %u", r->signal);
	else
		snprintf(buf, sizeof(buf), "exit %u", r->exit_code);
	return (buf);
}

struct ps {
	struct session *s;
	struct job_record *v;
	size_t n, cap;
	int done;
	struct err err;
};

static int
on_listed(void *cookie, const struct frame *f)
{
	struct ps *ps = cookie;
	struct client_reply *r;
	struct job_record *v;
	int rc;

	if (f == NULL || f->type == FRAME_RESET) {
		ps->done = f == NULL ? -2 : -1;
		return (f == NULL ? 0 : err_parse(f->body, f->len, &ps->err));
	}
	if (f->type != FRAME_REPLY || (r = calloc(1, sizeof(*r))) == NULL)
		return (-1);
	rc = client_reply_parse(f->body, f->len, r);
	if (rc == 0 && conn_ends(f) != (r->kind == CLIENT_DONE))
		rc = -1;
	if (rc == 0 && r->kind == CLIENT_DONE)
		ps->done = 1;
	else if (rc == 0 && r->kind == CLIENT_JOB && ps->n < LIMIT_LIST_JOBS) {
		if (ps->n == ps->cap) {
			ps->cap = ps->cap == 0 ? 64 : ps->cap * 2;
			v = realloc(ps->v, ps->cap * sizeof(*v));
			if (v == NULL) {
				client_reply_done(r);
				free(r);
				return (-1);
			}
			ps->v = v;
		}
		ps->v[ps->n++] = r->record;
	} else
		rc = -1;
	client_reply_done(r);
	free(r);
	return (rc);
}

static int
list_jobs(struct session *s, int all, uint32_t limit, struct ps *ps)
{
	struct client_open *o;
	uint32_t stream;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (EXIT_OURS);
	ps->s = s;
	o->verb = CLIENT_LIST;
	o->all = all != 0;
	o->limit = limit;
	stream = conn_request(s->c, o, on_listed, ps);
	free(o);
	(void)conn_until(s->c, &ps->done);
	conn_forget(s->c, stream);
	if (stream == 0 || ps->done == 0 || ps->done == -2) {
		session_lost(s);
		return (EXIT_NO);
	}
	if (ps->done == -1) {
		out_err(&ps->err);
		return (EXIT_NO);
	}
	return (0);
}

static void
show_jobs(struct session *s, const struct ps *ps)
{
	struct objget *g = objget_new(s);
	struct job_spec sp;
	size_t i;
	int have;

	if (g == NULL)
		return;
	for (i = 0; i < ps->n; i++)
		(void)objget_want(g, &ps->v[i].submit.spec);
	if (!s->json && ps->n > 0)
		printf("%-16s  %-8s  %-12s  %-20s  %s\n", "JOB", "STATE",
		    "RESULT", "SUBMITTED", "COMMAND");
	for (i = 0; i < ps->n; i++) {
		have = load_spec(g, &ps->v[i], &sp) == 0;
		if (s->json)
			(void)json_print(json_record(&ps->v[i], s->host->host,
			    have ? &sp : NULL), STDOUT_FILENO);
		else
			printf("%-16s  %-8s  %-12s  %.19sZ  %s\n", ps->v[i].id,
			    job_state_name(ps->v[i].state), ps->v[i].unknown ?
			    "not known" : outcome(&ps->v[i]),
			    out_time(ps->v[i].times.submitted),
			    have ? command_line(&sp) : "");
		if (have)
			job_spec_done(&sp);
	}
	objget_free(g);
}

int
cmd_ps(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "all", no_argument, NULL, 'a' }, COMMON_OPTS
	};
	struct session s = { 0 };
	struct ps ps = { 0 };
	char *end;
	unsigned long limit = 50;
	int c, all = 0, rc;

	while ((c = getopt_long(argc, argv, "an:qv", longs, NULL)) != -1) {
		if (c == 'a')
			all = 1;
		else if (c == 'n') {
			limit = strtoul(optarg, &end, 10);
			if (!isdigit((unsigned char)*optarg) || *end != '\0' ||
			    limit == 0 || limit > LIMIT_LIST_JOBS)
				return (out_usage("-n: 1 to %d",
				    LIMIT_LIST_JOBS));
		} else if ((rc = common_option(&s, "ps", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if (optind < argc)
		return (out_usage("ps takes no arguments"));
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	if ((rc = list_jobs(&s, all, (uint32_t)limit, &ps)) == 0)
		show_jobs(&s, &ps);
	free(ps.v);
	session_close(&s);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}

static void
show_times(const struct job_record *r)
{
	const struct job_times *t = &r->times;

	printf("submitted  %s\n", out_time(t->submitted));
	if (t->started != 0)
		printf("started    %s\n", out_time(t->started));
	if (t->ended != 0)
		printf("ended      %s\n", out_time(t->ended));
	if (t->settled != 0)
		printf("settled    %s\n", out_time(t->settled));
}

static void
show_caches(const struct job_record *r)
{
	const struct cache_use *u;
	uint32_t i;

	for (i = 0; i < r->ncaches; i++) {
		u = &r->caches[i];
		printf("cache      %s, %s, %s%s%s\n", u->name, u->restored ?
		    "restored" : "began empty", u->saved ? "saved" :
		    u->unchanged ? "unchanged" : "not saved",
		    u->note[0] == '\0' ? "" : ": ",
		    out_escape(u->note, strlen(u->note)));
	}
}

/* What is known when the job has ended, and no earlier. */
static void
show_result(const struct job_record *r)
{
	printf("output     %s%s\n", text_bytes(r->log.bytes),
	    r->log.truncated ? ", truncated" : "");
	printf("changes    %llu%s\n", (unsigned long long)r->changes.count,
	    r->changes.complete ? "" : ", incomplete");
	show_caches(r);
	printf("used       %s cpu, %s memory\n", text_us(r->usage.cpu_us),
	    text_bytes(r->usage.memory_peak));
}

static void
show_status(const struct session *s, const struct job_record *r,
    const struct job_spec *sp)
{
	char hex[2 * OBJ_ID_LEN + 1];

	printf("job        %s\n", r->id);
	if (sp != NULL && sp->label != NULL)
		printf("label      %s\n", out_escape(sp->label,
		    strlen(sp->label)));
	if (sp != NULL)
		printf("command    %s\n", command_line(sp));
	printf("tenant     %s on %s\nstate      %s\n", r->tenant,
	    out_escape(s->host->host, strlen(s->host->host)),
	    job_state_name(r->state));
	if (JOB_IS_FINAL(r->state))
		printf("result     %s\n", outcome(r));
	if (r->limit != JOB_LIMIT_NONE)
		printf("limit      %s\n", common_limit(r->limit));
	if (r->reason.code != ERR_NONE)
		printf("reason     %s: %s\n", err_code_name(r->reason.code),
		    out_escape(r->reason.text, strlen(r->reason.text)));
	show_times(r);
	if (r->submit.root.kind != OBJ_NONE) {
		obj_id_hex(r->submit.root.id, hex);
		printf("tree       %s, %llu file%s, %s\n", hex,
		    (unsigned long long)r->submit.tree_files,
		    r->submit.tree_files == 1 ? "" : "s",
		    text_bytes(r->submit.tree_bytes));
	}
	if (JOB_IS_FINAL(r->state))
		show_result(r);
	if (r->receipt_sequence != 0)
		printf("receipt    %llu\n",
		    (unsigned long long)r->receipt_sequence);
}

int
cmd_status(int argc, char **argv)
{
	struct session s = { 0 };
	struct job_record *rec;
	struct job_spec sp;
	struct objget *g;
	int c, rc, have;

	while ((c = getopt_long(argc, argv, "qv", common_longs, NULL)) != -1)
		if ((rc = common_option(&s, "status", c, optarg)) != 0)
			return (common_exit(rc));
	if (argc - optind != 1)
		return (out_usage("status needs one JOB"));
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	rec = calloc(1, sizeof(*rec));
	g = objget_new(&s);
	rc = EXIT_OURS;
	if (rec != NULL && g != NULL &&
	    (rc = common_record(&s, argv[optind], rec)) == 0) {
		have = load_spec(g, rec, &sp) == 0;
		if (s.json)
			rc = json_print(json_record(rec, s.host->host, have ?
			    &sp : NULL), STDOUT_FILENO) == 0 ? 0 : EXIT_OURS;
		else
			show_status(&s, rec, have ? &sp : NULL);
		if (have)
			job_spec_done(&sp);
	}
	objget_free(g);
	free(rec);
	session_close(&s);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}

struct logs {
	uint64_t from, tail;
	int follow, show;
	int input;              /* attach: -i, or 0, or -1: --no-stdin */
};

static int
logs_option(struct logs *l, struct session *s, const char *cmd, int c)
{
	switch (c) {
	case 'i':
		l->input = 1;
		return (0);
	case OPT_NO_STDIN:
		l->input = -1;
		return (0);
	case 'f':
		l->follow = 1;
		return (0);
	case OPT_FROM:
		if (text_size(optarg, &l->from) == -1)
			return (out_usage("--from %s: not a size; use 4096, "
			    "64K or 2M", optarg));
		return (0);
	case OPT_TAIL:
		if (text_size(optarg, &l->tail) == -1)
			return (out_usage("--tail %s: not a size; use 4096, "
			    "64K or 2M", optarg));
		return (0);
	case OPT_STREAM:
		if (strcmp(optarg, "stdout") == 0)
			l->show = FOLLOW_STDOUT;
		else if (strcmp(optarg, "stderr") == 0)
			l->show = FOLLOW_STDERR;
		else
			return (out_usage("--stream: stdout or stderr"));
		return (0);
	default:
		return (common_option(s, cmd, c, optarg));
	}
}

/*
 * What we send to a job that we attach to: what is typed on our terminal, if
 * it has one; else our input, if we are told to.
 */
static int
logs_input(struct session *s, const struct logs *l, struct follow *f)
{
	const struct job_record *rec = &f->record;

	if (!rec->submit.input || JOB_IS_FINAL(rec->state)) {
		if (l->input == 1)
			out_warn("job %s takes no input%s", rec->id,
			    rec->submit.input ? " any more" : "; it was "
			    "started without -i");
		return (l->input == 1 ? EXIT_NO : 0);
	}
	f->tty = rec->submit.tty && tty_is() && l->input != -1;
	if (l->input != 1 && !f->tty)
		return (0);
	if ((f->in = input_new(s, f->tty)) == NULL)
		return (EXIT_OURS);
	(void)input_start(f->in, rec->id, 0);
	return (0);
}

/* Output of a job from ${l->from} on; the follow's result is in ${f}. */
static int
logs_run(struct session *s, const char *name, const struct logs *l,
    struct follow *f, int exits)
{
	struct job_record *rec;
	uint64_t from = l->from;
	int rc = EXIT_OURS;

	if ((rec = calloc(1, sizeof(*rec))) == NULL)
		return (EXIT_OURS);
	if ((rc = common_record(s, name, rec)) != 0)
		goto done;
	if (l->tail > 0)
		from = rec->log.bytes > l->tail ? rec->log.bytes - l->tail : 0;
	f->s = s;
	f->show = l->show;
	f->watcher = !exits;
	f->record = *rec;
	if (exits && (rc = logs_input(s, l, f)) != 0)
		goto done;
	if (signals_catch() == -1 ||
	    follow_attach(f, rec->id, from, l->follow) == -1) {
		session_lost(s);
		rc = EXIT_NO;
		goto done;
	}
	rc = follow_run(f);
	if (f->state == FOLLOW_ERROR)
		rc = EXIT_NO;
done:
	free(rec);
	return (rc);
}

static const struct option logs_longs[] = {
	{ "follow", no_argument, NULL, 'f' },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "tail", required_argument, NULL, OPT_TAIL },
	{ "stream", required_argument, NULL, OPT_STREAM },
	COMMON_OPTS
};

static const struct option attach_longs[] = {
	{ "follow", no_argument, NULL, 'f' },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "tail", required_argument, NULL, OPT_TAIL },
	{ "stream", required_argument, NULL, OPT_STREAM },
	{ "stdin", no_argument, NULL, 'i' },
	{ "no-stdin", no_argument, NULL, OPT_NO_STDIN },
	COMMON_OPTS
};

static int
logs_main(int argc, char **argv, const char *cmd, int attach)
{
	struct session s = { 0 };
	struct logs l = { .show = FOLLOW_BOTH, .follow = attach };
	struct follow *f;
	int c, rc;

	while ((c = getopt_long(argc, argv, attach ? "fiqv" : "fqv",
	    attach ? attach_longs : logs_longs, NULL)) != -1)
		if ((rc = logs_option(&l, &s, cmd, c)) != 0)
			return (common_exit(rc));
	if (argc - optind != 1)
		return (out_usage("%s needs one JOB", cmd));
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (EXIT_OURS);
	if (session_hello(&s) == -1)
		rc = EXIT_NO;
	else
		rc = logs_run(&s, argv[optind], &l, f, attach);
	input_free(f->in);
	follow_done(f);
	free(f);
	session_close(&s);
	return (rc);
}

int
cmd_logs(int argc, char **argv)
{
	return (logs_main(argc, argv, "logs", 0));
}

int
cmd_attach(int argc, char **argv)
{
	return (logs_main(argc, argv, "attach", 1));
}

/* One request that ends in the job's result. */
static int
until_result(struct session *s, const char *name, uint8_t verb, uint8_t sig,
    int no_wait, struct follow *f)
{
	struct client_open *o;
	struct job_record *rec;
	int rc;

	o = calloc(1, sizeof(*o));
	rec = calloc(1, sizeof(*rec));
	if (o == NULL || rec == NULL) {
		rc = EXIT_OURS;
		goto done;
	}
	if ((rc = common_record(s, name, rec)) != 0)
		goto done;
	f->s = s;
	f->record = *rec;
	o->verb = verb;
	o->signal = sig;
	o->no_wait = no_wait != 0;
	memcpy(o->job, rec->id, JOB_ID_LEN + 1);
	f->stream = conn_request(s->c, o, follow_frame, f);
	while (f->stream != 0 && f->state < FOLLOW_RESULT)
		if (conn_pump(s->c, -1) == -1)
			break;
	rc = 0;
	if (f->state == FOLLOW_ERROR) {
		out_err(&f->err);
		rc = EXIT_NO;
	} else if (f->state != FOLLOW_RESULT) {
		session_lost(s);
		rc = EXIT_NO;
	}
done:
	free(o);
	free(rec);
	return (rc);
}

int
cmd_wait(int argc, char **argv)
{
	struct session s = { 0 };
	struct follow *f;
	int c, i, rc, last = 0;

	while ((c = getopt_long(argc, argv, "qv", common_longs, NULL)) != -1)
		if ((rc = common_option(&s, "wait", c, optarg)) != 0)
			return (common_exit(rc));
	if (optind == argc)
		return (out_usage("wait needs a JOB"));
	if (session_hello(&s) == -1 || (f = malloc(sizeof(*f))) == NULL)
		return (EXIT_NO);
	for (i = optind; i < argc; i++) {
		memset(f, 0, sizeof(*f));
		rc = until_result(&s, argv[i], CLIENT_WAIT, 0, 0, f);
		if (rc == 0)
			rc = follow_exit_code(f);
		if (rc != 0)
			last = rc;
		follow_done(f);
	}
	free(f);
	session_close(&s);
	return (last);
}

struct signame {
	const char *name;
	int sig;
};

static const struct signame signames[] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
	{ "KILL", SIGKILL }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },
	{ "CONT", SIGCONT }, { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },
	{ "ABRT", SIGABRT }, { "SEGV", SIGSEGV }, { "WINCH", SIGWINCH }
};

/* A name with or without SIG, or a number from 1 to 64; 0 is neither. */
static int
signal_arg(const char *text)
{
	char *end;
	unsigned long n;
	size_t i;

	n = strtoul(text, &end, 10);
	if (isdigit((unsigned char)*text) && *end == '\0')
		return (n >= 1 && n <= 64 ? (int)n : 0);
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (i = 0; i < sizeof(signames) / sizeof(signames[0]); i++)
		if (strcasecmp(signames[i].name, text) == 0)
			return (signames[i].sig);
	return (0);
}

/* Deliver only: the answer is that it was sent. */
static int
signal_job(struct session *s, const char *job, int sig)
{
	struct client_reply *rep;
	struct client_open *o;
	int rc = EXIT_OURS;

	o = calloc(1, sizeof(*o));
	rep = calloc(1, sizeof(*rep));
	if (o != NULL && rep != NULL) {
		o->verb = CLIENT_KILL;
		o->signal = (uint8_t)sig;
		o->no_wait = 1;
		memcpy(o->job, job, JOB_ID_LEN + 1);
		if ((rc = session_call(s, o, rep)) == 0)
			client_reply_done(rep);
	}
	free(o);
	free(rep);
	return (rc);
}

static int
kill_one(struct session *s, const char *name, int sig, int deliver)
{
	struct job_record *rec;
	struct follow *f;
	int rc;

	rec = calloc(1, sizeof(*rec));
	f = calloc(1, sizeof(*f));
	if (rec == NULL || f == NULL)
		rc = EXIT_OURS;
	else if ((rc = common_record(s, name, rec)) == 0) {
		if (JOB_IS_FINAL(rec->state)) {
			if (!s->quiet)
				out_warn("job %s has ended already", rec->id);
		} else if (deliver)
			rc = signal_job(s, rec->id, sig);
		else
			rc = until_result(s, rec->id, CLIENT_KILL,
			    (uint8_t)sig, 0, f);
	}
	if (f != NULL)
		follow_done(f);
	free(f);
	free(rec);
	return (rc);
}

int
cmd_kill(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "signal", required_argument, NULL, 's' },
		{ "force", no_argument, NULL, 'f' }, COMMON_OPTS
	};
	struct session s = { 0 };
	int c, rc, sig = 0, deliver = 0, last = 0;

	while ((c = getopt_long(argc, argv, "s:fqv", longs, NULL)) != -1) {
		if (c == 's') {
			if ((sig = signal_arg(optarg)) == 0)
				return (out_usage("-s %s: no such signal",
				    optarg));
			deliver = sig != SIGKILL;
		} else if (c == 'f') {
			sig = SIGKILL;
			deliver = 0;
		} else if ((rc = common_option(&s, "kill", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if (optind == argc)
		return (out_usage("kill needs a JOB"));
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	for (; optind < argc; optind++)
		if ((rc = kill_one(&s, argv[optind], sig, deliver)) != 0)
			last = rc;
	session_close(&s);
	return (last);
}
