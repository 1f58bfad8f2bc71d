/* worker-snapshot/upload.c against a store that is one array. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/frame.h"
#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "worker-snapshot/conn.h"
#include "worker-snapshot/dispatch.h"
#include "worker-snapshot/handlers.h"
#include "worker-snapshot/session.h"
#include "worker-snapshot/store_client.h"
#include "worker-snapshot/stream.h"

/* What was asked of the store and not answered. */
struct asked {
	store_fn *fn;
	void *cookie;
	uint32_t objects;
	size_t bytes;
};

static struct asked asked[64];
static size_t nasked;
static size_t most_bytes;
static size_t credited;
static int failed;              /* code */
static int answered;
static uint64_t told_objects;
static struct session *ses;
static struct stream *str;

void
__wrap_store_request(struct store_client *sc, struct store_msg *m, int fd,
    store_fn *fn, void *cookie)
{
	const uint8_t *map;
	size_t len;

	(void)sc;
	assert_int_equal(m->op, STORE_PUT);
	assert_int_equal(memfd_map(fd, LIMIT_PUT_BYTES, &map, &len), 0);
	memfd_unmap(map, len);
	close(fd);
	assert_true(len > 0);
	if (len > most_bytes)
		most_bytes = len;
	assert_true(m->u.put.objects > 0 &&
	    m->u.put.objects <= LIMIT_PUT_OBJECTS);
	assert_true(nasked < 64);
	asked[nasked++] = (struct asked){ fn, cookie, m->u.put.objects, len };
}

unsigned int
__wrap_store_pending(const struct store_client *sc, enum store_op op)
{
	(void)sc;
	(void)op;
	return ((unsigned int)nasked);
}

void
__wrap_store_cancel(struct store_client *sc, const void *cookie)
{
	(void)sc;
	(void)cookie;
}

struct frame_conn *
__wrap_conn_frames(struct conn *c)
{
	(void)c;
	return (NULL);
}

int
__wrap_frame_consumed(struct frame_conn *fc, uint32_t stream, size_t n)
{
	(void)fc;
	assert_int_equal(stream, str->id);
	credited += n;
	return (0);
}

void
__wrap_stream_failf(struct stream *st, enum err_code code, const char *fmt,
    ...)
{
	(void)fmt;
	failed = (int)code;
	st->over = 1;
}

void
__wrap_stream_fail(struct stream *st, const struct err *e)
{
	failed = e->code;
	st->over = 1;
}

void
__wrap_stream_count(struct stream *st, enum client_reply_kind kind,
    uint64_t objects, uint64_t bytes)
{
	(void)bytes;
	assert_int_equal(kind, CLIENT_UPLOADED);
	answered = 1;
	told_objects = objects;
	st->over = 1;
}

static int
setup(void **state)
{
	(void)state;
	nasked = most_bytes = credited = 0;
	failed = answered = 0;
	ses = calloc(1, sizeof(*ses));
	str = calloc(1, sizeof(*str));
	str->s = ses;
	str->id = 1;
	upload_open(str, NULL);
	return (0);
}

static int
teardown(void **state)
{
	(void)state;
	upload_done(str);
	free(str);
	free(ses);
	return (0);
}

/* Answer the oldest. */
static void
answer(uint8_t op)
{
	struct asked a = asked[0];
	struct store_msg m;
	int fd = -1;

	assert_true(nasked > 0);
	memmove(asked, asked + 1, --nasked * sizeof(asked[0]));
	memset(&m, 0, sizeof(m));
	m.op = op;
	m.u.ok.objects = a.objects;
	m.u.ok.bytes = a.bytes;
	if (op == STORE_ERROR)
		(void)err_set(&m.u.error, ERR_DAMAGED, "wrong id");
	a.fn(a.cookie, &m, &fd);
	if (!str->over)
		upload_kick(str);
}

static void
end(void)
{
	str->ended = 1;
	upload_end(str);
	upload_kick(str);
}

/* Records of one byte value each; bytes used. */
static size_t
records(uint8_t *out, size_t n, size_t size, int pack)
{
	uint8_t raw[OBJ_MAX];
	struct objrec rec;
	struct obj_ref ref;
	size_t i, len, at = 0;

	for (i = 0; i < n; i++) {
		memset(raw, (int)i, size);
		memset(&ref, 1, sizeof(ref));
		ref.kind = OBJ_CHUNK;
		if (pack) {
			assert_int_equal(objrec_pack(&ref, raw, size, out + at,
			    &len), 0);
		} else {
			memset(&rec, 0, sizeof(rec));
			rec.ref = ref;
			rec.raw_len = rec.len = (uint32_t)size;
			objrec_encode(&rec, out + at);
			memcpy(out + at + OBJREC_HEAD, raw, size);
			len = OBJREC_HEAD + size;
		}
		at += len;
	}
	return (at);
}

static void
test_small(void **state)
{
	uint8_t buf[4096];
	size_t n = records(buf, 20, 100, 0), i;

	(void)state;
	for (i = 0; i < n; i++)
		upload_take(str, buf + i, 1);
	upload_kick(str);
	/* nothing is put before there is enough, or the end */
	assert_int_equal(nasked, 0);
	end();
	assert_int_equal(nasked, 1);
	assert_int_equal(asked[0].objects, 20);
	assert_int_equal(credited, 0);
	assert_false(answered);
	answer(STORE_OK);
	assert_true(answered);
	assert_int_equal(told_objects, 20);
	assert_int_equal(credited, n);
}

static void
test_empty(void **state)
{
	(void)state;
	end();
	assert_true(answered);
	assert_int_equal(nasked, 0);
}

/* A client that has used up its credit gets some when the store answers. */
static void
test_credit(void **state)
{
	static uint8_t buf[FRAME_CREDIT + OBJREC_HEAD + OBJ_MAX];
	size_t n = records(buf, FRAME_CREDIT / 1000, 1000, 0), at;

	(void)state;
	for (at = 0; at + FRAME_SLICE <= FRAME_CREDIT; at += FRAME_SLICE)
		upload_take(str, buf + at, FRAME_SLICE);
	upload_kick(str);
	assert_in_range(nasked, 3, 4);
	assert_int_equal(credited, 0);
	answer(STORE_OK);
	assert_true(credited >= FRAME_CREDIT / 4);
	assert_true(n > at);
	while (nasked > 0)
		answer(STORE_OK);
	upload_take(str, buf + at, n - at);
	end();
	while (nasked > 0)
		answer(STORE_OK);
	assert_true(answered);
	assert_int_equal(credited, n);
	assert_int_equal(told_objects, FRAME_CREDIT / 1000);
}

/* Much that comes out of little waits where it is small. */
static void
test_bombs(void **state)
{
	static uint8_t buf[1 << 20];
	size_t n = records(buf, 1000, OBJ_MAX, 1);
	size_t total = 0;

	(void)state;
	assert_true(n < 200000);
	upload_take(str, buf, n);
	assert_int_equal(nasked, 8);
	assert_true(most_bytes <= LIMIT_PUT_BYTES);
	end();
	assert_int_equal(nasked, 8);
	while (nasked > 0) {
		total += asked[0].objects;
		answer(STORE_OK);
		assert_true(nasked <= 8);
	}
	assert_int_equal(total, 1000);
	assert_true(answered);
	assert_int_equal(credited, n);
}

/* The number of objects in a batch has a limit too. */
static void
test_many(void **state)
{
	static uint8_t buf[10000 * (OBJREC_HEAD + 1)];
	size_t n = records(buf, 10000, 1, 0);

	(void)state;
	upload_take(str, buf, n);
	end();
	while (nasked > 0)
		answer(STORE_OK);
	assert_true(answered);
	assert_int_equal(told_objects, 10000);
}

static void
test_malformed(void **state)
{
	uint8_t buf[4096];

	(void)state;
	memset(buf, 0xee, sizeof(buf));
	upload_take(str, buf, sizeof(buf));
	assert_int_equal(failed, ERR_INVALID);
	assert_int_equal(nasked, 0);
}

static void
test_cut(void **state)
{
	uint8_t buf[4096];
	size_t n = records(buf, 1, 1000, 0);

	(void)state;
	upload_take(str, buf, n - 1);
	end();
	assert_int_equal(failed, ERR_INVALID);
	assert_int_equal(nasked, 0);
}

static void
test_refused(void **state)
{
	uint8_t buf[4096];
	size_t n = records(buf, 1, 1000, 0);

	(void)state;
	upload_take(str, buf, n);
	end();
	answer(STORE_ERROR);
	assert_int_equal(failed, ERR_DAMAGED);
	assert_false(answered);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small),
		TEST(test_empty),
		TEST(test_credit),
		TEST(test_bombs),
		TEST(test_many),
		TEST(test_malformed),
		TEST(test_cut),
		TEST(test_refused),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
