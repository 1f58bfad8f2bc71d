#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_jobs.h"

/*
 * A disk that does not give some of a pack any more (EIO): made anew, the index
 * has all that is elsewhere, and what was lost is said.
 */
#define READS_MAX       64
#define PIECES          2       /* of 4 KiB, beside the first, larger read */

static int
has_strace(void)
{
	return (system("command -v strace >/dev/null 2>&1") == 0);
}

/* Jobs that are there and whose trees can be read whole. */
static int
jobs_whole(struct drv *d)
{
	struct drv_objs o = { 0 };
	int t = drv_bind(d, T1, DRV_ALL), whole = 0;
	struct obj_ref refs[3];
	struct drv_reply r;
	char job[JOB_ID_LEN + 1];
	uint64_t n;

	for (n = 0; n < JOBS; n++) {
		job_name(n, job);
		refs[0] = drv_chunk(&o, n, 900);
		refs[1] = drv_chunk(&o, 100000 + n, 60);
		refs[2] = drv_tree(&o, refs, 1, 900);
		o.len = o.n = 0;
		if (drv_job(d, t, STORE_JOB_GET, job, &r) != ERR_NONE)
			continue;
		if (drv_get(d, t, refs, 3, &r) != ERR_NONE)
			continue;
		whole += r.m.u.ok.objects == 3;
		drv_reply_done(&r);
	}
	free(o.buf);
	close(t);
	return (whole);
}

/* Make the index anew while the reads from the ${n}th on fail. */
static int
anew(struct drv *d, int n)
{
	char words[400];
	int rc;

	(void)snprintf(words, sizeof(words), "strace -D -f --seccomp-bpf -qq "
	    "-o /dev/null -e trace=pread64 -e inject=pread64:error=EIO:"
	    "when=%d..%d", n, n + PIECES);
	assert_int_equal(setenv("ERRAND_TRACE", words, 1), 0);
	(void)unlink(d->log);
	index_remove(d);
	d->rebuild = 1;
	d->said[0] = '\0';
	rc = drv_start(d);
	(void)unsetenv("ERRAND_TRACE");
	d->rebuild = 0;
	return (rc);
}

static void
test_sector(void **state)
{
	int t, n, lost = 0, whole;
	struct drv d;

	(void)state;
	if (!has_strace())
		skip();
	fill(&d, &t);
	close(t);
	drv_kill(&d);
	for (n = 1; n < READS_MAX; n++) {
		if (anew(&d, n) == -1) {
			/* It was another file, and that is said. */
			(void)drv_wait(&d);
			if (strstr(d.said, "cannot be made") != NULL ||
			    strstr(d.said, "cannot be restored") != NULL)
				fail_msg("read %d: %s", n, d.said);
			print_message("# read %d: it said \"%s\"\n", n,
			    d.said);
			continue;
		}
		if (!drv_log_has(&d, "the disk does not give") &&
		    !drv_log_has(&d, "cannot be read again")) {
			drv_kill(&d);
			break;
		}
		lost++;
		/* Twice 4 KiB are some jobs' objects or their journal. */
		whole = jobs_whole(&d);
		print_message("# read %d: %d jobs are whole\n", n, whole);
		assert_in_range(whole, 1, JOBS);
		drv_kill(&d);
	}
	assert_true(lost > 0);
	/* On a disk that gives all, all is there. */
	index_remove(&d);
	start_anew(&d);
	t = drv_bind(&d, T1, DRV_ALL);
	check_all(&d, t, JOBS, SETTLED);
	close(t);
	drv_done(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sector),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
