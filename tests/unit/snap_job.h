#ifndef ERRAND_TEST_SNAP_JOB_H
#define ERRAND_TEST_SNAP_JOB_H

/* Jobs, logs and contents for the tests of errand-snapshot. */

#include "snap_client.h"

static uint8_t noise[3 * 1024 * 1024];

static void
noise_make(void)
{
	uint32_t x = 2463534242U;
	size_t i;

	for (i = 0; i < sizeof(noise); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		noise[i] = (uint8_t)x;
	}
}

static void
must_be(const struct seen *s, uint8_t kind)
{
	if (s->reset)
		fail_msg("stream %u was reset: %s", s->id, s->err.text);
	assert_true(s->done);
	assert_int_equal(s->last.kind, kind);
}

/* A job in the store's list; the newest comes first. */
static struct job_record *
job_add(struct world *w, const char *id, uint8_t state, const char *label)
{
	static char sh[] = "sh";
	char *argv[] = { sh };
	struct job_record *j = &w->jobs[w->njobs++];
	struct job_spec spec;
	uint8_t *buf;
	size_t len;

	memset(j, 0, sizeof(*j));
	memset(&spec, 0, sizeof(spec));
	spec.argc = 1;
	spec.argv = argv;
	spec.workdir = (char *)(uintptr_t)"";
	spec.label = (char *)(uintptr_t)label;
	assert_int_equal(job_spec_pack(&spec, &buf, &len), 0);
	strcpy(j->id, id);
	strcpy(j->tenant, "mara");
	j->state = state;
	memset(j->submit.idem, 1, sizeof(j->submit.idem));
	j->submit.spec_len = len;
	assert_int_equal(content_from_mem(buf, len, world_sink, w,
	    &j->submit.spec), 0);
	j->times.submitted = 5;
	free(buf);
	return (j);
}

static int
log_make(void)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 10);
	fclose(f);
	return (fd);
}

static struct job_record
final_record(const char *id, uint8_t code)
{
	struct job_record r;

	memset(&r, 0, sizeof(r));
	strcpy(r.id, id);
	strcpy(r.tenant, "mara");
	r.state = JOB_EXITED;
	r.ran = 1;
	r.exit_code = code;
	r.log.complete = 1;
	return (r);
}

#endif /* !ERRAND_TEST_SNAP_JOB_H */
