#ifndef ERRAND_STORE_REBUILD_H
#define ERRAND_STORE_REBUILD_H

struct store;

/**
 * rebuild_wanted(dirfd):
 * Is there the mark of a rebuild that was ordered, and has not ended; or of a
 * backup that was put in place?
 */
int rebuild_wanted(int);

/**
 * rebuild_run(st, dir):
 * Make the index of the store in ${dir} anew from its packs, with st->packs
 * open and no index: objects, then what the journal tells.  It is made beside
 * the old one and takes its place at the end; that is kept as index.old.  Says
 * how far it is and, one line each, what is lost.  Return 0, or -1 after
 * logging a sentence; an interrupted one begins again at the next start.
 */
int rebuild_run(struct store *, const char *);

#endif /* !ERRAND_STORE_REBUILD_H */
