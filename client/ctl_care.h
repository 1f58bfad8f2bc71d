#ifndef ERRAND_CTL_CARE_H
#define ERRAND_CTL_CARE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/care.h"

struct session;

/* What hears of a task: answers as they come, the bytes of a backup. */
struct care_hear {
	void (*say)(void *, const struct care *);
	int (*bytes)(void *, const uint8_t *, size_t);  /* -1: give up */
	void *cookie;
};

/**
 * care_run(s, task, hear):
 * Have the store do a task and wait for its end.  Return 0, or the exit code
 * after saying what is wrong.
 */
int care_run(struct session *, enum care_task, const struct care_hear *);

/* One line on the terminal that is written over; nothing elsewhere. */
void care_progress(const struct session *, const char *, uint64_t, uint64_t);
void care_progress_end(const struct session *);

int ctl_store_rebuild(struct session *);
int ctl_store_backup(struct session *, const char *);

#endif /* !ERRAND_CTL_CARE_H */
