#ifndef ERRAND_EXEC_GITINDEX_H
#define ERRAND_EXEC_GITINDEX_H

/**
 * gitindex_make(dir):
 * Write .git/index in the directory ${dir}, which has a .git: all that is below
 * is tracked, as if by `git add -N`.  Return 0, or -1 with errno; then there is
 * no index.  A tree of more than GITINDEX_MAX files gets none (EFBIG).
 */
int gitindex_make(int);

#define GITINDEX_MAX    200000  /* files; some 15 MB, and 0.1 s */

#endif /* !ERRAND_EXEC_GITINDEX_H */
