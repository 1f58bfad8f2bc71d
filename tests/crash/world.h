#ifndef ERRAND_TESTS_WORLD_H
#define ERRAND_TESTS_WORLD_H

/*
 * What ought to be in the store: tenants with jobs, of which everything can be
 * made again from the seed, and what was acknowledged of each.
 */
#include "rig.h"
#include "lib/content.h"

#define TENANTS         3
#define TENANT_ID(t)    (1001 + (uint32_t)(t))
#define JOBS_MAX        20000
#define CONTENT_MAX     (160 * 1024)
#define RECORD_MAX      600
#define POOL            40      /* contents that many jobs have in common */

enum known { NOT_THERE, PUBLISHED, SETTLED, EXPIRED };

/*
 * Invariants:
 *  1. state is what was acknowledged, or was seen after a crash: no less may
 *     ever be there.
 *  2. asked_* are questions without an answer: what they asked for may be
 *     there, or not.
 */
struct job {
	uint8_t state;
	uint8_t record;         /* version of the published record */
	uint8_t asked_publish;
	uint8_t asked_record;   /* another version, 0: none */
	uint8_t asked_settle;
	uint8_t asked_expire;   /* it may be forgotten */
	uint8_t put;            /* objects acknowledged since the start */
	uint8_t dropped;        /* never came to be; never asked for again */
	uint64_t sequence;      /* of the receipt, known or asked for */
};

struct tenant {
	struct job *jobs;
	uint32_t n;             /* numbers in use: 0 to n - 1 */
	uint64_t head;          /* acknowledged end of the chain */
	uint64_t asked_head;    /* with what was asked for */
	uint32_t *settled;      /* which job each sequence is of */
	uint32_t settle_next;   /* first job that may have to be settled */
	size_t unsettled;       /* published, not settled nor asked to be */
};

struct world {
	uint64_t seed;
	struct tenant tenants[TENANTS];
};

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ULL + b;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebULL;
	return (x ^ x >> 32);
}

static inline void
world_init(struct world *w, uint64_t seed)
{
	int t;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	for (t = 0; t < TENANTS; t++) {
		w->tenants[t].jobs = calloc(JOBS_MAX, sizeof(struct job));
		w->tenants[t].settled = calloc(JOBS_MAX + 1,
		    sizeof(uint32_t));
		assert_non_null(w->tenants[t].jobs);
		assert_non_null(w->tenants[t].settled);
	}
}

static inline void
world_done(struct world *w)
{
	int t;

	for (t = 0; t < TENANTS; t++) {
		free(w->tenants[t].jobs);
		free(w->tenants[t].settled);
	}
}

/* A job's id: no two alike, of any tenant. */
static inline void
world_job_id(int t, uint32_t n, char *job)
{
	uint64_t x = (uint64_t)n * TENANTS + (uint64_t)t;
	size_t i;

	for (i = 0; i < JOB_ID_LEN; i++, x /= 26)
		job[i] = (char)('a' + x % 26);
	job[JOB_ID_LEN] = '\0';
}

/* Mostly small, some of a chunk, a few of several. */
static inline size_t
content_len(uint64_t h)
{
	switch (h % 16) {
	case 0:
		return (20000 + (h >> 8) % (CONTENT_MAX - 20000));
	case 1: case 2: case 3:
		return (2000 + (h >> 8) % 20000);
	default:
		return (1 + (h >> 8) % 2000);
	}
}

/* Emit the content ${seed} stands for; every other one can be compressed. */
static inline struct obj_ref
content_add(struct drv_objs *o, uint64_t seed, uint64_t *size)
{
	static uint8_t buf[CONTENT_MAX];
	struct obj_ref ref;
	size_t len = content_len(seed), i;

	drv_bytes(seed, buf, len);
	if (seed % 2 == 0) {
		for (i = 40; i < len; i++)
			buf[i] = buf[i % 40];
	}
	assert_int_equal(content_from_mem(buf, len, drv_sink, o, &ref), 0);
	*size = len;
	return (ref);
}

static inline void
entry_add(struct tree_builder *tb, const char *name, uint8_t kind,
    const struct obj_ref *ref, uint64_t size)
{
	struct tree_entry e = { .kind = kind, .mode = 0755, .ref = *ref };

	e.name = (const uint8_t *)name;
	e.name_len = (uint16_t)strlen(name);
	e.size = size;
	assert_int_equal(tree_builder_add(tb, &e), 0);
}

/* A directory of ${n} files, and another one in it. */
static inline struct obj_ref
dir_add(struct drv_objs *o, uint64_t seed, const char *prefix, unsigned int n,
    const struct obj_ref *below, uint64_t pool)
{
	struct tree_builder *tb = tree_builder_new();
	struct obj_ref ref;
	uint64_t h, size;
	char name[32];
	unsigned int i;

	assert_non_null(tb);
	if (below != NULL)
		entry_add(tb, "dir", TREE_DIR, below, 0);
	for (i = 0; i < n; i++) {
		h = mix(seed, i);
		if (h % 4 == 0)
			h = mix(pool, (h >> 8) % POOL);
		ref = content_add(o, h, &size);
		(void)snprintf(name, sizeof(name), "%s%02u", prefix, i);
		entry_add(tb, name, TREE_FILE, &ref, size);
	}
	assert_int_equal(tree_builder_finish(tb, drv_sink, o, &ref), 0);
	tree_builder_free(tb);
	return (ref);
}

/*
 * What was put for a job (${after}: what came out of it): a tree, and a chunk
 * beside it that is its spec, or the list of changes.
 */
static inline void
world_objects(const struct world *w, int t, uint32_t n, int after,
    struct drv_objs *o, struct obj_ref *root, struct obj_ref *second)
{
	const uint64_t pool = mix(w->seed, 77 + (uint64_t)t);
	const uint64_t h = mix(mix(w->seed, (uint64_t)t), n);
	struct obj_ref below;

	o->len = o->n = 0;
	below = dir_add(o, mix(h, 1), "in", 1 + h % 3, NULL, pool);
	*root = dir_add(o, mix(h, 2), after ? "y" : "x", 1 + (h >> 8) % 4,
	    &below, pool);
	*second = drv_chunk(o, mix(h, after ? 4 : 3), 50);
}

/* The record: which job, what it says of it, and some ballast. */
static inline size_t
world_record(int t, uint32_t n, uint8_t version, uint64_t sequence,
    uint8_t *buf)
{
	char job[JOB_ID_LEN + 1];
	size_t len = 100 + mix(n, version) % (RECORD_MAX - 100);
	int head;

	world_job_id(t, n, job);
	head = snprintf((char *)buf, RECORD_MAX, "%s %s %u %llu ", job,
	    sequence != 0 ? "settled" : "published", version,
	    (unsigned long long)sequence);
	drv_bytes(mix(n, version + sequence), buf + head, len - (size_t)head);
	return (len);
}

static inline size_t
world_receipt(int t, uint32_t n, uint64_t sequence, uint8_t *buf)
{
	size_t len = world_record(t, n, 0, sequence, buf);

	memcpy(buf, "receipt", 7);
	return (len);
}

#endif /* !ERRAND_TESTS_WORLD_H */
