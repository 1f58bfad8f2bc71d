#ifndef ERRAND_STOP_H
#define ERRAND_STOP_H

struct sup;

/*
 * Ending in order: no new clients, jobs ended and settled (bounded), then
 * exec, the connections, and the store last.  The loop ends after it.
 */
void stop_begin(struct sup *);

/* What the parts report on the way. */
void stop_job_gone(struct sup *);
void stop_child_down(struct sup *);

#endif /* !ERRAND_STOP_H */
