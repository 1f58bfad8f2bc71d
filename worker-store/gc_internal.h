#ifndef ERRAND_GC_INTERNAL_H
#define ERRAND_GC_INTERNAL_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#include "gc.h"
#include "gc_marks.h"
#include "index_job.h"
#include "lib/object.h"

/* What gc.c and gc_phase.c share. */
struct event;

#define GC_AGES         256     /* classes of age, finer for the young */

enum gc_phase_no { GC_IDLE, GC_ROOTS, GC_COUNT, GC_SWEEP };

struct gc_want {                /* a tenant that is to be collected */
	STAILQ_ENTRY(gc_want) next;
	uint32_t tenant;
	int all;
	int pressed;            /* a quota is in the way of an upload */
	uint64_t need;          /* bytes, if not all */
};

struct gc_waiter {
	STAILQ_ENTRY(gc_waiter) next;
	uint32_t tenant;
	gc_fn *fn;
	void *cookie;
};

/* A tree or list that is live and was not looked into. */
struct gc_node {
	struct obj_ref ref;
	uint8_t strict;         /* a reference leads to it */
};

/*
 * Invariants, while phase is not GC_IDLE:
 *  1. Every live tree and list in marks is in stack, or all that it names is
 *     in marks (or is not there).
 *  2. In GC_COUNT and GC_SWEEP, what the tenant's references reach is in
 *     marks, or is below something in stack.
 *  3. What is deleted was not in marks when stack was empty, in the same
 *     handler.
 */
struct gc {
	struct store *st;
	struct event *ev;
	STAILQ_HEAD(, gc_want) wants;
	STAILQ_HEAD(, gc_waiter) waiters;
	size_t nwaiters;
	enum gc_phase_no phase;
	uint32_t tenant;
	uint32_t epoch;
	int all;
	int pressed;
	uint64_t need;
	uint64_t freed;
	uint64_t drops;         /* st->drops at the start */
	uint64_t until;         /* the step's end */
	int failed;             /* errno of gc_live */
	struct marks *marks;
	struct gc_node *stack;
	size_t nstack;
	size_t cap;
	struct ix_ref ref;      /* the last that was looked at */
	int has_ref;
	struct obj_ref at;      /* likewise, of the objects */
	int has_at;
	uint32_t floor;         /* stamps from here on are leased */
	uint64_t ages[GC_AGES]; /* bytes that nothing reaches */
	unsigned int youngest;  /* class that goes */
	uint64_t disk_us;
	uint64_t disk_need;
	uint32_t last_tenant;
	int last_pressed;
	uint64_t last_us;
	uint64_t began_us;
	struct gc_figures fig;
};

/* Begin with a tenant: its epoch.  0, or -1 with errno: try again later. */
int gc_begin(struct gc *, const struct gc_want *);

/* Go on until gc->until.  1: there is more to do, 0: over, -1 with errno. */
int gc_phase(struct gc *);

/* Forget the set and be idle. */
void gc_drop(struct gc *);

#endif /* !ERRAND_GC_INTERNAL_H */
