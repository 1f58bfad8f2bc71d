#ifndef ERRAND_RECEIPTS_H
#define ERRAND_RECEIPTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;
struct receipt;
struct sup;
struct tenant;

/**
 * receipt_compose(sup, j, r):
 * What the receipt of a job that has ended says: the next of its tenant's
 * chain, whose end must be known.
 */
void receipt_compose(const struct sup *, const struct job *,
    struct receipt *);

/**
 * receipt_make(sup, j, buf, cap):
 * Compose and sign; sequence and digest go into the job's record.  The signed
 * part's length, or -1 after logging.
 */
ssize_t receipt_make(const struct sup *, struct job *, uint8_t *, size_t);

#endif /* !ERRAND_RECEIPTS_H */
