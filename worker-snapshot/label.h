#ifndef ERRAND_SNAP_LABEL_H
#define ERRAND_SNAP_LABEL_H

#include <sys/types.h>

#include "joblist.h"

struct label;
struct store_client;

/* The newest job with the label: its place in the list, or -1. */
typedef void label_fn(void *, ssize_t);

/**
 * label_new(sc, list, name, fn, cookie):
 * Look for a job's label.  Labels are in the specs, which only the submitter
 * and the sandbox read; so they are fetched, newest first, those that several
 * jobs share only once.  ${list} is borrowed for the call; ${fn} is called
 * once, perhaps before this returns.  NULL with errno on failure.
 */
struct label *label_new(struct store_client *, const struct joblist *,
    const char *, label_fn *, void *);
void label_free(struct label *);

#endif /* !ERRAND_SNAP_LABEL_H */
