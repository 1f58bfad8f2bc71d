#ifndef ERRAND_INDEX_FORMAT_H
#define ERRAND_INDEX_FORMAT_H

struct ix;

/**
 * ix_format_check(ix):
 * In a write transaction: write the format of a new index, or compare that of
 * an old one.  Return 1 for a new one, 0, or -1 after logging (EUCLEAN, or
 * EPROTONOSUPPORT: a newer program's).
 */
int ix_format_check(struct ix *);

#endif /* !ERRAND_INDEX_FORMAT_H */
