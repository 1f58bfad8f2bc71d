#ifndef ERRAND_KEEP_H
#define ERRAND_KEEP_H

struct keep;
struct sup;
struct tenant;

/*
 * How long ended jobs are kept: until the tenant's time is over (keep), or
 * there are more of them (jobs), or more of their output (logs), than it may
 * have.  The store forgets their records, receipts and references, and says
 * which they were; their logs go here.
 */
struct keep *keep_new(struct sup *);
void keep_free(struct keep *);

/* The store is there again: begin a round. */
void keep_kick(struct keep *);

/* A job of the tenant has settled.  Without a keep (NULL), never mind. */
void keep_settled(struct keep *, struct tenant *);

/* What the tenant may keep has changed: tell the store, and look again. */
void keep_quota(struct keep *, struct tenant *);

#endif /* !ERRAND_KEEP_H */
