#ifndef ERRAND_EXEC_COLLECT_H
#define ERRAND_EXEC_COLLECT_H

struct keeper;

/*
 * Compare the job's upper directory with the tree it was given and put what
 * changed into the store: k->result.changes, .usage.disk_bytes, and .err when
 * that failed.  No process of the job may be left.
 */
void collect(struct keeper *);

#endif /* !ERRAND_EXEC_COLLECT_H */
