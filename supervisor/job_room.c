/*
 * How many jobs may wait, and what they may hold meanwhile.  Counts only.
 */
#include <inttypes.h>

#include "job_room.h"
#include "jobs.h"
#include "lib/text.h"
#include "proto/client_msg.h"
#include "share.h"
#include "tenants.h"

static uint64_t
jobs_of(const struct tenant *t)
{
	return ((uint64_t)t->running + t->queued);
}

static int
entitled(const struct tenant *t)
{
	return (!t->gone && !t->conf.automatic);
}

int
job_room(struct tenants *ts, uint64_t jobs, const struct tenant *t,
    uint64_t values, struct err *err)
{
	struct share s = { .all = JOBS_MAX, .taken = jobs,
	    .mine = jobs_of(t), .entitled = entitled(t) };
	struct share v = { .all = JOBS_VALUES, .mine = t->values,
	    .entitled = s.entitled };
	struct tenant *o;

	for (o = tenants_next(ts, NULL); o != NULL; o = tenants_next(ts, o)) {
		v.taken += o->values;
		s.kept += o != t && entitled(o) && jobs_of(o) == 0;
		v.kept += o != t && entitled(o) && o->values == 0 ?
		    LIMIT_ENV_BYTES : 0;
	}
	if (s.kept > s.all / 2)
		s.kept = s.all / 2;
	if (v.kept > v.all / 2)
		v.kept = v.all / 2;
	if (s.mine >= JOBS_TENANT_MAX || !share_may(&s, 1))
		return (err_set(err, ERR_BUSY, "tenant %s has %" PRIu64
		    " jobs that have not ended, and there is no room for "
		    "another; try again when some have", t->conf.name,
		    s.mine));
	if (values > 0 && (values > JOBS_TENANT_VALUES - v.mine ||
	    !share_may(&v, values)))
		return (err_set(err, ERR_BUSY, "the jobs of this tenant that "
		    "wait here have environments of %s, and there is no room "
		    "for more; try again when some have started, or pass files "
		    "instead", text_bytes(v.mine)));
	return (0);
}
