#ifndef ERRAND_UPLOAD_H
#define ERRAND_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "conn.h"
#include "lib/object.h"

/*
 * One flight of objects on an UPLOAD stream.  The records are packed into
 * frames as they come; the source is held back when the host is slow.
 */
struct upload;

struct upload *upload_new(struct conn *);
/* Before the connection is closed. */
void upload_free(struct upload *);

/* An obj_sink_fn: send one object.  Pumps the connection when much waits. */
int upload_object(void *, const struct obj_ref *, const void *, size_t);

/* All are in: end the stream.  0 or -1. */
int upload_end(struct upload *);

/* Has the host answered?  1 yes, 0 not yet, -1 it failed (upload_err). */
int upload_done(const struct upload *);
const struct err *upload_err(const struct upload *);
uint64_t upload_bytes(const struct upload *);   /* as sent */

#endif /* !ERRAND_UPLOAD_H */
