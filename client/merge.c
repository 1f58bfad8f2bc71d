/*
 * Decides what becomes of a path that a job changed.  Touches nothing.
 */
#include <string.h>

#include "merge.h"

/* The same thing, modes aside? */
static int
same(const struct merge_side *a, const struct merge_side *b)
{
	if (a->kind != b->kind)
		return (0);
	switch (a->kind) {
	case TREE_FILE:
		return (obj_ref_equal(&a->ref, &b->ref));
	case TREE_LINK:
		return (a->target_len == b->target_len &&
		    memcmp(a->target, b->target, a->target_len) == 0);
	case MERGE_OTHER:
		return (0);
	default:
		return (1);
	}
}

static int
has_mode(uint8_t kind)
{
	return (kind == TREE_FILE || kind == TREE_DIR);
}

/* A bit that a side changed is as that side has it; there are only two ways
 * for a bit to be, so two changes of it agree. */
static uint16_t
merge_modes(const struct merge_side *base, const struct merge_side *ours,
    const struct merge_side *theirs)
{
	if (base->kind != theirs->kind)
		return (theirs->mode);
	if (ours->kind != base->kind)
		return (theirs->mode);
	return (base->mode ^ ((base->mode ^ ours->mode) |
	    (base->mode ^ theirs->mode)));
}

static enum merge_verdict
only_mode(const struct merge_side *ours, uint16_t mode)
{
	return (!has_mode(ours->kind) || mode == ours->mode ? MERGE_NOTHING :
	    MERGE_MODE);
}

/* Both sides have the same; their modes may differ. */
static enum merge_verdict
agreed(const struct merge_side *base, const struct merge_side *ours,
    const struct merge_side *theirs, uint16_t *mode)
{
	if (base->kind == ours->kind)
		return (only_mode(ours, *mode));
	/* New on both sides: the umask accounts for all but the x bit. */
	*mode = ours->mode;
	if (ours->kind == TREE_FILE && ((ours->mode ^ theirs->mode) & 0100))
		return (MERGE_BOTH);
	return (MERGE_NOTHING);
}

/* Theirs is base but for the mode. */
static enum merge_verdict
mode_changed(const struct merge_side *ours, const struct merge_side *theirs,
    uint16_t mode)
{
	if (ours->kind == theirs->kind)
		return (only_mode(ours, mode));
	if (ours->kind == MERGE_ABSENT)
		return (theirs->kind == TREE_DIR ? MERGE_NOTHING :
		    MERGE_DELETED_HERE);
	return (MERGE_TYPES);
}

enum merge_verdict
merge_decide(const struct merge_side *base, const struct merge_side *ours,
    const struct merge_side *theirs, uint16_t *mode)
{
	*mode = merge_modes(base, ours, theirs);
	if (same(ours, theirs))
		return (agreed(base, ours, theirs, mode));
	if (same(theirs, base))
		return (mode_changed(ours, theirs, *mode));
	if (same(ours, base)) {
		if (theirs->kind == MERGE_ABSENT && ours->kind == TREE_FILE &&
		    ours->mode != base->mode)
			return (MERGE_DELETED_THERE);
		return (MERGE_TAKE);
	}
	if (ours->kind == MERGE_ABSENT)
		return (MERGE_DELETED_HERE);
	if (theirs->kind == MERGE_ABSENT)
		return (MERGE_DELETED_THERE);
	if (ours->kind != theirs->kind)
		return (MERGE_TYPES);
	if (base->kind == TREE_FILE && ours->kind == TREE_FILE)
		return (MERGE_TEXT);
	return (MERGE_BOTH);
}

const char *
merge_words(enum merge_verdict v)
{
	switch (v) {
	case MERGE_DELETED_HERE:
		return ("deleted here, changed by the job");
	case MERGE_DELETED_THERE:
		return ("changed here, deleted by the job");
	case MERGE_TYPES:
		return ("different types");
	case MERGE_CASE:
		return ("a name here differs from it only in case");
	default:
		return ("changed here and by the job");
	}
}

uint16_t
merge_new_mode(uint16_t mode, uint16_t mask)
{
	if (mode == 0644)
		return (0666 & ~mask);
	if (mode == 0755)
		return (0777 & ~mask);
	return (mode);
}
