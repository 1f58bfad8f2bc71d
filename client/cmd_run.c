/*
 * errand run: snapshot, submit, follow, exit as the command did.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "apply.h"
#include "apply_job.h"
#include "cache_opts.h"
#include "cmd.h"
#include "dryrun.h"
#include "explain.h"
#include "follow.h"
#include "json.h"
#include "lib/io.h"
#include "lib/text.h"
#include "origin.h"
#include "out.h"
#include "progress.h"
#include "run_artifacts.h"
#include "run_opts.h"
#include "signals.h"
#include "state.h"
#include "stdin.h"
#include "submit.h"
#include "tty.h"
#include "upload.h"

#define RESCANS_MAX     4

struct run {
	struct session s;
	struct run_opts o;
	struct submit sub;
	struct follow f;
	struct select *sel;
	char root[PATH_MAX];    /* "" without a snapshot */
	char workdir[PATH_MAX];
	char cache[PATH_MAX];
	unsigned notes;
	int waits;              /* it was said that the job waits */
};

static void
note(void *cookie, const char *path, const char *text)
{
	struct run *r = cookie;

	if (r->s.quiet && !r->s.verbose)
		return;
	if (r->notes++ >= 20 && !r->s.verbose)
		return;
	progress_clear();
	out_warn("%s: %s", path, text);
}

static void
dead(void *cookie, const char *text)
{
	(void)cookie;
	out_warn("warning: %s", text);
}

static void
on_progress(void *cookie, uint64_t files, uint64_t bytes)
{
	struct run *r = cookie;

	progress_scan(files, bytes);
	/* Answer the host's pings while a large tree is read. */
	if (r->s.c != NULL)
		(void)conn_pump(r->s.c, 0);
}

/* Has the path a part that is ".."? */
static int
leaves(const char *p)
{
	size_t n;

	for (; *p != '\0'; p += n + (p[n] == '/')) {
		n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.')
			return (1);
	}
	return (0);
}

/* The directory to run in, relative to the root: -w, else where we stand. */
static int
find_workdir(struct run *r)
{
	const char *w = r->o.workdir;
	char here[PATH_MAX];
	size_t n = strlen(r->root);

	r->workdir[0] = '\0';
	if (w != NULL) {
		if (*w == '/' && n > 0 && strncmp(w, r->root, n) == 0 &&
		    (w[n] == '/' || w[n] == '\0'))
			w += w[n] == '/' ? n + 1 : n;
		while (w[0] == '.' && (w[1] == '/' || w[1] == '\0'))
			w += w[1] == '/' ? 2 : 1;
		if (*w == '/' || leaves(w))
			return (out_usage("-w %s: name a directory inside the "
			    "tree, relative to its root", r->o.workdir));
		snprintf(r->workdir, sizeof(r->workdir), "%s", w);
		return (0);
	}
	if (n == 0 || getcwd(here, sizeof(here)) == NULL)
		return (0);
	if (strncmp(here, r->root, n) == 0 && here[n] == '/')
		snprintf(r->workdir, sizeof(r->workdir), "%s", here + n + 1);
	return (0);
}

static int
find_root(struct run *r)
{
	enum select_mode mode;
	char why[LIMIT_TEXT];
	int fd, rc;

	if (r->o.no_snapshot)
		return (find_workdir(r));
	if (r->o.root != NULL) {
		if (realpath(r->o.root, r->root) == NULL) {
			out_warn("-C %s: %s", r->o.root, strerror(errno));
			return (EXIT_OURS);
		}
		rc = select_root_mode(r->root, r->o.include_all, &mode, why);
	} else
		rc = select_find_root(".", r->o.include_all, r->root, &mode,
		    why);
	if (rc == 0 && (rc = apply_recover(r->root, r->s.quiet)) != 0)
		return (rc);
	if (rc == 0) {
		fd = open(r->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd == -1)
			snprintf(why, sizeof(why), "%.300s: %s", r->root,
			    strerror(errno));
		else
			r->sel = select_open(fd, r->root, mode, why);
		io_close(&fd);
		rc = r->sel == NULL ? -1 : 0;
	}
	if (rc == -1) {
		out_warn("%s", why);
		return (EXIT_OURS);
	}
	select_notes(r->sel, note, r);
	return (find_workdir(r));
}

static int
do_scan(struct run *r, int rehash)
{
	struct scan_opts so = { .root = r->root, .sel = r->sel,
	    .rehash = rehash, .note = note, .progress = on_progress,
	    .cookie = r };
	const struct scan_sum *sum;
	const char *beside;
	char why[LIMIT_TEXT];

	if (r->sel == NULL)
		return (0);
	if (state_tree_path(r->s.host->host_key, r->s.host->tenant, r->root,
	    r->cache) == 0)
		so.cache = r->cache;
	scan_free(r->sub.scan);
	r->sub.scan = scan_run(&so, why);
	progress_clear();
	if (r->sub.scan == NULL) {
		out_warn("%s", why);
		return (EXIT_OURS);
	}
	sum = scan_sum(r->sub.scan);
	if (r->o.strict && sum->unstable > 0) {
		out_warn("--strict: %llu files changed while they were read",
		    (unsigned long long)sum->unstable);
		return (EXIT_OURS);
	}
	if (select_mode_of(r->sel) == SELECT_IGNORE && !r->s.quiet && !rehash)
		(void)explain_dead(select_rules(r->sel), dead, r);
	if (!r->s.quiet && !rehash &&
	    (beside = select_unignored(r->sel)) != NULL)
		out_warn("note: %s", beside);
	r->sub.js.root = sum->root;
	r->sub.js.tree_files = sum->files;
	r->sub.js.tree_bytes = sum->bytes;
	return (0);
}

static void
fill_submit(struct run *r)
{
	struct job_submit *js = &r->sub.js;

	if (r->o.id != NULL)
		crypto_generichash(js->idem, sizeof(js->idem),
		    (const uint8_t *)r->o.id, strlen(r->o.id), NULL, 0);
	else
		randombytes_buf(js->idem, sizeof(js->idem));
	js->limits = r->o.limits;
	js->net = (uint8_t)r->o.net;
	if (r->o.image != NULL)
		memcpy(js->image, r->o.image, strlen(r->o.image) + 1);
	js->as_root = r->o.as_root != 0;
	js->detach = r->o.detach != 0;
	js->input = r->o.input != 0;
	js->tty = r->o.tty != 0;
	if (js->tty)
		tty_size(&js->rows, &js->cols);
	r->sub.o = &r->o;
	r->sub.s = &r->s;
	r->sub.start_us = io_mono_us();
}

/* After the scan, which has met all rules. */
static int
make_spec(struct run *r)
{
	struct submit_facts f = { .root = r->root, .workdir = r->workdir };

	if (r->sel != NULL) {
		f.commit = select_commit(r->sel);
		f.rules = select_rules(r->sel);
		f.content = scan_sum(r->sub.scan)->content;
	}
	return (submit_spec(&r->sub, &f));
}

/* Scan and send until one state of the tree has arrived whole. */
static int
send_tree(struct run *r)
{
	int i, rc, rehash = 0;

	for (i = 0; i < RESCANS_MAX; i++) {
		if (signals_any())
			return (EXIT_INTERRUPTED);
		if ((rc = do_scan(r, rehash)) != 0 ||
		    (rc = make_spec(r)) != 0)
			return (rc);
		if ((rc = submit_run(&r->sub, &r->f)) != -1)
			return (rc);
		if (errno == ESTALE && !r->s.quiet)
			out_warn("%s: changed since it was read; reading the "
			    "tree again", scan_stale_path(r->sub.scan));
		rehash = errno == ENOENT;
	}
	if (r->sub.scan != NULL && *scan_stale_path(r->sub.scan) != '\0')
		out_warn("%s: changes faster than it can be sent",
		    scan_stale_path(r->sub.scan));
	else
		out_warn("cannot send the tree: %s", strerror(errno));
	return (EXIT_OURS);
}

/*
 * A line of --json.  Until the result is there only the job's id and state are
 * known; then it is the whole record.
 */
static void
event(const struct run *r, const char *name)
{
	const struct job_record *rec = &r->f.record;
	json_t *o;

	if (!r->s.json)
		return;
	if (JOB_IS_FINAL(rec->state))
		o = json_record(rec, r->s.host->host, NULL);
	else {
		o = json_object();
		json_object_set_new(o, "id", json_string(rec->id));
		json_object_set_new(o, "state", json_string(job_state_name(
		    rec->state)));
	}
	json_object_set_new(o, "event", json_string(name));
	(void)json_print(o, STDERR_FILENO);
}

static void
on_state(struct follow *f)
{
	struct run *r = f->cookie;

	progress_clear();
	event(r, "state");
	if (f->record.state == JOB_STARTING)
		progress_wait("the host lays out the tree");
	if (f->record.state == JOB_QUEUED && !r->waits && !r->s.quiet &&
	    !r->s.json) {
		out_warn("job %s waits to be started", f->record.id);
		r->waits = 1;
	}
}

/* The host has the tree and the job: remember both. */
static void
remember(struct run *r)
{
	const struct job_submit *js = &r->sub.js;

	if (r->sub.scan != NULL)
		(void)scan_save(r->sub.scan);
	if (r->sel != NULL) {
		(void)state_last_set(r->root, r->s.host->tenant,
		    r->f.record.id);
		(void)origin_set(r->f.record.id, r->root, &js->root);
	}
	if (r->s.quiet || r->s.json)
		return;
	if (r->sel != NULL)
		out_warn("%llu file%s, %s; sent %llu objects, %s",
		    (unsigned long long)js->tree_files,
		    js->tree_files == 1 ? "" : "s",
		    text_bytes(js->tree_bytes),
		    (unsigned long long)r->sub.sent_objects,
		    text_bytes(r->sub.sent_bytes));
	if (!r->o.detach)
		out_warn("job %s on %s", r->f.record.id, r->s.host->host);
}

static void
summary(const struct run *r)
{
	const struct job_record *rec = &r->f.record;
	char how[64], ran[64], ignored[128];

	if (r->s.quiet || r->s.json || r->f.state != FOLLOW_RESULT)
		return;
	ran[0] = '\0';
	if (rec->ran && !rec->unknown)
		snprintf(ran, sizeof(ran), " after %s", text_us(
		    rec->phases.run));
	if (rec->unknown)
		snprintf(how, sizeof(how), "was lost, %s not known", rec->ran ?
		    "how it ended is" : "whether it ran is");
	else if (rec->signal != 0)
		snprintf(how, sizeof(how), "died of signal %u", rec->signal);
	else if (rec->ran)
		snprintf(how, sizeof(how), "exited %u", rec->exit_code);
	else
		snprintf(how, sizeof(how), "did not run");
	ignored[0] = '\0';
	if (rec->changes.ignored > 0)
		snprintf(ignored, sizeof(ignored), ", %llu new left out by "
		    "ignore rules (--artifact PATH keeps one)",
		    (unsigned long long)rec->changes.ignored);
	cache_say(&r->o, rec);
	out_warn("job %s %s%s (%s in all); %llu path%s changed%s%s",
	    rec->id, how, ran,
	    text_us(io_mono_us() - r->sub.start_us),
	    (unsigned long long)rec->changes.count,
	    rec->changes.count == 1 ? "" : "s",
	    rec->changes.count > 0 ? " (errand diff last)" : "", ignored);
}

/* --apply: when the command and everything around it went well. */
static int
apply(struct run *r, int rc)
{
	const struct apply_how how = { .into = r->root, .again = 1,
	    .json_fd = STDERR_FILENO };

	struct objget *g;

	if (r->f.state != FOLLOW_RESULT)
		return (rc);
	if (rc == 0) {
		if ((g = objget_new(&r->s)) == NULL)
			return (EXIT_OURS);
		rc = apply_job(&r->s, g, &r->f.record, &how);
		objget_free(g);
		return (rc);
	}
	if (!r->s.quiet && r->f.record.changes.count > 0)
		out_warn("nothing was applied, since it did not succeed; "
		    "errand fetch %s --apply does it all the same",
		    r->f.record.id);
	return (rc);
}

/* Asked for now, sent when the command runs. */
static int
begin_input(struct run *r)
{
	r->f.tty = r->o.tty && tty_is();
	if ((r->f.in = input_new(&r->s, r->f.tty)) == NULL)
		return (-1);
	/* One that failed goes with its connection, and is made again. */
	(void)input_start(r->f.in, r->f.record.id, 0);
	return (0);
}

static int
run_job(struct run *r)
{
	int rc;

	signals_early(1);
	if (session_open(&r->s) == -1)
		return (EXIT_OURS);
	if ((rc = find_root(r)) != 0)
		return (rc);
	/* The host's key names the cache of the tree; without a tree there is
	 * nothing to wait for before the request. */
	if (r->sel != NULL && session_hello(&r->s) == -1)
		return (EXIT_OURS);
	fill_submit(r);
	signals_early(0);
	if (r->o.dry_run)
		return ((rc = do_scan(r, 0)) != 0 ? rc : dryrun(&r->sub, &r->f,
		    r->sel, r->root, 0));
	if ((rc = send_tree(r)) != 0)
		return (rc);
	if (session_hello(&r->s) == -1)
		return (EXIT_OURS);
	remember(r);
	event(r, "submitted");
	if (r->o.detach) {
		printf("%s\n", r->f.record.id);
		return (out_flush() == 0 ? 0 : EXIT_OURS);
	}
	if (r->o.input && begin_input(r) == -1)
		return (EXIT_OURS);
	r->f.on_state = on_state;
	r->f.cookie = r;
	on_state(&r->f);
	rc = follow_run(&r->f);
	event(r, "result");
	summary(r);
	if (!r->s.quiet && !r->s.json && r->f.state == FOLLOW_RESULT)
		run_artifacts_say(&r->s, &r->f.record, &r->o, r->root,
		    r->workdir);
	return (r->o.apply ? apply(r, rc) : rc);
}

int
cmd_run(int argc, char **argv)
{
	struct run *r;
	int rc;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (EXIT_OURS);
	r->o.s = &r->s;
	r->s.local = 1;
	r->f.s = &r->s;
	r->f.show = FOLLOW_BOTH;
	if ((rc = run_opts_parse(argc, argv, &r->o)) == 0) {
		progress_init(r->s.quiet || r->s.json);
		if (signals_catch() == -1 ||
		    (r->sub.extra = objtab_new()) == NULL)
			rc = EXIT_OURS;
		else
			rc = run_job(r);
	} else if (rc == -1)
		rc = 0;
	upload_free(r->sub.pending);
	session_close(&r->s);
	follow_done(&r->f);
	input_free(r->f.in);
	run_opts_done(&r->o);
	scan_free(r->sub.scan);
	objtab_free(r->sub.extra);
	objtab_free(r->sub.shipped);
	select_free(r->sel);
	free(r);
	return (rc);
}
