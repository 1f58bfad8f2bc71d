/*
 * Jobs that the store holds as not ended when it comes up.  Asks the store,
 * looks at the marks of their logs, and runs nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "jobs.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/memfd.h"
#include "logs.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"

#define UNSETTLED_MAX   ((size_t)64 * 1024 * 1024)

/*
 * What the store holds as not ended although no job of ours is that one: a
 * daemon before us, or a store before this one, died in between.  Nothing of
 * it runs (its cgroup is swept, its keeper's channel closed), and nothing of
 * it is run again: environment values were in memory only.  Each gets its end
 * and a receipt that says so.
 */
struct recovery {
	struct sup *sup;
	void (*done)(struct sup *);
};

/*
 * The store's record of a job that waited may still say so when it was just
 * being started; its log tells.
 */
static void
end_say(struct job *j, uint8_t was)
{
	j->fault.code = ERR_WORKER_LOST;
	if (was == JOB_QUEUED && !logs_begun(j->sup->logs_fd,
	    j->rec.tenant_id, j->rec.id)) {
		snprintf(j->fault.text, sizeof(j->fault.text), "the host's "
		    "daemon ended while the job waited to be started; submit "
		    "it again");
		return;
	}
	j->lost = 1;
	j->rec.unknown = 1;
	snprintf(j->fault.text, sizeof(j->fault.text), "the host's daemon or "
	    "its store ended while the job was starting or running; whether "
	    "it ran is not known");
}

/*
 * The record is the store's word: it gives the words of the receipt, and no
 * right to anything.
 */
static void
recover_one(struct sup *sup, const struct job_record *r)
{
	struct tenant *t;
	struct job *j;

	if (jobs_find(sup->jobs, r->id) != NULL || JOB_IS_FINAL(r->state))
		return;
	t = tenants_by_id(sup->tenants, r->tenant_id);
	if (t == NULL || strcmp(t->conf.name, r->tenant) != 0) {
		log_warnx("job %s: of tenant %s, id %" PRIu32 ", who is not "
		    "known here; left as it is", r->id, r->tenant,
		    r->tenant_id);
		return;
	}
	if (jobs_count(sup->jobs) >= JOBS_MAX ||
	    (j = job_new(sup, t)) == NULL) {
		log_warnx("job %s: left for the next start", r->id);
		return;
	}
	j->rec = *r;
	j->rec.state = JOB_QUEUED;
	j->published = 1;
	j->phase = KEEPER_DONE;
	end_say(j, r->state);
	log_info("job %s: left over, was %s", r->id,
	    job_state_name(r->state));
	job_finish(j);
}

static int
records_read(struct sup *sup, const uint8_t *p, size_t len)
{
	struct job_record r;
	uint32_t n;

	while (len > 0) {
		if (len < 4 || (n = le_get32(p)) > len - 4)
			return (-1);
		if (job_record_parse(p + 4, n, &r) == -1)
			log_warnx("a job's record cannot be read");
		else
			recover_one(sup, &r);
		p += 4 + n;
		len -= 4 + n;
	}
	return (0);
}

/* Return -1 when the list is not what it must be: the store broke a rule. */
static int
list_read(struct sup *sup, int fd)
{
	const uint8_t *map;
	size_t len;
	int rc;

	if (fd == -1)
		return (0);
	if (memfd_map(fd, UNSETTLED_MAX, &map, &len) == -1) {
		log_warn("jobs left over");
		return (errno == EPROTO ? -1 : 0);
	}
	if ((rc = records_read(sup, map, len)) == -1)
		log_warnx("jobs left over: the list is malformed");
	memfd_unmap(map, len);
	return (rc);
}

/* Lost or killed, the store is asked again when it is back. */
static void
on_unsettled(void *cookie, const struct store_msg *m, int fd)
{
	struct recovery *rc = cookie;

	if (m->op == STORE_ERROR) {
		log_warnx("jobs left over: %s", m->u.error.text);
		if (m->u.error.code != ERR_WORKER_LOST)
			rc->done(rc->sup);
	} else if (list_read(rc->sup, fd) == -1)
		child_fault(store_client_child(rc->sup->store),
		    "its list of unsettled jobs is not what it must be");
	else
		rc->done(rc->sup);
	free(rc);
}

void
jobs_recover(struct sup *sup, void (*done)(struct sup *))
{
	struct recovery *rc;
	struct store_msg m;

	if ((rc = calloc(1, sizeof(*rc))) == NULL) {
		log_warn("jobs left over");
		done(sup);
		return;
	}
	rc->sup = sup;
	rc->done = done;
	memset(&m, 0, sizeof(m));
	m.op = STORE_UNSETTLED;
	if (store_request(sup->store, &m, -1, on_unsettled, rc) == 0) {
		log_warn("jobs left over");
		free(rc);
	}
}
