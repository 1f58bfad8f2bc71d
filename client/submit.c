/*
 * Negotiation with the host.  Sends what objtab and scan hold.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "cache_opts.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"
#include "signals.h"
#include "submit.h"
#include "tree_path.h"
#include "upload.h"

#define EAGER_BYTES     (1024 * 1024)   /* content sent without asking */
#define ROUNDS_MAX      16              /* of NEED */
#define RETRIES_MAX     5
#define RETRY_MS        200

static int
spec_sink(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	return (objtab_add(cookie, ref, buf, len, -1, 0));
}

static void
strings_free(char **v, size_t n)
{
	size_t i;

	if (v == NULL)
		return;
	for (i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

/* Names only: values are never part of the spec. */
static char **
env_names(const struct run_opts *o)
{
	char **v;
	size_t i;

	if ((v = calloc(o->nenv + 1, sizeof(*v))) == NULL)
		return (NULL);
	for (i = 0; i < o->nenv; i++)
		v[i] = strndup(o->env[i], strcspn(o->env[i], "="));
	return (v);
}

/*
 * The artifacts, relative to the tree; owned.  NULL after saying why.  The tree
 * as a whole, which makes rules pointless, is "".
 */
static char **
artifacts(const struct run_opts *o, const struct submit_facts *f)
{
	char **v, path[PATH_MAX];
	size_t i;

	if ((v = calloc(o->nartifacts + 1, sizeof(*v))) == NULL)
		return (NULL);
	for (i = 0; i < o->nartifacts; i++) {
		if (tree_path(f->root, f->workdir, o->artifacts[i], path) ==
		    -1) {
			out_usage("--artifact %s: name something in the tree, "
			    "relative to where the command runs",
			    o->artifacts[i]);
			goto err0;
		}
		if ((v[i] = strdup(path)) == NULL)
			goto err0;
	}
	return (v);

err0:
	strings_free(v, o->nartifacts);
	return (NULL);
}

/* Rules and what is kept in spite of them.  0, or an exit code. */
static int
fill_rules(const struct run_opts *o, const struct submit_facts *f,
    struct job_spec *sp)
{
	size_t i;

	if ((sp->artifacts = artifacts(o, f)) == NULL)
		return (EXIT_USAGE);
	sp->nartifacts = o->nartifacts;
	if (f->rules == NULL || rules_count(f->rules) == 0)
		return (0);
	for (i = 0; i < sp->nartifacts; i++)
		if (sp->artifacts[i][0] == '\0')
			return (0);
	if (rules_encode(f->rules, &sp->rules, &sp->rules_len) == 0)
		return (0);
	if (errno == EMSGSIZE)
		out_warn("the ignore rules of the tree are larger than %s in "
		    "all and cannot go with the job; --artifact . does without "
		    "them: then all that the job makes is kept",
		    text_bytes(RULES_BYTES_MAX));
	else
		out_warn("the ignore rules: %s", strerror(errno));
	return (EXIT_OURS);
}

static int
pack_spec(const struct job_spec *sp, uint8_t **buf, size_t *len)
{
	if (job_spec_pack(sp, buf, len) == 0)
		return (0);
	if (errno == EINVAL)
		out_warn("the working directory, the label or a variable's "
		    "name has a form that cannot be sent");
	else
		out_warn("the command line is too long: with the tree's ignore "
		    "rules at most %s in all", text_bytes(LIMIT_SPEC));
	return (EXIT_OURS);
}

/* An artifact that is the tree itself is not sent: there are no rules then. */
static void
drop_whole(struct job_spec *sp)
{
	size_t i, n = 0;

	for (i = 0; i < sp->nartifacts; i++)
		if (sp->artifacts[i][0] != '\0')
			sp->artifacts[n++] = sp->artifacts[i];
		else
			free(sp->artifacts[i]);
	sp->nartifacts = n;
	sp->artifacts[n] = NULL;
}

int
submit_spec(struct submit *sub, const struct submit_facts *f)
{
	const struct run_opts *o = sub->o;
	struct job_spec sp = { .argc = (size_t)o->argc,
	    .argv = (char **)(uintptr_t)o->argv, .nenv = o->nenv,
	    .workdir = (char *)(uintptr_t)f->workdir,
	    .label = (char *)(uintptr_t)o->label,
	    .image = (char *)(uintptr_t)o->image,
	    .commit = (char *)(uintptr_t)f->commit };
	char project[LIMIT_NAME + 1];
	uint8_t *buf;
	size_t len;
	int rc;

	cache_project(f->root, project);
	/* What nothing depends on is not told. */
	if (o->ncaches > 0 && project[0] != '\0')
		sp.project = project;
	objtab_free(sub->extra);
	sub->extra = objtab_new();
	if (f->content != NULL)
		memcpy(sp.content, f->content, sizeof(sp.content));
	if (sub->extra == NULL || (sp.env = env_names(o)) == NULL)
		return (EXIT_OURS);
	if ((rc = cache_spec(o, f->root, &sp)) == 0 &&
	    (rc = fill_rules(o, f, &sp)) == 0) {
		drop_whole(&sp);
		rc = pack_spec(&sp, &buf, &len);
	}
	strings_free(sp.env, o->nenv);
	strings_free(sp.artifacts, sp.nartifacts);
	free(sp.rules);
	if (rc != 0)
		return (rc);
	rc = content_from_mem(buf, len, spec_sink, sub->extra, &sub->js.spec);
	sub->js.spec_len = len;
	free(buf);
	return (rc == -1 ? EXIT_OURS : 0);
}

/*
 * One object of the tree.  What is reported as shipped is these, each once,
 * also when a lost connection makes it go out again; the spec, which is new
 * with every job, is not counted.
 */
static int
ship(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct submit *sub = cookie;
	uint64_t before = upload_bytes(sub->pending);

	if (upload_object(sub->pending, ref, buf, len) == -1)
		return (-1);
	if (sub->shipped == NULL && (sub->shipped = objtab_new()) == NULL)
		return (-1);
	if (objtab_has(sub->shipped, ref))
		return (0);
	if (objtab_add(sub->shipped, ref, "", 0, -1, 0) == -1)
		return (-1);
	sub->sent_objects++;
	sub->sent_bytes += upload_bytes(sub->pending) - before;
	return (0);
}

/* Everything that is new, or only what is not content. */
static int
load_first(struct submit *sub)
{
	struct scan_news n = { 0 };
	struct upload *u = sub->pending;

	if (objtab_each(sub->extra, -1, 0, upload_object, u) != 0 ||
	    objtab_each(sub->extra, -1, 1, upload_object, u) != 0)
		return (-1);
	if (sub->scan == NULL)
		return (0);
	scan_news(sub->scan, &n);
	if (scan_each(sub->scan, 0, ship, sub) != 0)
		return (-1);
	return (n.content_bytes <= EAGER_BYTES && !sub->dry ?
	    scan_each(sub->scan, 1, ship, sub) : 0);
}

static int
load_needed(struct submit *sub, const struct follow *f)
{
	struct obj_ref ref;
	size_t off;

	for (off = 0; off + OBJ_REF_LEN <= f->nrefs; off += OBJ_REF_LEN) {
		if (obj_ref_decode(f->refs + off, &ref) == -1)
			return (-1);
		if (objtab_get(sub->extra, -1, &ref, upload_object,
		    sub->pending) == 0)
			continue;
		if (errno != ENOENT || sub->scan == NULL ||
		    scan_object(sub->scan, &ref, ship, sub) != 0)
			return (-1);
		if (signals_any())
			return (-1);
	}
	return (0);
}

/*
 * One flight of objects: those of ${f}, or the first ones.  Its stream is ended
 * in any case, since the host looks at a SUBMIT only when earlier uploads are
 * through.
 */
static int
flight(struct submit *sub, const struct follow *f)
{
	int rc, e;

	if ((sub->pending = upload_new(sub->s->c)) == NULL)
		return (-1);
	rc = f == NULL ? load_first(sub) : load_needed(sub, f);
	e = errno;
	if (upload_end(sub->pending) == -1)
		return (-1);
	errno = e;
	return (rc);
}

/* All values in one piece: NAME=VALUE NUL ... */
static int
send_values(const struct submit *sub, uint32_t stream)
{
	size_t i;

	for (i = 0; i < sub->o->nenv; i++)
		if (conn_data(sub->s->c, stream, FRAME_ENV, sub->o->env[i],
		    strlen(sub->o->env[i]) + 1) == -1)
			return (-1);
	return (0);
}

static int
ask(struct submit *sub, struct follow *f)
{
	struct client_open *o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (-1);
	o->verb = CLIENT_SUBMIT;
	sub->js.shipped_objects = sub->sent_objects;
	sub->js.shipped_bytes = sub->sent_bytes;
	sub->js.negotiate_us = io_mono_us() - sub->start_us;
	o->submit = sub->js;
	f->state = FOLLOW_WAIT;
	f->nrefs = 0;
	f->stream = conn_request(sub->s->c, o, follow_frame, f);
	free(o);
	if (f->stream == 0 || (!sub->dry &&
	    send_values(sub, f->stream) == -1) ||
	    conn_end(sub->s->c, f->stream) == -1)
		return (-1);
	sub->asked = 1;
	while (f->state == FOLLOW_WAIT) {
		if (signals_any())
			return (-1);
		if (conn_pump(sub->s->c, -1) == -1)
			break;
	}
	if (f->state == FOLLOW_LOST)
		return (-1);
	sub->asked = 0;
	return (0);
}

static void
pending_drop(struct submit *sub)
{
	/* Its stream needs it until the answer has come. */
	while (sub->pending != NULL && upload_done(sub->pending) == 0)
		if (conn_pump(sub->s->c, -1) == -1)
			break;
	upload_free(sub->pending);
	sub->pending = NULL;
}

/*
 * One whole negotiation on one connection.  The upload's struct must outlive
 * its stream: it is dropped once the request behind it was answered.
 */
static int
negotiate(struct submit *sub, struct follow *f)
{
	int round, rc;

	pending_drop(sub);
	rc = flight(sub, NULL);
	for (round = 0; rc == 0; round++) {
		if ((rc = ask(sub, f)) == -1)
			break;
		if (sub->pending != NULL && upload_done(sub->pending) == -1) {
			f->state = FOLLOW_ERROR;
			f->err = *upload_err(sub->pending);
		}
		pending_drop(sub);
		if (f->state != FOLLOW_NEED || sub->dry)
			return (0);
		if (round == ROUNDS_MAX) {
			err_set(&f->err, ERR_INTERNAL, "the host asks for the "
			    "same objects again and again");
			f->state = FOLLOW_ERROR;
			return (0);
		}
		rc = flight(sub, f);
	}
	return (-1);
}

/* Giving up: is there a job?  With a SUBMIT unanswered that is not known. */
static void
say_outcome(const struct submit *sub, const char *why)
{
	if (sub->asked)
		out_warn("%swhether the job was started is not known; "
		    "`errand ps -a` shows it if it was", why);
	else
		out_warn("%snothing was started", why);
}

enum verdict { V_OK, V_AGAIN, V_FAILED, V_INTERRUPTED, V_RESCAN };

/* The host has answered. */
static enum verdict
judge_answer(const struct follow *f, int last)
{
	if (f->state != FOLLOW_ERROR)
		return (V_OK);
	if (f->err.retry && !last)
		return (V_AGAIN);
	out_err(&f->err);
	return (V_FAILED);
}

/* Something went wrong before it did; ${e} is errno then. */
static enum verdict
judge_failure(const struct submit *sub, int e, int last)
{
	const struct err *bye;

	if (signals_any())
		return (V_INTERRUPTED);
	if (!conn_lost(sub->s->c)) {
		if (sub->pending == NULL || upload_done(sub->pending) != -1) {
			errno = e;
			return (V_RESCAN);
		}
		if (!last && upload_err(sub->pending)->retry)
			return (V_AGAIN);
		out_err(upload_err(sub->pending));
		return (V_FAILED);
	}
	bye = conn_err(sub->s->c);
	if (!last && !conn_broken(sub->s->c) && (bye == NULL || bye->retry))
		return (V_AGAIN);
	session_lost(sub->s);
	say_outcome(sub, "");
	return (V_FAILED);
}

/* Connect again, waiting a little longer each time. */
static int
reopen(struct submit *sub, int *tries)
{
	for (; *tries < RETRIES_MAX; (*tries)++) {
		(void)poll(NULL, 0, RETRY_MS << *tries);
		if (signals_any())
			return (-1);
		if (session_reopen(sub->s) == 0) {
			(*tries)++;
			return (0);
		}
	}
	say_outcome(sub, "the host cannot be reached again; ");
	return (-1);
}

int
submit_run(struct submit *sub, struct follow *f)
{
	enum verdict v;
	int tries = 0, e;

	f->s = sub->s;
	f->detach = sub->js.detach;
	for (;;) {
		errno = 0;
		if (negotiate(sub, f) == 0)
			v = judge_answer(f, tries == RETRIES_MAX);
		else
			v = judge_failure(sub, errno, tries == RETRIES_MAX);
		e = errno;
		pending_drop(sub);
		if (v != V_AGAIN || reopen(sub, &tries) == -1)
			break;
	}
	if (v == V_OK)
		return (0);
	if (signals_any())
		return (EXIT_INTERRUPTED);
	errno = e;
	return (v == V_RESCAN ? -1 : EXIT_OURS);
}

int
submit_ask(struct submit *sub, struct follow *f)
{
	sub->dry = 1;
	sub->js.spec.kind = OBJ_CHUNK;
	randombytes_buf(sub->js.spec.id, sizeof(sub->js.spec.id));
	sub->js.spec_len = 1;
	sub->js.detach = 1;
	return (submit_run(sub, f));
}
