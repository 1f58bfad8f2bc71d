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
};

struct stint_longest {
	uint64_t us;            /* flushes, and others on the machine, included */
	uint64_t cpu_us;        /* of the processor */
};

void stint_begin(struct stint *);
void stint_end(const struct stint *, struct stint_longest *);

#endif /* !ERRAND_STORE_STINT_H */
