#ifndef ERRAND_TESTS_BENCH_H
#define ERRAND_TESTS_BENCH_H

/*
 * Samples of a benchmark: every raw one is kept, medians and ranges are
 * printed, and all of it can be written as JSON.
 */

#include <sys/utsname.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

struct bench {
	json_t *samples;        /* name -> array */
	json_t *ratios;         /* name -> value and target */
	json_t *facts;
};

static inline void
bench_init(struct bench *b, uint64_t seed)
{
	struct utsname u;

	b->samples = json_object();
	b->ratios = json_object();
	b->facts = json_object();
	(void)uname(&u);
	json_object_set_new(b->facts, "machine", json_string(u.machine));
	json_object_set_new(b->facts, "kernel", json_string(u.release));
	json_object_set_new(b->facts, "cpus",
	    json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	json_object_set_new(b->facts, "seed", json_integer((json_int_t)seed));
}

/* Keep a sample; the unit is in the name. */
static inline void
bench_add(struct bench *b, const char *name, double v)
{
	json_t *a = json_object_get(b->samples, name);

	if (a == NULL) {
		a = json_array();
		json_object_set_new(b->samples, name, a);
	}
	json_array_append_new(a, json_real(v));
}

static inline int
bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y ? -1 : x > y);
}

/* A copy in order; the caller frees it. */
static inline double *
bench_sorted(const struct bench *b, const char *name, size_t *n)
{
	json_t *a = json_object_get(b->samples, name);
	double *v;
	size_t i;

	*n = json_array_size(a);
	if (*n == 0 || (v = calloc(*n, sizeof(*v))) == NULL)
		exit(111);
	for (i = 0; i < *n; i++)
		v[i] = json_real_value(json_array_get(a, i));
	qsort(v, *n, sizeof(*v), bench_by_value);
	return (v);
}

static inline double
bench_median(const struct bench *b, const char *name)
{
	size_t n;
	double *v = bench_sorted(b, name, &n), m = v[n / 2];

	free(v);
	return (m);
}

static inline void
bench_show(const struct bench *b, const char *name)
{
	size_t n;
	double *v = bench_sorted(b, name, &n);

	printf("  %-46s %10.3f  (%.3f to %.3f, n=%zu)\n", name, v[n / 2],
	    v[0], v[n - 1], n);
	free(v);
}

static inline void
bench_fact(struct bench *b, const char *name, double v)
{
	json_object_set_new(b->facts, name, json_real(v));
	printf("  %-46s %10.3f\n", name, v);
}

/* What was promised, and whether it holds: at most, or with ${least}. */
static inline void
bench_ratio(struct bench *b, const char *name, double v, double target,
    int least)
{
	json_object_set_new(b->ratios, name, json_pack("{s:f,s:f,s:b}",
	    "value", v, "target", target, "least", least));
	printf("  %-46s %10.3f  %s %.2f: %s\n", name, v,
	    least ? "at least" : "at most", target,
	    (least ? v >= target : v <= target) ? "holds" : "MISSED");
	(void)fflush(stdout);
}

static inline void
bench_done(struct bench *b, const char *path)
{
	json_t *all = json_pack("{s:o,s:o,s:o,s:b}", "facts", b->facts,
	    "ratios", b->ratios, "samples", b->samples, "complete", 1);

	if (path != NULL && json_dump_file(all, path, JSON_INDENT(1)) == -1) {
		perror(path);
		exit(111);
	}
	json_decref(all);
}

#endif /* !ERRAND_TESTS_BENCH_H */
