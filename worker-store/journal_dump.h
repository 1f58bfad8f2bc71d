#ifndef ERRAND_STORE_JOURNAL_DUMP_H
#define ERRAND_STORE_JOURNAL_DUMP_H

struct store;

/**
 * journal_dump(st):
 * A store that was written before there was a journal: write the jobs that its
 * index knows into the packs, so that a rebuild finds them too.  Done once,
 * when the store is opened; nothing is pending.  Return 0, or -1 after logging;
 * then the next start tries again.
 */
int journal_dump(struct store *);

#endif /* !ERRAND_STORE_JOURNAL_DUMP_H */
