#ifndef ERRAND_STORE_STINT_H
#define ERRAND_STORE_STINT_H

#include <stdint.h>

/*
 * How long steps take that nobody asked for: between two of them, channels have
 * their turn, so the longest is the longest that they keep anybody waiting.
 */
struct stint {                  /* one that is under way */
	uint64_t us;
	uint64_t cpu_us;
	uint64_t waited_us;
};

struct stint_longest {
	uint64_t us;            /* with flushes and others on the machine */
	uint64_t own_us;        /* without the waiting for flushes */
	uint64_t cpu_us;        /* of the processor */
};

void stint_begin(struct stint *);
void stint_end(const struct stint *, struct stint_longest *);

/* Between stint_begin and this, in a stint of its own, was a flush. */
void stint_flushed(const struct stint *);

#endif /* !ERRAND_STORE_STINT_H */
