/*
 * A text that both sides changed.  Reads the local file, and the others from
 * the host; git merges them (merge_text.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply_internal.h"
#include "lib/content.h"
#include "lib/size.h"

struct bytes {
	uint8_t *p;
	size_t len, cap;
};

static int
append(void *cookie, const uint8_t *buf, uint64_t len)
{
	struct bytes *b = cookie;
	uint8_t *p;

	if (len > MERGE_TEXT_MAX - b->len) {
		errno = EFBIG;
		return (-1);
	}
	if ((p = size_grow(b->p, &b->cap, b->len + (size_t)len, 1)) == NULL)
		return (-1);
	b->p = p;
	if (buf != NULL)
		memcpy(p + b->len, buf, (size_t)len);
	else
		memset(p + b->len, 0, (size_t)len);
	b->len += (size_t)len;
	return (0);
}

static int
load(struct apply *a, const struct obj_ref *ref, struct bytes *b)
{
	if (ref->kind == OBJ_NONE)
		return (0);
	return (content_read(ref, apply_fetch, a, append, b));
}

static struct merge_bytes
view(const struct bytes *b)
{
	struct merge_bytes m = { b->p != NULL ? b->p : (const uint8_t *)"",
	    b->len };

	return (m);
}

/* Load all three and let git merge.  0, 1 for a conflict, or -1. */
static int
merge(struct apply *a, struct item *it, struct bytes v[3])
{
	struct merge_bytes ours, base, theirs;
	int rc;

	if (local_read(a, it, &v[0].p, &v[0].len) == -1) {
		if (errno == ESTALE)
			a->what = "is being written to; try again when it "
			    "holds still";
		return (-1);
	}
	if (load(a, &it->base.ref, &v[1]) == -1 ||
	    load(a, &it->c.ref, &v[2]) == -1)
		return (-1);
	ours = view(&v[0]);
	base = view(&v[1]);
	theirs = view(&v[2]);
	rc = merge_text(&ours, &base, &theirs, &it->text, &it->text_len);
	if (rc == -1 && (errno == EINVAL || errno == ENOENT))
		return (1);     /* not text, or no git */
	if (rc == -1 && errno == EEXIST) {
		it->unsettled = 1;
		return (1);
	}
	if (rc == -1) {
		a->what = "git merge-file cannot be run on it";
		return (-1);
	}
	it->marked = rc == 1;
	/* What the job did has been done here already. */
	if (rc == 0 && it->text_len == ours.len &&
	    memcmp(it->text, ours.p, ours.len) == 0)
		it->verdict = it->mode == it->ours.mode ? MERGE_NOTHING :
		    MERGE_MODE;
	return (rc);
}

int
text_merge(struct apply *a, struct item *it)
{
	struct bytes v[3] = { 0 };
	int rc = 1;

	if (it->st.st_size <= MERGE_TEXT_MAX && it->c.size <= MERGE_TEXT_MAX)
		rc = merge(a, it, v);
	free(v[0].p);
	free(v[1].p);
	free(v[2].p);
	if (rc == -1 && errno != EFBIG)
		return (apply_fail(a, item_path(it), it->c.path_len,
		    a->what));
	if (rc != 0)
		it->verdict = MERGE_BOTH;
	return (0);
}
