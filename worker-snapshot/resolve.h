#ifndef ERRAND_SNAP_RESOLVE_H
#define ERRAND_SNAP_RESOLVE_H

struct err;
struct job_record;
struct resolve;
struct store_client;

/* The job's record as the store has it, or NULL and why not. */
typedef void resolve_fn(void *, const struct job_record *,
    const struct err *);

/**
 * resolve_new(sc, name, fn, cookie):
 * Find the job that ${name} means, in this order: its id; "last", the newest;
 * a label, of the newest job that has it; the beginning of an id, of at least
 * JOBLIST_PREFIX_MIN characters, if no other id begins so.  All but ids are
 * looked up among the newest LIMIT_LIST_JOBS jobs.  ${fn} is called once, from
 * the event loop.  NULL with errno on failure.
 */
struct resolve *resolve_new(struct store_client *, const char *,
    resolve_fn *, void *);
void resolve_free(struct resolve *);

#endif /* !ERRAND_SNAP_RESOLVE_H */
