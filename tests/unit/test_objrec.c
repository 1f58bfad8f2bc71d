#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "le.h"
#include "objrec.h"
#include "objset.h"

#define HELLO   "hello, world\n"

static const uint8_t hello_head[OBJREC_HEAD] = {
	1, 0, 0, 0, 13, 0, 0, 0, 13, 0, 0, 0,
	0x96, 0x19, 0xb4, 0xe7, 0x33, 0x53, 0x66, 0x91, 0x98, 0x78, 0xb4,
	0x3a, 0x1a, 0xb9, 0x1d, 0xfb, 0x5b, 0x7e, 0x8e, 0xdd, 0x8b, 0x80,
	0x4b, 0xf5, 0xb0, 0x0d, 0xa3, 0x2a, 0xc1, 0x1d, 0x66, 0x75
};

/* Pack the bytes as a chunk at ${out}; return the length of the record. */
static size_t
pack(const void *buf, size_t len, uint8_t *out)
{
	struct obj_ref ref;
	size_t n = 0;

	assert_int_equal(obj_ref_of(OBJ_CHUNK, buf, len, &ref), 0);
	assert_int_equal(objrec_pack(&ref, buf, len, out, &n), 0);
	assert_in_range(n, OBJREC_HEAD + 1, OBJREC_HEAD + len);
	return (n);
}

static void
fill_text(uint8_t *p, size_t len)
{
	static const char text[] = "the quick brown fox jumps over it; ";
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)text[(i + i / 300) % (sizeof(text) - 1)];
}

static void
test_vector(void **state)
{
	uint8_t out[OBJREC_HEAD + OBJ_MAX];

	(void)state;
	assert_int_equal(pack(HELLO, 13, out), OBJREC_HEAD + 13);
	assert_memory_equal(out, hello_head, OBJREC_HEAD);
	assert_memory_equal(out + OBJREC_HEAD, HELLO, 13);
}

static int
decodes(const uint8_t *head)
{
	struct objrec rec;
	uint8_t again[OBJREC_HEAD];

	errno = 0;
	if (objrec_decode(head, &rec) == -1) {
		assert_int_equal(errno, EPROTO);
		return (0);
	}
	objrec_encode(&rec, again);
	assert_memory_equal(again, head, OBJREC_HEAD);
	return (1);
}

/* Whether a head of these fields is accepted. */
static int
accepts(uint8_t kind, uint8_t codec, uint32_t raw, uint32_t len)
{
	uint8_t head[OBJREC_HEAD];

	memcpy(head, hello_head, sizeof(head));
	head[0] = kind;
	head[1] = codec;
	le_put32(head + 4, raw);
	le_put32(head + 8, len);
	return (decodes(head));
}

static void
test_head(void **state)
{
	uint8_t head[OBJREC_HEAD];

	(void)state;
	assert_false(accepts(0, 0, 5, 5));
	assert_true(accepts(1, 0, 5, 5));
	assert_true(accepts(3, 0, 5, 5));
	assert_false(accepts(4, 0, 5, 5));
	assert_false(accepts(1, 0, 5, 4));
	assert_false(accepts(1, 0, 5, 6));
	assert_false(accepts(1, 0, 0, 0));
	assert_true(accepts(1, 0, OBJ_MAX, OBJ_MAX));
	assert_false(accepts(1, 0, OBJ_MAX + 1, OBJ_MAX + 1));
	assert_true(accepts(1, 1, OBJ_MAX, 1));
	assert_true(accepts(1, 1, 5, 5));
	assert_false(accepts(1, 1, 5, 6));
	assert_false(accepts(1, 1, 5, 0));
	assert_false(accepts(1, 1, OBJ_MAX + 1, 5));
	assert_false(accepts(1, 2, 5, 5));
	assert_false(accepts(1, 1, UINT32_MAX, UINT32_MAX));
	memcpy(head, hello_head, sizeof(head));
	head[2] = 1;
	assert_false(decodes(head));
	head[2] = 0;
	head[3] = 1;
	assert_false(decodes(head));
	memset(head, 0xff, sizeof(head));
	assert_false(decodes(head));
}

static void
check_pack(const uint8_t *buf, size_t len, int codec)
{
	static uint8_t out[OBJREC_HEAD + OBJ_MAX], raw[OBJ_MAX];
	struct objrec rec;
	size_t n = pack(buf, len, out);

	assert_int_equal(objrec_decode(out, &rec), 0);
	assert_int_equal(n, OBJREC_HEAD + rec.len);
	assert_int_equal(rec.raw_len, len);
	assert_int_equal(rec.codec, codec);
	if (codec == OBJREC_ZSTD)
		assert_true(rec.len <= len - len / 16);
	memset(raw, 0xee, sizeof(raw));
	assert_int_equal(objrec_unpack(&rec, out + OBJREC_HEAD, raw), 0);
	assert_memory_equal(raw, buf, len);
	/* Not exactly as long as announced. */
	if (codec == OBJREC_ZSTD) {
		errno = 0;
		rec.raw_len++;
		assert_int_equal(objrec_unpack(&rec, out + OBJREC_HEAD,
		    raw), -1);
		assert_int_equal(errno, EPROTO);
		rec.raw_len -= 2;
		assert_int_equal(objrec_unpack(&rec, out + OBJREC_HEAD,
		    raw), -1);
		rec.raw_len++;
		rec.len--;
		assert_int_equal(objrec_unpack(&rec, out + OBJREC_HEAD,
		    raw), -1);
	}
}

static void
test_pack(void **state)
{
	uint8_t *buf = malloc(OBJ_MAX);
	uint64_t seed = 9;

	(void)state;
	fill_text(buf, OBJ_MAX);
	check_pack(buf, 1, OBJREC_RAW);
	check_pack(buf, 63, OBJREC_RAW);
	check_pack(buf, 1000, OBJREC_ZSTD);
	check_pack(buf, 8192, OBJREC_ZSTD);
	check_pack(buf, 8193, OBJREC_ZSTD);
	check_pack(buf, OBJ_MAX - 1, OBJREC_ZSTD);
	/* A beginning that does not compress decides for all of it. */
	rnd_fill(&seed, buf, 4096);
	check_pack(buf, 8192, OBJREC_ZSTD);
	check_pack(buf, OBJ_MAX, OBJREC_RAW);
	rnd_fill(&seed, buf, OBJ_MAX);
	check_pack(buf, 100, OBJREC_RAW);
	check_pack(buf, OBJ_MAX, OBJREC_RAW);
	fill_text(buf, 4096);
	check_pack(buf, OBJ_MAX, OBJREC_RAW);
	free(buf);
}

static void
test_pack_refuses(void **state)
{
	static uint8_t buf[OBJ_MAX + 1], out[OBJREC_HEAD + OBJ_MAX];
	struct obj_ref ref = { .kind = OBJ_CHUNK };
	struct objrec rec = { .raw_len = 5, .len = 6 };
	size_t n;

	(void)state;
	assert_int_equal(objrec_pack(&ref, buf, 0, out, &n), -1);
	errno = 0;
	assert_int_equal(objrec_pack(&ref, buf, OBJ_MAX + 1, out, &n), -1);
	assert_int_equal(errno, EINVAL);
	ref.kind = OBJ_NONE;
	assert_int_equal(objrec_pack(&ref, buf, 1, out, &n), -1);
	/* Lengths that no decoder lets through. */
	assert_int_equal(objrec_unpack(&rec, buf, out), -1);
	rec.len = rec.raw_len = OBJ_MAX + 1;
	assert_int_equal(objrec_unpack(&rec, buf, out), -1);
}

struct got {
	uint8_t *want;          /* the raw bytes of all, one after another */
	size_t len;
	size_t n;
	size_t stop;
};

static int
take(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	struct got *g = cookie;
	struct obj_ref ref;

	assert_int_equal(obj_ref_of(rec->ref.kind, raw, rec->raw_len,
	    &ref), 0);
	assert_true(obj_ref_equal(&ref, &rec->ref));
	assert_memory_equal(raw, g->want + g->len, rec->raw_len);
	g->len += rec->raw_len;
	return (++g->n == g->stop);
}

/* A stream of records of all sorts; returns its length. */
static size_t
stream(uint8_t *out, uint8_t *raw, size_t *rawlen)
{
	static const size_t size[] = { 1, 13, 1000, 9000, OBJ_MAX, 2, 30000,
	    OBJ_MAX, 44 };
	uint64_t seed = 21;
	size_t i, n = 0, r = 0;

	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		if (i % 2 == 0)
			fill_text(raw + r, size[i]);
		else
			rnd_fill(&seed, raw + r, size[i]);
		n += pack(raw + r, size[i], out + n);
		r += size[i];
	}
	*rawlen = r;
	return (n);
}

static void
test_reader(void **state)
{
	uint8_t *out = malloc(9 * (OBJREC_HEAD + OBJ_MAX));
	struct got g = { .want = malloc(9 * OBJ_MAX) };
	size_t len, rawlen, step, off, n;
	struct objrec_reader *r;
	uint64_t seed = 4;

	(void)state;
	len = stream(out, g.want, &rawlen);
	/* In one piece, byte by byte, and in pieces of all lengths. */
	for (step = 0; step < 40; step++) {
		assert_non_null(r = objrec_reader_new(take, &g));
		g.n = g.len = 0;
		for (off = 0; off < len; off += n) {
			n = step == 0 ? len : step == 1 ? 1 :
			    rnd(&seed) % (step * step * 20) + 1;
			n = n < len - off ? n : len - off;
			assert_int_equal(objrec_reader_feed(r, out + off,
			    n), 0);
			if (off + n < len && n == 1 && off < OBJREC_HEAD)
				assert_false(objrec_reader_clean(r));
		}
		assert_true(objrec_reader_clean(r));
		assert_int_equal(g.n, 9);
		assert_int_equal(g.len, rawlen);
		objrec_reader_free(r);
	}
	objrec_reader_free(NULL);
	free(g.want);
	free(out);
}

static void
test_reader_cut_short(void **state)
{
	uint8_t buf[OBJREC_HEAD + 13];
	struct got g = { .want = (uint8_t *)(uintptr_t)HELLO };
	struct objrec_reader *r;
	size_t n;

	(void)state;
	memcpy(buf, hello_head, OBJREC_HEAD);
	memcpy(buf + OBJREC_HEAD, HELLO, 13);
	for (n = 0; n < sizeof(buf); n++) {
		r = objrec_reader_new(take, &g);
		assert_int_equal(objrec_reader_feed(r, buf, n), 0);
		assert_int_equal(objrec_reader_clean(r), n == 0);
		objrec_reader_free(r);
	}
	assert_int_equal(g.n, 0);
}

static void
test_reader_broken(void **state)
{
	uint8_t out[OBJREC_HEAD + OBJ_MAX], *raw = malloc(OBJ_MAX);
	struct got g = { .want = raw };
	struct objrec_reader *r = objrec_reader_new(take, &g);
	size_t n;

	(void)state;
	fill_text(raw, OBJ_MAX);
	n = pack(raw, OBJ_MAX, out);
	/* Compressed bytes that are none: an error, for good. */
	memset(out + OBJREC_HEAD, 0xff, 8);
	errno = 0;
	assert_int_equal(objrec_reader_feed(r, out, n), -1);
	assert_int_equal(errno, EPROTO);
	assert_false(objrec_reader_clean(r));
	pack(HELLO, 13, out);
	assert_int_equal(objrec_reader_feed(r, out, OBJREC_HEAD + 13), -1);
	objrec_reader_free(r);
	/* The function says stop. */
	g.stop = 1;
	memcpy(raw, HELLO, 13);
	r = objrec_reader_new(take, &g);
	assert_int_equal(objrec_reader_feed(r, out, OBJREC_HEAD + 13), -1);
	assert_int_equal(g.n, 1);
	objrec_reader_free(r);
	/* A head that is none, when its last byte comes. */
	r = objrec_reader_new(take, &g);
	out[1] = 7;
	assert_int_equal(objrec_reader_feed(r, out, OBJREC_HEAD - 1), 0);
	errno = 0;
	assert_int_equal(objrec_reader_feed(r, out + OBJREC_HEAD - 1, 1), -1);
	assert_int_equal(errno, EPROTO);
	objrec_reader_free(r);
	free(raw);
}

static int
ignore(void *cookie, const struct objrec *rec, const uint8_t *raw)
{
	uint8_t *sum = cookie;

	*sum ^= raw[rec->raw_len - 1];
	return (0);
}

/* Any damage to a compressed record ends in an error or in whole objects. */
static void
test_reader_damage(void **state)
{
	uint8_t raw[600], out[OBJREC_HEAD + 600], sum = 0;
	struct objrec_reader *r;
	size_t i, n;
	unsigned int bit;

	(void)state;
	fill_text(raw, sizeof(raw));
	n = pack(raw, sizeof(raw), out);
	for (i = 0; i < n; i++) {
		for (bit = 0; bit < 8; bit++) {
			out[i] ^= (uint8_t)(1 << bit);
			r = objrec_reader_new(ignore, &sum);
			(void)objrec_reader_feed(r, out, n);
			objrec_reader_free(r);
			out[i] ^= (uint8_t)(1 << bit);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_pack_refuses),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_reader_cut_short),
		cmocka_unit_test(test_reader_broken),
		cmocka_unit_test(test_reader_damage),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
