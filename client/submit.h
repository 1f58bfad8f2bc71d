#ifndef ERRAND_SUBMIT_H
#define ERRAND_SUBMIT_H

#include "follow.h"
#include "objtab.h"
#include "run_opts.h"
#include "lib/rules.h"
#include "scan.h"

/* One submission: what is sent until the host has accepted the job. */
struct submit {
	const struct run_opts *o;
	struct session *s;
	struct scan *scan;      /* NULL: no snapshot */
	struct objtab *extra;   /* the spec */
	struct job_submit js;
	struct objtab *shipped; /* the references of those that are counted: */
	uint64_t sent_objects, sent_bytes;
	uint64_t start_us;
	int dry;                /* only ask: no content, no values */
	int asked;              /* a SUBMIT went out and was not answered */
	struct upload *pending; /* the flight whose answer is still to come */
};

/* What the spec says beyond the options; NULL where there is nothing. */
struct submit_facts {
	const char *root;       /* of the tree, "" without one */
	const char *workdir;    /* relative to it */
	const char *commit;
	const struct rules *rules;      /* all that matter to the tree */
	const uint8_t *content; /* 32 bytes: its content digest */
};

/**
 * submit_spec(sub, facts):
 * Encode the spec into ${sub->extra}, in the place of an earlier one.  0, or an
 * exit code after saying why.
 */
int submit_spec(struct submit *, const struct submit_facts *);

/**
 * submit_run(sub, f):
 * Send objects and request until the host accepts: first what is new, then
 * what it says it lacks.  Resubmits with the same idempotency id when the
 * connection is lost or the host asks for it.  Return 0 with ${f} in
 * FOLLOW_ACCEPTED or later; an exit code after saying why; or -1: a file has
 * changed since it was read (scan_stale_path), or objects of the cached tree
 * are wanted (errno ENOENT): scan again.
 */
int submit_run(struct submit *, struct follow *);

/**
 * submit_ask(sub, f):
 * Ask what the host lacks, with a spec that it cannot have, so that nothing can
 * come of it.  What is not content is sent, as only then it can tell.  Returns
 * as submit_run; after 0 ${f} is in FOLLOW_NEED and has the references, the
 * spec's (sub->js.spec) among them.
 */
int submit_ask(struct submit *, struct follow *);

#endif /* !ERRAND_SUBMIT_H */
