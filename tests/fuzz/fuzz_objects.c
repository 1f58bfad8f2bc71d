#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "content.h"
#include "object.h"
#include "objrec.h"
#include "tree.h"

/*
 * The parsers of objects, changes and records.  The first byte chooses one.
 * What is accepted must be consistent, or the harness aborts.
 */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct input {
	const uint8_t *p;
	size_t len;
	unsigned int left;      /* fetches that are answered */
};

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
on_child(void *cookie, const struct obj_ref *ref)
{
	size_t *n = cookie;

	must(ref->kind >= OBJ_CHUNK && ref->kind <= OBJ_TREE);
	++*n;
	return (0);
}

/* An accepted leaf, built again from its entries, has the same id. */
static void
rebuild_tree(const uint8_t *p, size_t len)
{
	struct tree_builder *tb;
	struct tree_iter it;
	struct tree_entry e;
	struct obj_ref is, again;

	must(tree_iter_init(&it, p, len) == 0);
	if (it.level > 0)
		return;
	must((tb = tree_builder_new()) != NULL);
	while (tree_iter_next(&it, &e) == 1)
		must(tree_builder_add(tb, &e) == 0);
	must(tree_builder_finish(tb, NULL, NULL, &again) == 0);
	must(obj_ref_of(OBJ_TREE, p, len, &is) == 0);
	must(obj_ref_equal(&is, &again));
	tree_builder_free(tb);
}

static void
fuzz_check(enum obj_kind kind, const uint8_t *p, size_t len)
{
	const char *why;
	size_t n = 0;

	if (obj_check(kind, p, len, &why) == -1) {
		must(why != NULL);
		return;
	}
	must(len > 0 && len <= OBJ_MAX);
	must(obj_children(kind, p, len, on_child, &n) == 0);
	if (kind == OBJ_TREE)
		rebuild_tree(p, len);
}

static void
fuzz_changes(const uint8_t *p, size_t len)
{
	struct change_buf b = { .len = 0 };
	struct change_iter it;
	struct change c;
	int rc;

	if (change_iter_init(&it, p, len) == -1)
		return;
	must(change_buf_begin(&b) == 0);
	while ((rc = change_iter_next(&it, &c)) == 1)
		must(change_buf_add(&b, &c) == 0);
	if (rc == 0)
		must(b.len == len && memcmp(b.p, p, len) == 0);
	free(b.p);
}

static int
on_record(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	uint8_t *sum = cookie;

	must(rec->raw_len > 0 && rec->raw_len <= OBJ_MAX);
	*sum ^= raw[0] ^ raw[rec->raw_len - 1];
	return (0);
}

static void
fuzz_records(const uint8_t *p, size_t len)
{
	struct objrec_reader *r;
	size_t cut = len > 0 ? p[0] % (len + 1) : 0;
	uint8_t sum = 0;

	must((r = objrec_reader_new(on_record, &sum)) != NULL);
	if (objrec_reader_feed(r, p, cut) == 0)
		(void)objrec_reader_feed(r, p + cut, len - cut);
	objrec_reader_free(r);
}

/* The objects are pieces of the input, each led by its length. */
static int
fetch(void *cookie, const struct obj_ref *ref, uint8_t *buf, size_t *len)
{
	struct input *in = cookie;
	size_t n;

	(void)ref;
	if (in->left == 0 || in->len < 2)
		return (-1);
	in->left--;
	n = (size_t)in->p[0] | (size_t)in->p[1] << 8;
	in->p += 2;
	in->len -= 2;
	if (n > in->len)
		n = in->len;
	if (n > OBJ_MAX)
		n = OBJ_MAX;
	memcpy(buf, in->p, n);
	*len = n;
	in->p += n;
	in->len -= n;
	return (0);
}

static int
on_entry(void *cookie, const struct tree_entry *e)
{
	size_t *n = cookie;

	must(tree_name_fault(e->name, e->name_len) == NULL);
	++*n;
	return (0);
}

static int
on_piece(void *cookie, const uint8_t *buf, uint64_t len)
{
	size_t *n = cookie;

	must(len > 0);
	if (buf != NULL)
		*n += buf[len - 1];
	return (0);
}

static void
fuzz_reading(enum obj_kind kind, const uint8_t *p, size_t len)
{
	struct input in = { .p = p, .len = len, .left = 1000 };
	struct obj_ref ref = { .kind = (uint8_t)kind };
	size_t n = 0;

	if (kind == OBJ_TREE)
		(void)tree_read(&ref, fetch, &in, on_entry, &n);
	else
		(void)content_read(&ref, fetch, &in, on_piece, &n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *p;
	size_t len;

	if (size == 0)
		return (0);
	p = data + 1;
	len = size - 1;
	switch (data[0] % 8) {
	case OBJ_NONE:
	case OBJ_CHUNK:
	case OBJ_LIST:
	case OBJ_TREE:
		fuzz_check((enum obj_kind)(data[0] % 8), p, len);
		break;
	case 4:
		fuzz_changes(p, len);
		break;
	case 5:
		fuzz_records(p, len);
		break;
	case 6:
		fuzz_reading(OBJ_LIST, p, len);
		break;
	default:
		fuzz_reading(OBJ_TREE, p, len);
		break;
	}
	return (0);
}
