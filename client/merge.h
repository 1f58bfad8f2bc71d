#ifndef ERRAND_MERGE_H
#define ERRAND_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "lib/tree.h"

/*
 * Three ways to see one path: as it was submitted (base), as it is here now
 * (ours), as the job left it (theirs).  What becomes of it is decided from
 * these alone; nothing is read or written.
 */
#define MERGE_ABSENT    0       /* kind: nothing there */
#define MERGE_OTHER     9       /* kind: a FIFO, a socket, a device */

struct merge_side {
	uint8_t kind;           /* enum tree_kind, or one of the above */
	uint16_t mode;          /* 0777 at most; of links: not looked at */
	struct obj_ref ref;     /* file: its content */
	uint64_t size;          /* of it, where base_find filled this in */
	const uint8_t *target;  /* link: borrowed */
	uint16_t target_len;
};

enum merge_verdict {
	MERGE_NOTHING = 1,      /* ours is what is wanted */
	MERGE_TAKE,             /* ours becomes theirs, but for the mode */
	MERGE_MODE,             /* ours stays and gets another mode */
	MERGE_TEXT,             /* both sides changed it: if text, merge */
	/* Conflicts. */
	MERGE_BOTH,             /* changed here and by the job */
	MERGE_DELETED_HERE,     /* deleted here, changed by the job */
	MERGE_DELETED_THERE,    /* changed here, deleted by the job */
	MERGE_TYPES,            /* different types */
	MERGE_CASE              /* a name that differs only in case is here */
};
#define MERGE_IS_CONFLICT(v) ((v) >= MERGE_BOTH)

/**
 * merge_decide(base, ours, theirs, mode):
 * What becomes of a path.  ${*mode} is then the mode of what is there after
 * (for TAKE, MODE and TEXT): each permission bit is merged by itself.
 */
enum merge_verdict merge_decide(const struct merge_side *,
    const struct merge_side *, const struct merge_side *, uint16_t *);

/* The words for a conflict, a static string. */
const char *merge_words(enum merge_verdict);

/**
 * merge_new_mode(mode, mask):
 * Mode for something new: what a job made without saying a mode (0644 or 0755
 * come from its umask of 022) gets what the user's umask ${mask} gives here;
 * any other mode was meant.
 */
uint16_t merge_new_mode(uint16_t, uint16_t);

struct merge_bytes {
	const uint8_t *p;
	size_t len;
};

/* Larger files are not merged: they are a conflict. */
#define MERGE_TEXT_MAX  (64 * 1024 * 1024)

/**
 * merge_text(ours, base, theirs, out, len):
 * Merge text by `git merge-file`, outside of any repository.  Return 0, or 1
 * when there are conflicts, marked in the result; ${*out} is freed by the
 * caller.  Return -1 when it cannot be merged: EINVAL it is not text, EEXIST
 * the markers of an earlier merge are in ${ours}, EFBIG, or what kept git from
 * running.
 */
int merge_text(const struct merge_bytes *, const struct merge_bytes *,
    const struct merge_bytes *, char **, size_t *);

#endif /* !ERRAND_MERGE_H */
