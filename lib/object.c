/*
 * Ids and references of objects, and the check of their bytes by kind.  Memory
 * only; alone computes ids.
 */
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "hash_many.h"
#include "list.h"
#include "object.h"
#include "object_internal.h"
#include "tree.h"

static const char *const personal_of[] = {
	[OBJ_CHUNK] = "errand.chunk",
	[OBJ_LIST] = "errand.list",
	[OBJ_TREE] = "errand.tree",
};

static int
kind_known(unsigned int kind)
{
	return (kind >= OBJ_CHUNK && kind <= OBJ_TREE);
}

void
obj_hash(const char *personal, const void *buf, size_t len, uint8_t *out)
{
	static int ready;
	int ok;
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] = { 0 };

	/*
	 * Before sodium_init the portable code is used, at half the speed.
	 * It takes its own lock, so threads may race here.
	 */
	if (!__atomic_load_n(&ready, __ATOMIC_RELAXED)) {
		ok = sodium_init() != -1;
		__atomic_store_n(&ready, ok, __ATOMIC_RELAXED);
	}
	memcpy(person, personal, strnlen(personal, sizeof(person)));
	(void)crypto_generichash_blake2b_salt_personal(out, OBJ_ID_LEN, buf,
	    len, NULL, 0, NULL, person);
}

int
obj_ref_of(enum obj_kind kind, const void *buf, size_t len,
    struct obj_ref *ref)
{
	if (!kind_known(kind) || len > OBJ_MAX) {
		errno = EINVAL;
		return (-1);
	}
	ref->kind = (uint8_t)kind;
	obj_hash(personal_of[kind], buf, len, ref->id);
	return (0);
}

int
obj_refs_of(struct obj_bytes *v, size_t n)
{
	struct hash_job jobs[HASH_MANY_MAX];
	size_t i;

	if (n > HASH_MANY_MAX)
		goto err0;
	for (i = 0; i < n; i++) {
		if (!kind_known(v[i].kind) || v[i].len > OBJ_MAX)
			goto err0;
		v[i].ref.kind = (uint8_t)v[i].kind;
		jobs[i] = (struct hash_job){
			.buf = v[i].buf,
			.len = v[i].len,
			.personal = personal_of[v[i].kind],
			.out_len = OBJ_ID_LEN,
			.out = v[i].ref.id
		};
	}
	hash_many(jobs, n);
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}

int
obj_emit(enum obj_kind kind, const void *buf, size_t len, obj_sink_fn *sink,
    void *cookie, struct obj_ref *ref)
{
	if (obj_ref_of(kind, buf, len, ref) == -1)
		return (-1);
	if (sink != NULL && sink(cookie, ref, buf, len) != 0)
		return (-1);
	return (0);
}

/* Go through a tree; ${fn} may be NULL.  Returns as obj_children. */
static int
tree_visit(const void *buf, size_t len, obj_child_fn *fn, void *cookie,
    const char **why)
{
	struct tree_iter it;
	struct tree_entry e;
	struct obj_ref ref;
	uint32_t below;
	int rc, stop;

	if ((rc = tree_iter_init(&it, buf, len)) == -1)
		goto done;
	for (;;) {
		if (it.level == 0) {
			if ((rc = tree_iter_next(&it, &e)) != 1)
				break;
			ref = e.ref;
		} else if ((rc = tree_part_next(&it, &ref, &below)) != 1)
			break;
		if (fn != NULL && ref.kind != OBJ_NONE &&
		    (stop = fn(cookie, &ref)) != 0)
			return (stop);
	}
done:
	*why = it.why;
	return (rc);
}

/* The same for a list. */
static int
list_visit(const void *buf, size_t len, obj_child_fn *fn, void *cookie,
    const char **why)
{
	struct list_iter it;
	struct list_item item;
	int rc, stop;

	if ((rc = list_iter_init(&it, buf, len)) == -1)
		goto done;
	while ((rc = list_iter_next(&it, &item)) == 1) {
		if (fn != NULL && item.type == LIST_ITEM_REF &&
		    (stop = fn(cookie, &item.ref)) != 0)
			return (stop);
	}
done:
	*why = it.why;
	return (rc);
}

static int
visit(enum obj_kind kind, const void *buf, size_t len, obj_child_fn *fn,
    void *cookie, const char **why)
{
	*why = NULL;
	switch (kind) {
	case OBJ_CHUNK:
		if (len >= 1 && len <= OBJ_MAX)
			return (0);
		*why = "a chunk of no bytes, or too many";
		break;
	case OBJ_LIST:
		return (list_visit(buf, len, fn, cookie, why));
	case OBJ_TREE:
		return (tree_visit(buf, len, fn, cookie, why));
	case OBJ_NONE:
	default:
		*why = "an unknown kind of object";
		break;
	}
	errno = EPROTO;
	return (-1);
}

int
obj_check(enum obj_kind kind, const void *buf, size_t len, const char **why)
{
	return (visit(kind, buf, len, NULL, NULL, why));
}

int
obj_children(enum obj_kind kind, const void *buf, size_t len,
    obj_child_fn *fn, void *cookie)
{
	const char *why;

	return (visit(kind, buf, len, fn, cookie, &why));
}

void
obj_ref_encode(const struct obj_ref *ref, uint8_t *out)
{
	out[0] = ref->kind;
	memcpy(out + 1, ref->id, OBJ_ID_LEN);
}

int
obj_ref_decode(const uint8_t *in, struct obj_ref *ref)
{
	static const uint8_t zero[OBJ_ID_LEN];

	if (in[0] == OBJ_NONE) {
		if (memcmp(in + 1, zero, OBJ_ID_LEN) != 0)
			goto err0;
	} else if (!kind_known(in[0]))
		goto err0;
	ref->kind = in[0];
	memcpy(ref->id, in + 1, OBJ_ID_LEN);
	return (0);

err0:
	errno = EPROTO;
	return (-1);
}

int
obj_ref_equal(const struct obj_ref *a, const struct obj_ref *b)
{
	return (a->kind == b->kind && memcmp(a->id, b->id, OBJ_ID_LEN) == 0);
}

void
obj_id_hex(const uint8_t *id, char *out)
{
	static const char digit[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < OBJ_ID_LEN; i++) {
		out[2 * i] = digit[id[i] >> 4];
		out[2 * i + 1] = digit[id[i] & 15];
	}
	out[2 * OBJ_ID_LEN] = '\0';
}

/* Only lower case: an id has one spelling. */
static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	return (-1);
}

int
obj_id_parse(const char *s, uint8_t *id)
{
	uint8_t tmp[OBJ_ID_LEN];
	int hi, lo;
	size_t i;

	for (i = 0; i < OBJ_ID_LEN; i++) {
		if ((hi = digit_value(s[2 * i])) == -1)
			goto err0;
		if ((lo = digit_value(s[2 * i + 1])) == -1)
			goto err0;
		tmp[i] = (uint8_t)(hi << 4 | lo);
	}
	if (s[2 * OBJ_ID_LEN] != '\0')
		goto err0;
	memcpy(id, tmp, OBJ_ID_LEN);
	return (0);

err0:
	errno = EINVAL;
	return (-1);
}
