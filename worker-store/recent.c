/*
 * The newest entries of objects, in a tree.  Reaches the file through index.c
 * only.
 */
#include <errno.h>
#include <string.h>

#include "index.h"
#include "index_key.h"
#include "lib/le.h"
#include "lib/log.h"
#include "recent.h"
#include "seg_internal.h"

#define VALUE_LEN       (SEG_ENTRY_LEN - SEG_KEY_LEN)
#define VALUE_LEN_1     24              /* in format 1 */

static int
malformed(void)
{
	log_warnx("index: a malformed entry in object");
	errno = EUCLEAN;
	return (-1);
}

/* An entry of format 1.  Lengths of objects never needed all of 32 bits. */
static int
decode_1(const uint8_t *key, const uint8_t *p, uint8_t *entry)
{
	struct ix_object o = { .tenant = be_get32(key) };

	memcpy(o.ref.id, key + 4, OBJ_ID_LEN);
	o.loc.pack = le_get32(p);
	o.loc.off = le_get32(p + 4);
	o.loc.len = le_get32(p + 8);
	o.loc.raw_len = le_get32(p + 12);
	o.ref.kind = p[16];
	o.loc.codec = p[17];
	o.flags = p[18];
	o.epoch = le_get32(p + 20);
	return (seg_entry_encode(&o, entry) == -1 ? malformed() : 0);
}

static int
decode(const uint8_t *key, size_t klen, const uint8_t *p, size_t len,
    uint8_t *entry)
{
	if (klen == SEG_KEY_LEN && len == VALUE_LEN) {
		memcpy(entry, key, SEG_KEY_LEN);
		memcpy(entry + SEG_KEY_LEN, p, VALUE_LEN);
		return (0);
	}
	if (klen == SEG_KEY_LEN && len == VALUE_LEN_1)
		return (decode_1(key, p, entry));
	return (malformed());
}

/* The two bits of a key: ids are hashes already. */
static void
bits_of(const uint8_t *key, uint32_t bit[2])
{
	uint64_t h = le_get64(key + 20) ^ be_get32(key);

	bit[0] = (uint32_t)(h % RECENT_BITS);
	bit[1] = (uint32_t)(h / RECENT_BITS % RECENT_BITS);
}

static void
filter_add(struct recent_filter *f, const uint8_t *key)
{
	uint32_t bit[2];
	size_t i;

	bits_of(key, bit);
	for (i = 0; i < 2; i++)
		f->bits[bit[i] / 8] |= (uint8_t)(1U << bit[i] % 8);
}

static int
on_key(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	(void)v;
	(void)len;
	if (klen != SEG_KEY_LEN)
		return (malformed());
	filter_add(cookie, key);
	return (0);
}

/* From what is there; of very many, every bit is set without a look. */
static int
filter_make(struct ix *ix, struct recent_filter *f)
{
	uint64_t n;

	if (ix_count(ix, IX_OBJECT, &n) == -1)
		return (-1);
	memset(f->bits, n > RECENT_BITS / 8 ? 0xff : 0, sizeof(f->bits));
	if (n <= RECENT_BITS / 8 &&
	    ix_scan(ix, IX_OBJECT, "", 0, 0, on_key, f) == -1)
		return (-1);
	f->stale = 0;
	return (0);
}

/* May the tree have the key?  -1 with errno. */
static int
filter_has(struct ix *ix, const uint8_t *key)
{
	struct recent_filter *f = &ix_segs(ix)->recent;
	uint32_t bit[2];

	if (f->stale && filter_make(ix, f) == -1)
		return (-1);
	bits_of(key, bit);
	return ((f->bits[bit[0] / 8] & 1U << bit[0] % 8) != 0 &&
	    (f->bits[bit[1] / 8] & 1U << bit[1] % 8) != 0);
}

int
recent_get(struct ix *ix, const uint8_t *key, uint8_t *entry)
{
	const void *v;
	size_t len;
	int rc;

	if ((rc = filter_has(ix, key)) == -1)
		return (-1);
	if (rc == 0) {
		errno = ENOENT;
		return (-1);
	}
	if (ix_get(ix, IX_OBJECT, key, SEG_KEY_LEN, &v, &len) == -1)
		return (-1);
	return (decode(key, SEG_KEY_LEN, v, len, entry));
}

int
recent_put(struct ix *ix, const uint8_t *entry)
{
	filter_add(&ix_segs(ix)->recent, entry);
	return (ix_put(ix, IX_OBJECT, entry, SEG_KEY_LEN, entry + SEG_KEY_LEN,
	    VALUE_LEN));
}

int
recent_del(struct ix *ix, const uint8_t *key)
{
	int rc;

	if ((rc = filter_has(ix, key)) == -1)
		return (-1);
	if (rc == 0) {
		errno = ENOENT;
		return (-1);
	}
	return (ix_del(ix, IX_OBJECT, key, SEG_KEY_LEN));
}

struct fill {
	uint8_t *entries;
	size_t n;
	size_t max;
};

static int
on_entry(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct fill *f = cookie;

	if (decode(key, klen, v, len, f->entries + f->n * SEG_ENTRY_LEN) == -1)
		return (-1);
	return (++f->n == f->max);
}

int
recent_fill(struct ix *ix, const uint8_t *after, uint8_t *entries, size_t max,
    size_t *n)
{
	struct fill f = { .entries = entries, .max = max };
	int rc;

	rc = ix_scan_after(ix, IX_OBJECT, "", 0, after,
	    after != NULL ? SEG_KEY_LEN : 0, on_entry, &f);
	*n = f.n;
	return (rc == -1 ? -1 : 0);
}
