/*
 * One entry of a tree: its bytes, what it may be, and where a leaf is cut after
 * it.  Memory only; change.c has the same entries.
 */
#include <string.h>

#include "object_internal.h"
#include "tree_internal.h"

/*
 * Where a leaf is cut.  Permanent.  After an entry the leaf, header included,
 * is TREE_CUT_MAX bytes or longer; or it is TREE_CUT_MIN or longer and the hash
 * of the entry's name is below a bound that grows with the entry, which makes
 * every byte beyond TREE_CUT_MIN the end with a chance of 1 in 256, however
 * long the names are.  A leaf is about half a kilobyte, so that an edit costs
 * little more than the path to it: ids do not compress, and a leaf of 12 KiB
 * twice on the way made 9 KB of an edit of 7 bytes.  The longest is an entry
 * short of 37 KiB, well below OBJ_MAX.
 */
#define TREE_CUT_MIN    256
#define TREE_CUT_MAX    32768
#define TREE_CUT_SHIFT  24      /* 2^32 / 256 */

_Static_assert(TREE_CUT_MAX + ENTRY_MAX + TREE_NAME_MAX <= OBJ_MAX,
    "a leaf is an object");
_Static_assert(TREE_HEAD + PART_LEN * (GROUP_MAX + 1) <= OBJ_MAX,
    "a group of parts is an object");

/* 64-bit FNV-1a, mixed so that every bit of the name reaches the top. */
static uint32_t
name_hash(const uint8_t *name, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ name[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	return ((uint32_t)(h >> 32));
}

int
entry_cut(const struct tree_entry *e, size_t elen, size_t size)
{
	if (size >= TREE_CUT_MAX)
		return (1);
	if (size < TREE_CUT_MIN)
		return (0);
	return (name_hash(e->name, e->name_len) <
	    (uint64_t)elen << TREE_CUT_SHIFT);
}

const char *
tree_name_fault(const uint8_t *name, size_t len)
{
	if (len == 0)
		return ("an empty name");
	if (len > TREE_NAME_MAX)
		return ("a name of more than 255 bytes");
	if (memchr(name, '/', len) != NULL)
		return ("a name with a slash");
	if (memchr(name, '\0', len) != NULL)
		return ("a name with a zero byte");
	if (name[0] != '.')
		return (NULL);
	if (len == 1 || (len == 2 && name[1] == '.'))
		return ("a name that means a directory");
	/* Compared as ASCII: the locale has no say. */
	if (len == 4 && (name[1] | 0x20) == 'g' && (name[2] | 0x20) == 'i' &&
	    (name[3] | 0x20) == 't')
		return ("a name kept for version control");
	return (NULL);
}

int
tree_name_cmp(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	int rc;

	if ((rc = memcmp(a, b, alen < blen ? alen : blen)) != 0)
		return (rc);
	return ((alen > blen) - (alen < blen));
}

static const char *
file_fault(const struct tree_entry *e)
{
	switch (e->ref.kind) {
	case OBJ_NONE:
		if (e->size != 0)
			return ("a file with a size but no content");
		break;
	case OBJ_CHUNK:
		if (e->size == 0 || e->size > OBJ_MAX)
			return ("a file of one chunk with another size");
		break;
	case OBJ_LIST:
		if (e->size == 0 || e->size > SIZE_LIMIT)
			return ("a file with a list and an impossible size");
		break;
	default:
		return ("a file that refers to no content");
	}
	return (NULL);
}

const char *
entry_fault(const struct tree_entry *e)
{
	if (e->mode > 0777)
		return ("mode bits beyond 0777");
	switch (e->kind) {
	case TREE_FILE:
		return (file_fault(e));
	case TREE_DIR:
		if (e->size != 0)
			return ("a directory with a size");
		if (e->ref.kind != OBJ_TREE)
			return ("a directory that refers to no tree");
		return (NULL);
	case TREE_LINK:
		if (e->target_len == 0 || e->target_len > TREE_TARGET_MAX)
			return ("a link target of no or too many bytes");
		if (e->size != e->target_len)
			return ("a link with another size than its target");
		if (memchr(e->target, '\0', e->target_len) != NULL)
			return ("a link target with a zero byte");
		return (NULL);
	default:
		return ("an unknown kind of entry");
	}
}

size_t
entry_len(const struct tree_entry *e)
{
	size_t n = ENTRY_FIXED + (size_t)e->name_len;

	if (e->kind == TREE_LINK)
		return (n + 2 + e->target_len);
	return (n + (e->ref.kind == OBJ_NONE ? 1 : OBJ_REF_LEN));
}

size_t
entry_fixed_encode(const struct tree_entry *e, uint8_t *out)
{
	out[0] = e->kind;
	le_put16(out + 1, e->mode);
	le_put64(out + 3, e->size);
	le_put64(out + 11, (uint64_t)e->mtime_ns);
	le_put16(out + 19, e->name_len);
	memcpy(out + ENTRY_FIXED, e->name, e->name_len);
	return (ENTRY_FIXED + (size_t)e->name_len);
}

size_t
entry_body_encode(const struct tree_entry *e, uint8_t *out)
{
	if (e->kind == TREE_LINK) {
		le_put16(out, e->target_len);
		memcpy(out + 2, e->target, e->target_len);
		return (2 + (size_t)e->target_len);
	}
	out[0] = e->ref.kind;
	if (e->ref.kind == OBJ_NONE)
		return (1);
	memcpy(out + 1, e->ref.id, OBJ_ID_LEN);
	return (OBJ_REF_LEN);
}

size_t
entry_encode(const struct tree_entry *e, uint8_t *out)
{
	size_t n;

	n = entry_fixed_encode(e, out);
	return (n + entry_body_encode(e, out + n));
}

const char *
entry_fixed_decode(struct cursor *c, struct tree_entry *e)
{
	const uint8_t *p;

	memset(e, 0, sizeof(*e));
	if ((p = cursor_take(c, ENTRY_FIXED)) == NULL)
		return ("an entry that is cut short");
	e->kind = p[0];
	e->mode = le_get16(p + 1);
	e->size = le_get64(p + 3);
	e->mtime_ns = (int64_t)le_get64(p + 11);
	e->name_len = le_get16(p + 19);
	if ((e->name = cursor_take(c, e->name_len)) == NULL)
		return ("a name that is cut short");
	return (NULL);
}

const char *
entry_body_decode(struct cursor *c, struct tree_entry *e)
{
	const uint8_t *p;

	if (e->kind == TREE_LINK) {
		if ((p = cursor_take(c, 2)) == NULL)
			return ("a link that is cut short");
		e->target_len = le_get16(p);
		if ((e->target = cursor_take(c, e->target_len)) == NULL)
			return ("a link target that is cut short");
		return (entry_fault(e));
	}
	if ((p = cursor_take(c, 1)) == NULL)
		return ("a reference that is cut short");
	e->ref.kind = p[0];
	if (e->ref.kind != OBJ_NONE) {
		if ((p = cursor_take(c, OBJ_ID_LEN)) == NULL)
			return ("an id that is cut short");
		memcpy(e->ref.id, p, OBJ_ID_LEN);
	}
	return (entry_fault(e));
}

const char *
entry_decode(struct cursor *c, struct tree_entry *e)
{
	const char *why;

	if ((why = entry_fixed_decode(c, e)) != NULL)
		return (why);
	if ((why = tree_name_fault(e->name, e->name_len)) != NULL)
		return (why);
	return (entry_body_decode(c, e));
}
