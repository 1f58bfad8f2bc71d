#ifndef ERRAND_SNAP_DISPATCH_H
#define ERRAND_SNAP_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

/* The snapshot channel's message callback (child_ops); the cookie is the
 * struct worker. */
int snap_msg_in(void *, const uint8_t *, size_t, int *, size_t);

#endif /* !ERRAND_SNAP_DISPATCH_H */
