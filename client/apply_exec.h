#ifndef ERRAND_APPLY_EXEC_H
#define ERRAND_APPLY_EXEC_H

#include "apply_internal.h"

/* Shared by apply_exec.c (doing) and apply_move.c (looking and moving). */

/* Rename; the target must not exist (EEXIST).  0 or -1. */
int move_new(int, const char *, int, const char *);
/* Both change places.  -1 with EINVAL or ENOSYS where that is not known. */
int move_exchange(int, const char *, int, const char *);

/* Is it there as it was seen?  1, 0 (absent, or not so), -1. */
int jfile_is(const struct jfile *, int, const char *);

/*
 * What was taken away turned out to be edited: put staged ${name} back at its
 * path.  EXEC_CHANGED, or -1.
 */
int restore(struct exec *, const struct jop *, const char *name, int,
    const char *);
/* The same by exchange with the new one, which is there. */
int restore_exchange(struct exec *, const struct jop *, int, const char *);

/* Put staged ${name} back; if its path is taken by now, beside.  0 or -1. */
int give_back(struct exec *, const struct jop *, const char *name, int,
    const char *);
/* Put it beside, under a name of its own, and say so.  0 or -1. */
int keep_beside(struct exec *, const struct jop *, const char *name, int,
    const char *);

/* How far an operation came: only a replacement without exchange can be half
 * done (the old one is aside, the new one not there). */
enum op_state { OP_NOT, OP_HALF, OP_DONE };
enum op_state exec_state(struct exec *, const struct jop *);

/* Say that an operation was left out. */
void exec_skip(struct exec *, const struct jop *);

#endif /* !ERRAND_APPLY_EXEC_H */
