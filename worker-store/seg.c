/*
 * The format of index segments: entries, blocks, filters, checksums.  Bytes
 * only; where they are kept is index.c's.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "index_key.h"
#include "lib/le.h"
#include "seg.h"

#define LANES           4
#define MULTIPLY        0x9e3779b97f4a7c15ULL
#define ROTATE          29
#define CODEC_SHIFT     4
#define HALF            0xf
#define HASHES          6
#define HASH_BITS       9
#define FILTER_BITS     11              /* for each key, about */
#define TAIL            4               /* behind the filter of a head */

_Static_assert(SEG_BLOCK_HEAD + SEG_DATA_ENTRIES * SEG_ENTRY_LEN <=
    SEG_BLOCK_MAX, "a data block fits a page");
_Static_assert(SEG_BLOCK_HEAD + SEG_GROUP_BLOCKS * SEG_KEY_LEN +
    SEG_LINES_MAX * SEG_LINE_LEN + TAIL <= SEG_BLOCK_MAX,
    "a head fits a page");
_Static_assert(SEG_GROUP_BLOCKS < SEG_GROUP_STEP, "the head has a number");
_Static_assert(OBJ_MAX <= UINT16_MAX, "lengths of objects fit");

static inline uint64_t
mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * MULTIPLY;
	return (h << ROTATE | h >> (64 - ROTATE));
}

/*
 * Every step can be undone for a given word, so one word that changed always
 * changes the sum.  Several times as fast as a hash made against forgers.
 */
static uint64_t
sum(const uint8_t *p, size_t len)
{
	uint64_t h[LANES] = { len, 1, 2, 3 };
	uint8_t last[8 * LANES] = { 0 };
	size_t i;

	for (; len >= sizeof(last); p += sizeof(last), len -= sizeof(last)) {
		for (i = 0; i < LANES; i++)
			h[i] = mix(h[i], le_get64(p + 8 * i));
	}
	memcpy(last, p, len);
	for (i = 0; i < LANES; i++)
		h[i] = mix(h[i], le_get64(last + 8 * i));
	for (i = 1; i < LANES; i++)
		h[0] = mix(h[0], h[i]);
	return (mix(h[0], h[0] >> 32));
}

void
seg_key(uint32_t tenant, const uint8_t *id, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, id, OBJ_ID_LEN);
}

void
seg_block_key(uint64_t run, uint32_t number, uint8_t *key)
{
	be_put64(key, run);
	be_put32(key + 8, number);
}

int
seg_entry_encode(const struct ix_object *o, uint8_t *p)
{
	if (o->loc.len > UINT16_MAX || o->loc.raw_len > UINT16_MAX ||
	    o->ref.kind > HALF || o->loc.codec > HALF) {
		errno = EOVERFLOW;
		return (-1);
	}
	seg_key(o->tenant, o->ref.id, p);
	p += SEG_KEY_LEN;
	le_put32(p, o->loc.pack);
	le_put32(p + 4, o->loc.off);
	le_put16(p + 8, (uint16_t)o->loc.len);
	le_put16(p + 10, (uint16_t)o->loc.raw_len);
	p[12] = (uint8_t)(o->ref.kind | o->loc.codec << CODEC_SHIFT);
	p[13] = o->flags;
	le_put32(p + 14, o->epoch);
	le_put32(p + 18, o->stamp);
	return (0);
}

void
seg_entry_decode(const uint8_t *p, struct ix_object *o)
{
	o->tenant = be_get32(p);
	memcpy(o->ref.id, p + 4, OBJ_ID_LEN);
	p += SEG_KEY_LEN;
	o->loc.pack = le_get32(p);
	o->loc.off = le_get32(p + 4);
	o->loc.len = le_get16(p + 8);
	o->loc.raw_len = le_get16(p + 10);
	o->ref.kind = p[12] & HALF;
	o->loc.codec = p[12] >> CODEC_SHIFT;
	o->flags = p[13];
	o->epoch = le_get32(p + 14);
	o->stamp = le_get32(p + 18);
}

int
seg_entry_gone(const uint8_t *p)
{
	return ((p[SEG_KEY_LEN + 13] & SEG_GONE) != 0);
}

void
seg_block_close(uint64_t run, uint32_t number, uint8_t *out, size_t len)
{
	le_put64(out + 8, run);
	le_put32(out + 16, number);
	le_put64(out, sum(out + 8, len - 8));
}

size_t
seg_data_encode(uint64_t run, uint32_t number, const uint8_t *entries,
    size_t n, uint8_t *out)
{
	size_t len = SEG_BLOCK_HEAD + n * SEG_ENTRY_LEN;

	memcpy(out + SEG_BLOCK_HEAD, entries, n * SEG_ENTRY_LEN);
	seg_block_close(run, number, out, len);
	return (len);
}

/* Where a key's bits are. */
static size_t
line_of(const uint8_t *key, size_t lines)
{
	uint32_t x = le_get32(key + 12) ^ be_get32(key) * 2654435761U;

	return ((size_t)((uint64_t)x * lines >> 32));
}

static void
filter_add(uint8_t *filter, size_t lines, const uint8_t *key)
{
	uint8_t *line = filter + line_of(key, lines) * SEG_LINE_LEN;
	uint64_t h = le_get64(key + 20);
	size_t i;

	for (i = 0; i < HASHES; i++, h >>= HASH_BITS)
		line[h % 512 / 8] |= (uint8_t)(1U << (h % 8));
}

const uint8_t *
seg_filter_line(const struct seg_head *head, const uint8_t *key)
{
	return (head->filter + line_of(key, head->lines) * SEG_LINE_LEN);
}

int
seg_filter_has(const struct seg_head *head, const uint8_t *key)
{
	const uint8_t *line = seg_filter_line(head, key);
	uint64_t h = le_get64(key + 20);
	size_t i;

	for (i = 0; i < HASHES; i++, h >>= HASH_BITS) {
		if ((line[h % 512 / 8] & 1U << (h % 8)) == 0)
			return (0);
	}
	return (1);
}

size_t
seg_head_encode(uint64_t run, uint32_t number, const uint8_t *entries,
    size_t n, uint8_t *out)
{
	size_t blocks = (n + SEG_DATA_ENTRIES - 1) / SEG_DATA_ENTRIES;
	size_t lines = n * FILTER_BITS / (8 * SEG_LINE_LEN) + 1, i;
	uint8_t *p = out + SEG_BLOCK_HEAD;

	if (lines > SEG_LINES_MAX)
		lines = SEG_LINES_MAX;
	for (i = 0; i < blocks; i++, p += SEG_KEY_LEN)
		memcpy(p, entries + i * SEG_DATA_ENTRIES * SEG_ENTRY_LEN,
		    SEG_KEY_LEN);
	memset(p, 0, lines * SEG_LINE_LEN);
	for (i = 0; i < n; i++)
		filter_add(p, lines, entries + i * SEG_ENTRY_LEN);
	p += lines * SEG_LINE_LEN;
	le_put16(p, (uint16_t)blocks);
	le_put16(p + 2, (uint16_t)lines);
	p += TAIL;
	seg_block_close(run, number, out, (size_t)(p - out));
	return ((size_t)(p - out));
}

static int
damaged(void)
{
	errno = EUCLEAN;
	return (-1);
}

/* What all blocks have in common. */
static int
block_check(uint64_t run, uint32_t number, const uint8_t *buf, size_t len)
{
	if (len <= SEG_BLOCK_HEAD || len > SEG_BLOCK_MAX ||
	    le_get64(buf + 8) != run || le_get32(buf + 16) != number ||
	    le_get64(buf) != sum(buf + 8, len - 8))
		return (damaged());
	return (0);
}

int
seg_data_check(uint64_t run, uint32_t number, const uint8_t *buf, size_t len,
    size_t *n)
{
	if (block_check(run, number, buf, len) == -1)
		return (-1);
	len -= SEG_BLOCK_HEAD;
	*n = len / SEG_ENTRY_LEN;
	if (len % SEG_ENTRY_LEN != 0 || *n > SEG_DATA_ENTRIES)
		return (damaged());
	return (0);
}

struct seg_head
seg_head_at(const uint8_t *buf, uint16_t blocks, uint16_t lines)
{
	struct seg_head head = {
		.blocks = blocks,
		.lines = lines,
		.keys = buf + SEG_BLOCK_HEAD,
		.filter = buf + SEG_BLOCK_HEAD + (size_t)blocks * SEG_KEY_LEN
	};

	return (head);
}

int
seg_head_check(uint64_t run, uint32_t number, const uint8_t *buf, size_t len,
    struct seg_head *head)
{
	if (block_check(run, number, buf, len) == -1)
		return (-1);
	if (len < SEG_BLOCK_HEAD + TAIL)
		return (damaged());
	*head = seg_head_at(buf, le_get16(buf + len - TAIL),
	    le_get16(buf + len - TAIL + 2));
	if (head->blocks == 0 || head->blocks > SEG_GROUP_BLOCKS ||
	    head->lines == 0 || head->lines > SEG_LINES_MAX ||
	    len != SEG_BLOCK_HEAD + (size_t)head->blocks * SEG_KEY_LEN +
	    (size_t)head->lines * SEG_LINE_LEN + TAIL)
		return (damaged());
	return (0);
}

/* How many of ${n} keys, ${step} bytes apart, are below the key. */
static size_t
below(const uint8_t *p, size_t n, size_t step, const uint8_t *key)
{
	size_t lo = 0, mid;

	while (lo < n) {
		mid = lo + (n - lo) / 2;
		if (memcmp(p + mid * step, key, SEG_KEY_LEN) < 0)
			lo = mid + 1;
		else
			n = mid;
	}
	return (lo);
}

int
seg_head_find(const struct seg_head *head, const uint8_t *key)
{
	size_t n = below(head->keys, head->blocks, SEG_KEY_LEN, key);

	if (n < head->blocks &&
	    memcmp(head->keys + n * SEG_KEY_LEN, key, SEG_KEY_LEN) == 0)
		return ((int)n);
	return ((int)n - 1);
}

size_t
seg_entries_find(const uint8_t *entries, size_t n, const uint8_t *key)
{
	return (below(entries, n, SEG_ENTRY_LEN, key));
}
