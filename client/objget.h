#ifndef ERRAND_OBJGET_H
#define ERRAND_OBJGET_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "session.h"

/*
 * Objects from the host.  Every one is checked against its id before anybody
 * sees it.  What is prefetched is used once and then forgotten, so memory is
 * bounded by the window.
 */
#define OBJGET_WINDOW   64      /* objects asked for at once */

struct objget;

struct objget *objget_new(struct session *);
void objget_free(struct objget *);

/**
 * objget_changes(g, job, rec):
 * Ask for the record of a job, and, if it has ended, for what it changed: what
 * comes along is held for objget_fetch.  0, or -1: objget_err, or the loss of
 * the connection, says why.
 */
int objget_changes(struct objget *, const char *, struct job_record *);

/**
 * objget_want(g, ref):
 * These will be read next, in this order: ask for them together.  0 or -1.
 */
int objget_want(struct objget *, const struct obj_ref *);

/* An obj_fetch_fn.  What lists and the upper parts
 * of directories name is read ahead.  When it fails,
 * objget_err says why. */
int objget_fetch(void *, const struct obj_ref *, uint8_t *, size_t *);
const struct err *objget_err(const struct objget *);

#endif /* !ERRAND_OBJGET_H */
