#ifndef ERRAND_STORE_CARE_H
#define ERRAND_STORE_CARE_H

#include <stdint.h>

#include "proto/care.h"

struct peer;
struct store;

/*
 * Tasks that an operator asks for and that take longer than a moment.  They
 * go on in steps between everything else, and only while somebody asks for
 * the next answer: who does not listen holds nothing up.
 *
 * Invariants:
 *  1. There is at most one task; it belongs to the channel that began it and
 *     ends with that.
 *  2. It runs only while a request of that channel waits for its answer.
 */
enum care_rc {
	CARE_FAILED = -1,       /* with errno */
	CARE_ON = 0,            /* call again */
	CARE_SAY = 1,           /* the same, but this is worth an answer */
	CARE_DONE = 2,
	CARE_LATER = 3          /* call again in a while */
};

struct care_ops {
	/* Begin.  NULL with errno. */
	void *(*open)(struct store *);

	/* Go on for some milliseconds; fill in the answer (it is kept between
	 * calls until it was sent); ${fd}: a memfd that goes with it. */
	enum care_rc (*step)(void *, struct care *, int *fd);
	void (*free)(void *);
};

extern const struct care_ops gc_ops, verify_ops, repair_ops, backup_ops;

struct care_state;
struct care_state *care_new(struct store *);
void care_free(struct care_state *);

/* The channel has ended, and its task with it. */
void care_gone(struct store *, const struct peer *);

/* Add a figure; one too many is left out. */
void care_figure(struct care *, const char *, uint64_t);

/* Monotonic time at which a step that begins now should end. */
uint64_t care_slice(void);

#endif /* !ERRAND_STORE_CARE_H */
