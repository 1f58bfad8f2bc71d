#ifndef ERRAND_SNAP_FOLLOW_H
#define ERRAND_SNAP_FOLLOW_H

#include <stdint.h>

struct follow;
struct job_record;
struct snap_msg;
struct stream;

#define FOLLOW_LOG      0x1     /* send the output */
#define FOLLOW_STATES   0x2     /* send JOB at each change of state */
#define FOLLOW_TELL     0x4     /* send JOB first, with the offset */
#define FOLLOW_STAY     0x8     /* until it has settled, then RESULT; else
				 * JOB when what there is was sent */

/**
 * follow_start(st, job, how, offset, known):
 * Watch a job for the stream, which gets the follow and in the end its last
 * reply.  ${known} is the record the store has, or NULL for a job that was
 * just submitted.
 */
void follow_start(struct stream *, const char *, unsigned int, uint64_t,
    const struct job_record *);
void follow_free(struct follow *);

/* An event of the supervisor, perhaps of another job. */
void follow_event(struct follow *, const struct snap_msg *);

/* Send output as long as there is some, and room for it; then the result. */
void follow_pump(struct follow *);

/* Look at the store once more: it may have ended. */
void follow_look(struct follow *);

#endif /* !ERRAND_SNAP_FOLLOW_H */
