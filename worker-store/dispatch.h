#ifndef ERRAND_STORE_DISPATCH_H
#define ERRAND_STORE_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

/* A chan_msg_fn for a struct peer: check, find the route, call the handler. */
int dispatch_msg(void *, const uint8_t *, size_t, int *, size_t);

#endif /* !ERRAND_STORE_DISPATCH_H */
