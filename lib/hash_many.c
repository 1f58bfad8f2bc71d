/*
 * BLAKE2b of many messages side by side.  One message alone is left to
 * libsodium, and so is everything on processors without wide vectors.
 */
#include <string.h>

#include <sodium.h>

#include "hash_many.h"
#include "le.h"

#define BLOCK           128
#define LANES_MAX       8

/*
 * A message that is longer than this part of all is faster alone: the other
 * lanes would be empty for most of the time that it takes.
 */
#define ALONE_PART      3

/* The state of all lanes, as the vectors need it. */
struct lanes {
	uint64_t h[8][LANES_MAX];
	const uint8_t *block[LANES_MAX];
	uint64_t count[LANES_MAX];      /* bytes, with this block */
	uint64_t last[LANES_MAX];       /* all ones for the last block */
};

/* Where a lane is in its message. */
struct lane {
	const struct hash_job *job;     /* NULL: it has none */
	size_t done;                    /* bytes of the message */
	int key;                        /* the key's block comes first */
	uint8_t tail[BLOCK];            /* a block not yet full, or the key */
};

typedef void compress_fn(struct lanes *);

static const uint8_t nothing[BLOCK];

#ifdef __x86_64__

static const uint64_t iv[8] = {
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
	0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
	0x1f83d9abfb41bd6b, 0x5be0cd19137e2179
};

static const uint8_t sigma[12][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
};

#define LANES           4
#define COMPRESS        compress_4
#define WORDS           words_4
#define TARGET          "avx2"
#include "hash_lanes.h"
#undef LANES
#undef COMPRESS
#undef TARGET

#define LANES           8
#define COMPRESS        compress_8
#define WORDS           words_8
#define TARGET          "avx512f,avx512dq"
#include "hash_lanes.h"
#undef LANES
#undef COMPRESS
#undef TARGET

unsigned int
hash_lanes(void)
{
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512dq"))
		return (8);
	return (__builtin_cpu_supports("avx2") ? 4 : 1);
}

#else

static const uint64_t iv[8];

#define compress_4      NULL
#define compress_8      NULL

unsigned int
hash_lanes(void)
{
	return (1);
}

#endif /* __x86_64__ */

static void
alone(const struct hash_job *j)
{
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] = { 0 };

	memcpy(person, j->personal, strnlen(j->personal, sizeof(person)));
	(void)crypto_generichash_blake2b_salt_personal(j->out, j->out_len,
	    j->buf, j->len, j->key, j->key != NULL ? HASH_KEY_LEN : 0, NULL,
	    person);
}

/* Begin a message: the parameter block of RFC 7693, and its key. */
static void
begin(struct lanes *s, size_t k, struct lane *l, const struct hash_job *j)
{
	uint8_t person[16] = { 0 };
	size_t i;

	memcpy(person, j->personal, strnlen(j->personal, sizeof(person)));
	for (i = 0; i < 8; i++)
		s->h[i][k] = iv[i];
	s->h[0][k] ^= 0x01010000 ^ j->out_len ^
	    (j->key != NULL ? HASH_KEY_LEN << 8 : 0);
	s->h[6][k] ^= le_get64(person);
	s->h[7][k] ^= le_get64(person + 8);
	s->count[k] = 0;
	l->job = j;
	l->done = 0;
	l->key = j->key != NULL;
}

/* The next block of a lane. */
static void
next(struct lanes *s, size_t k, struct lane *l)
{
	const struct hash_job *j = l->job;
	size_t left = j->len - l->done, n = left < BLOCK ? left : BLOCK;

	if (l->key) {
		memset(l->tail, 0, BLOCK);
		memcpy(l->tail, j->key, HASH_KEY_LEN);
		s->block[k] = l->tail;
		s->count[k] += BLOCK;
		s->last[k] = left == 0 ? UINT64_MAX : 0;
		l->key = 0;
		return;
	}
	s->block[k] = (const uint8_t *)j->buf + l->done;
	if (n < BLOCK) {
		memset(l->tail + n, 0, BLOCK - n);
		if (n > 0)
			memcpy(l->tail, s->block[k], n);
		s->block[k] = l->tail;
	}
	s->count[k] += n;
	s->last[k] = left <= BLOCK ? UINT64_MAX : 0;
	l->done += n;
}

static void
finish(const struct lanes *s, size_t k, struct lane *l)
{
	uint8_t out[64];
	size_t i;

	for (i = 0; i < 8; i++)
		le_put64(out + 8 * i, s->h[i][k]);
	memcpy(l->job->out, out, l->job->out_len);
	l->job = NULL;
}

/* All lanes together, until nothing is left for any. */
static void
together(const struct hash_job *const *jobs, size_t n, size_t lanes,
    compress_fn *compress)
{
	struct lanes s = { 0 };
	struct lane l[LANES_MAX] = { 0 };
	size_t k, at = 0, busy;

	for (;;) {
		for (k = busy = 0; k < lanes; k++) {
			if (l[k].job == NULL && at < n)
				begin(&s, k, &l[k], jobs[at++]);
			s.block[k] = nothing;
			s.last[k] = 0;
			if (l[k].job == NULL)
				continue;
			next(&s, k, &l[k]);
			busy++;
		}
		if (busy == 0)
			return;
		compress(&s);
		for (k = 0; k < lanes; k++) {
			if (s.last[k] != 0)
				finish(&s, k, &l[k]);
		}
	}
}

/* Longest first, so that the lanes end at about the same time.  Total bytes. */
static size_t
sort(const struct hash_job *jobs, size_t n, const struct hash_job **out)
{
	size_t i, k, total = 0;

	for (i = 0; i < n; i++) {
		for (k = i; k > 0 && out[k - 1]->len < jobs[i].len; k--)
			out[k] = out[k - 1];
		out[k] = &jobs[i];
		total += jobs[i].len + BLOCK;
	}
	return (total);
}

void
hash_many_by(const struct hash_job *jobs, size_t n, unsigned int lanes)
{
	const struct hash_job *sorted[HASH_MANY_MAX];
	size_t i = 0, total = sort(jobs, n, sorted), len;

	for (; i < n; i++, total -= len) {
		len = sorted[i]->len + BLOCK;
		if (lanes > 1 && len <= total / ALONE_PART)
			break;
		alone(sorted[i]);
	}
	if (i < n)
		together(sorted + i, n - i, lanes == 8 ? 8 : 4,
		    lanes == 8 ? compress_8 : compress_4);
}

void
hash_many(const struct hash_job *jobs, size_t n)
{
	hash_many_by(jobs, n, hash_lanes());
}
