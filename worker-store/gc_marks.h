#ifndef ERRAND_GC_MARKS_H
#define ERRAND_GC_MARKS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A set of places in packs: what a collection has found to be live.  A place
 * is where a record begins; records are longer than MARK_GRAIN bytes, so a
 * number of that many bytes names one.  Places are kept by 2 MiB of a pack, as
 * a sorted row of 16-bit numbers while they are few and as a bitmap (4 KiB)
 * when they are many: two to four bytes for each, and never more than 1/512 of
 * the packs.  Nothing is ever moved as a whole, so no call takes long.
 */
#define MARK_GRAIN      64

struct marks;

struct marks *marks_new(void);
void marks_free(struct marks *);

/* 1 when it is new, 0 when it is there, -1 with errno = ENOMEM. */
int marks_add(struct marks *, uint32_t pack, uint32_t off);
int marks_has(const struct marks *, uint32_t pack, uint32_t off);

uint64_t marks_count(const struct marks *);
uint64_t marks_memory(const struct marks *);

#endif /* !ERRAND_GC_MARKS_H */
