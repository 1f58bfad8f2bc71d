/*
 * Applies what a job changed to a tree: looks (apply_plan.c), stages
 * (apply_files.c), writes the journal (apply_stage.c), and then does it
 * (apply_exec.c).
 */
#include <sys/stat.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apply_internal.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"

#define PULSE_US        1000000 /* the host wants to hear of us */
#define TRIES           5       /* edits that are made meanwhile */

/* --- signals: one that ends us waits for the tree to be whole --- */

static volatile sig_atomic_t stopped;

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define NENDING (sizeof(ending) / sizeof(ending[0]))

static void
on_signal(int sig)
{
	stopped = sig;
}

static void
signals_hold(struct sigaction *old)
{
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	stopped = 0;
	for (i = 0; i < NENDING; i++) {
		sigaction(ending[i], NULL, &old[i]);
		if (old[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &sa, NULL);
	}
}

static void
signals_free(const struct sigaction *old)
{
	size_t i;

	for (i = 0; i < NENDING; i++)
		sigaction(ending[i], &old[i], NULL);
	if (stopped)
		(void)raise(stopped);
}

int
apply_pulse(struct apply *a)
{
	uint64_t now;

	if (stopped) {
		errno = EINTR;
		return (apply_fail(a, NULL, 0, "interrupted"));
	}
	now = io_mono_us();
	if (now - a->pumped_us >= PULSE_US) {
		a->pumped_us = now;
		(void)conn_pump(a->o->s->c, 0);
	}
	return (0);
}

int
apply_fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf,
    size_t *len)
{
	struct apply *a = cookie;

	if (apply_pulse(a) == -1)
		return (-1);
	return (objget_fetch(a->o->g, ref, buf, len));
}

int
apply_fail(struct apply *a, const char *path, size_t len, const char *what)
{
	if (a->where == NULL && path != NULL) {
		a->where = path;
		a->where_len = len;
	}
	if (a->what == NULL)
		a->what = what;
	return (-1);
}

/* --- words --- */

static const char *
why_failed(const struct apply *a, char *buf, size_t len)
{
	if (a->what != NULL)
		return (a->what);
	if (objget_err(a->o->g)->code != ERR_NONE)
		return (objget_err(a->o->g)->text);
	if (errno == ENOSPC || errno == EDQUOT) {
		snprintf(buf, len, "%s; %s are needed", strerror(errno),
		    text_bytes(a->need));
		return (buf);
	}
	return (strerror(errno));
}

static void
say_failed(const struct apply *a)
{
	char buf[LIMIT_TEXT];
	const char *why = why_failed(a, buf, sizeof(buf));

	if (a->where != NULL)
		out_warn("%s: %s; nothing was changed in %s",
		    out_escape(a->where, a->where_len), why, a->o->root);
	else
		out_warn("%s: %s; nothing was changed", a->o->root, why);
}

static void
note(struct apply *a)
{
	const struct item *it;
	size_t i;

	if (a->o->s->quiet)
		return;
	for (i = 0; i < a->n; i++) {
		it = &a->v[i];
		if (it->kept)
			out_warn("%s: kept; there is something in it that the "
			    "job did not have",
			    out_escape(item_path(it), it->c.path_len));
		else if (it->verdict == MERGE_TAKE && it->st.st_nlink > 1 &&
		    it->ours.kind == TREE_FILE)
			out_warn("%s: is a hard link; its other names keep "
			    "what they have",
			    out_escape(item_path(it), it->c.path_len));
	}
}

/* --- doing it --- */

static void
count(struct apply *a)
{
	const struct item *it;
	size_t i;

	for (i = 0; i < a->n; i++) {
		it = &a->v[i];
		if (a->o->conflicts && MERGE_IS_CONFLICT(it->verdict)) {
			a->sum->marked += it->marked;
			a->sum->copies += !it->marked && it->copy;
		}
		if (it->verdict != MERGE_TAKE && it->verdict != MERGE_MODE &&
		    it->verdict != MERGE_TEXT)
			continue;
		if (it->theirs.kind == MERGE_ABSENT)
			a->sum->deleted++;
		else if (it->ours.kind == MERGE_ABSENT)
			a->sum->created++;
		else
			a->sum->modified++;
	}
}

/* What failed is taken back.  If that fails too, the journal stays. */
static int
take_back(struct apply *a, struct exec *x)
{
	int e = errno;

	if (x->at != NULL)
		(void)apply_fail(a, x->at->path, x->at->path_len, NULL);
	if (exec_back(x) == 0 && stage_remove(&a->st) == 0) {
		errno = e;
		say_failed(a);
	} else
		out_warn("%s: %s, and what was done cannot be taken back: %s; "
		    "the next errand run, ls or fetch --apply here tries again",
		    a->o->root, strerror(e), strerror(errno));
	return (EXIT_OURS);
}

/* 0, an exit code, or -1: something changed meanwhile, so look again. */
static int
perform(struct apply *a)
{
	struct exec x;
	int rc;

	exec_init(&x, &a->st, &a->j);
	switch (exec_forward(&x, 1, 0)) {
	case EXEC_DONE:
		exec_late(&x);
		count(a);
		rc = 0;
		if (stage_remove(&a->st) == -1) {
			out_warn("%s: applied, but what was staged could not "
			    "be removed: %s", a->o->root, strerror(errno));
			rc = EXIT_OURS;
		}
		break;
	case EXEC_CHANGED:
		errno = ESTALE;
		rc = exec_back(&x) == 0 && stage_remove(&a->st) == 0 ? -1 :
		    take_back(a, &x);
		break;
	default:
		rc = take_back(a, &x);
		break;
	}
	exec_done(&x);
	return (rc);
}

static int
stage_all(struct apply *a)
{
	struct stat sb;
	int rc;

	if (fstat(a->st.root, &sb) == -1)
		return (-1);
	memcpy(a->j.job, a->o->rec->id, sizeof(a->j.job));
	a->j.dev = sb.st_dev;
	a->j.ino = sb.st_ino;
	if ((rc = files_lone(a)) != 1)
		return (rc);
	if (stage_make(&a->st) == -1) {
		if (errno == EACCES)
			a->what = "the root of the tree cannot be written to";
		return (-1);
	}
	if (files_stage(a) == -1)
		return (-1);
	return (stage_write(&a->st, &a->j));
}

/* As perform. */
static int
change(struct apply *a)
{
	int e;

	if (ops_make(a) == -1) {
		say_failed(a);
		return (EXIT_OURS);
	}
	note(a);
	if (a->j.n == 0)
		return (0);
	if (stage_all(a) == -1) {
		e = errno;
		if (a->st.dir != -1)
			(void)stage_remove(&a->st);
		errno = e;
		say_failed(a);
		return (EXIT_OURS);
	}
	return (perform(a));
}

static int
attempt(struct apply *a)
{
	int rc;

	a->sum->bytes = 0;
	local_begin(a);
	if ((a->base = base_new(apply_fetch, a,
	    &a->o->rec->submit.root)) == NULL ||
	    (a->sc != NULL && base_cache(a->base, a->sc) == -1) ||
	    plan_make(a) == -1) {
		say_failed(a);
		return (EXIT_OURS);
	}
	if (a->sum->n > 0 && !a->o->conflicts)
		return (EXIT_CONFLICT);
	if ((rc = change(a)) == 0 && a->sum->n > 0)
		rc = EXIT_CONFLICT;
	return (rc);
}

static void
forget(struct apply *a)
{
	ops_done(a);
	plan_done(a);
	base_free(a->base);
	statcache_free(a->sc);
	walk_done(&a->w);
	a->base = NULL;
	a->sc = NULL;
	a->where = a->what = NULL;
	a->need = a->nstaged = 0;
}

static int
apply_locked(struct apply *a)
{
	int rc, i;

	rc = apply_recover_locked(&a->st, a->o->root, a->o->s->quiet);
	io_close(&a->st.dir);
	if (rc != 0)
		return (rc);
	for (i = 0; i < TRIES; i++) {
		apply_sum_done(a->sum);
		walk_init(&a->w, a->st.root);
		rc = attempt(a);
		forget(a);
		if (rc != -1)
			return (rc);
	}
	out_warn("%s: changes faster than it can be applied to; nothing was "
	    "changed by errand", a->o->root);
	return (EXIT_OURS);
}

void
apply_sum_done(struct apply_sum *s)
{
	while (s->n > 0)
		free(s->v[--s->n].path);
	free(s->v);
	memset(s, 0, sizeof(*s));
}

int
apply_run(const struct apply_opts *o, struct apply_sum *sum)
{
	struct sigaction old[NENDING];
	struct apply a;
	int rc;

	memset(&a, 0, sizeof(a));
	a.o = o;
	a.sum = sum;
	a.mask = (uint16_t)umask(0);
	(void)umask(a.mask);
	if (stage_lock(&a.st, o->root, o->s->quiet) == -1) {
		out_warn("%s: %s", o->root, strerror(errno));
		return (EXIT_OURS);
	}
	signals_hold(old);
	rc = apply_locked(&a);
	stage_unlock(&a.st);
	signals_free(old);
	return (rc);
}
