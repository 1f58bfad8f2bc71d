#ifndef ERRAND_EXEC_AHEAD_H
#define ERRAND_EXEC_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

struct plan;
struct storeclient;

/*
 * The contents of a plan's files, asked for ahead of whoever writes them, in
 * requests of many objects: a file is often no more than a list of a few
 * chunks, and to ask for each list's chunks alone took a round trip per file.
 */
struct ahead;

/* For the files of a plan in its order.  Both borrowed.  NULL: ENOMEM. */
struct ahead *ahead_new(const struct plan *, struct storeclient *);
void ahead_free(struct ahead *);

/* Before a file is written: ask for what comes.  0, or -1 with errno. */
int ahead_go(struct ahead *);

/* An obj_fetch_fn for the contents of the files, in order. */
int ahead_fetch(void *, const struct obj_ref *, uint8_t *, size_t *);

#endif /* !ERRAND_EXEC_AHEAD_H */
