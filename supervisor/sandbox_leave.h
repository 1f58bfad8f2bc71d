#ifndef ERRAND_SANDBOX_LEAVE_H
#define ERRAND_SANDBOX_LEAVE_H

struct map_rule;
struct sup;

/*
 * Keepers that have said all they had to say and are still cleaning up: one
 * that is killed at that leaves its directory to us.
 */
struct leavers;

/* Never fails but for memory: NULL. */
struct leavers *leavers_new(struct sup *);
void leavers_free(struct leavers *);

/* The sandbox of this id, with these ids on the host, is forgotten. */
void leavers_add(struct leavers *, const char *, const struct map_rule *);

/* Its keeper has ended, by itself when ${status} is 0.  Others: no matter. */
void leavers_gone(struct leavers *, const char *, int);

/* errand-exec has ended, and all keepers with it. */
void leavers_lost(struct leavers *);

#endif /* !ERRAND_SANDBOX_LEAVE_H */
