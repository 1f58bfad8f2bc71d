/*
 * The jobs of a store that is older than the journal, into the journal.  Reads
 * the index and appends to packs; commits once, at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_job.h"
#include "index_key.h"
#include "index_pack.h"
#include "journal.h"
#include "journal_dump.h"
#include "journal_fmt.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "store.h"

#define STEP    64              /* jobs between two looks at the pack */
#define ROOM    (8ULL * 1024 * 1024)

struct idem {
	uint32_t tenant;
	char job[JOB_ID_LEN + 1];
	uint8_t idem[IX_IDEM_LEN];
};

struct dump {
	struct store *st;
	struct idem *idems;     /* by tenant and job */
	size_t nidems, capidems;
	uint32_t *tenants;
	size_t ntenants, captenants;
	uint32_t tenant;        /* whose jobs are written now */
	uint64_t after;         /* number of the last one */
	unsigned int left;      /* of this step */
	uint64_t serial;
	uint64_t jobs;
};

static int
on_idem(void *cookie, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct dump *d = cookie;
	struct idem *i;
	void *p;

	if (klen != 4 + IX_IDEM_LEN || len < JOB_ID_LEN)
		return (0);
	if ((p = size_grow(d->idems, &d->capidems, d->nidems + 1,
	    sizeof(*d->idems))) == NULL)
		return (-1);
	d->idems = p;
	i = &d->idems[d->nidems++];
	memset(i, 0, sizeof(*i));
	i->tenant = be_get32(key);
	memcpy(i->idem, key + 4, IX_IDEM_LEN);
	memcpy(i->job, v, JOB_ID_LEN);
	return (0);
}

static int
by_job(const void *a, const void *b)
{
	const struct idem *x = a, *y = b;

	if (x->tenant != y->tenant)
		return (x->tenant < y->tenant ? -1 : 1);
	return (strcmp(x->job, y->job));
}

static int
on_usage(void *cookie, uint32_t tenant, const struct ix_usage *u)
{
	struct dump *d = cookie;
	void *p;

	if (u->jobs == 0)
		return (0);
	if ((p = size_grow(d->tenants, &d->captenants, d->ntenants + 1,
	    sizeof(*d->tenants))) == NULL)
		return (-1);
	d->tenants = p;
	d->tenants[d->ntenants++] = tenant;
	return (0);
}

struct refs {
	const char *job;
	struct obj_ref r, s, a, l;
};

static int
on_ref(void *cookie, const struct ix_ref *ref)
{
	struct refs *f = cookie;

	if (strcmp(ref->job, f->job) != 0)
		return (1);
	switch (ref->slot) {
	case 'r':
		f->r = ref->ref;
		break;
	case 's':
		f->s = ref->ref;
		break;
	case 'a':
		f->a = ref->ref;
		break;
	case 'l':
		f->l = ref->ref;
		break;
	default:
		break;
	}
	return (0);
}

static int
refs_get(struct dump *d, const char *job, struct refs *f)
{
	struct ix_ref after = { .slot = 0 };

	memset(f, 0, sizeof(*f));
	f->job = job;
	memcpy(after.job, job, JOB_ID_LEN);
	return (ix_refs(d->st->ix, d->tenant, &after, on_ref, f) == -1 ? -1 :
	    0);
}

/* In a record of its own: there is time. */
static int
entry_put(struct dump *d, struct journal_entry *e)
{
	uint8_t rec[OBJ_MAX];
	size_t len = JOURNAL_HEAD + journal_entry_len(e);

	if (len > sizeof(rec)) {
		errno = EFBIG;
		return (-1);
	}
	e->serial = ++d->serial;
	journal_head_encode(io_real_us(), rec);
	journal_entry_encode(e, rec + JOURNAL_HEAD);
	return (pack_append_journal(d->st->packs, rec, len));
}

static int
publish_put(struct dump *d, const char *job, const struct ix_job *j,
    const struct refs *f)
{
	struct journal_entry e = { .type = JOURNAL_PUBLISH,
	    .tenant = d->tenant };
	struct idem key = { .tenant = d->tenant }, *i;

	memcpy(key.job, job, JOB_ID_LEN);
	i = d->nidems == 0 ? NULL : bsearch(&key, d->idems, d->nidems,
	    sizeof(*d->idems), by_job);
	memcpy(e.job, job, JOB_ID_LEN);
	e.u.publish.idem = i != NULL ? i->idem : key.idem;
	e.u.publish.root = f->r;
	e.u.publish.spec = f->s;
	e.u.publish.record = j->record;
	e.u.publish.record_len = j->record_len;
	return (entry_put(d, &e));
}

static int
settle_put(struct dump *d, const char *job, const struct ix_job *j,
    const struct refs *f)
{
	struct journal_entry e = {
		.type = JOURNAL_SETTLE,
		.tenant = d->tenant,
		.settled_us = j->settled_us,
		.log_bytes = j->log_bytes
	};

	memcpy(e.job, job, JOB_ID_LEN);
	e.u.settle.sequence = j->sequence;
	e.u.settle.digest = j->digest;
	e.u.settle.root = f->a;
	e.u.settle.list = f->l;
	e.u.settle.record = j->record;
	e.u.settle.record_len = j->record_len;
	e.u.settle.receipt = j->receipt;
	e.u.settle.receipt_len = j->receipt_len;
	return (entry_put(d, &e));
}

static int
on_job(void *cookie, uint64_t number, const char *job, const struct ix_job *j)
{
	struct dump *d = cookie;
	char id[JOB_ID_LEN + 1] = "";
	struct refs f;

	memcpy(id, job, JOB_ID_LEN);
	if (refs_get(d, id, &f) == -1 || publish_put(d, id, j, &f) == -1 ||
	    (j->settled && settle_put(d, id, j, &f) == -1))
		return (-1);
	d->after = number;
	d->jobs++;
	return (--d->left == 0);
}

/* The next jobs of the tenant: 1 when there may be more. */
static int
step(struct dump *d)
{
	struct ix *ix = d->st->ix;
	int rc = -1;

	if (packs_full(d->st->packs) && store_new_pack(d->st) == -1)
		return (-1);
	d->left = STEP;
	if (ix_read(ix) == 0)
		rc = ix_jobs_oldest(ix, d->tenant, d->after, on_job, d);
	ix_read_end(ix);
	return (rc);
}

/* Flushed before the index says that there is a journal. */
static int
finish(struct dump *d)
{
	struct store *st = d->st;
	struct ix_pack pack;

	if (pack_sync(st->packs) == -1)
		return (-1);
	pack = store_open_pack(st);
	if (ix_write(st->ix, ROOM) == -1)
		return (-1);
	if (ix_pack_put(st->ix, &pack) == -1 ||
	    journal_serial_put(st->ix, d->serial) == -1) {
		ix_abort(st->ix);
		return (-1);
	}
	if (ix_commit(st->ix) == -1)
		return (-1);
	pack_committed(st->packs);
	return (0);
}

static int
look(struct dump *d)
{
	struct ix *ix = d->st->ix;
	int rc;

	if (ix_read(ix) == -1)
		return (-1);
	if ((rc = journal_serial_get(ix, &d->serial)) == 1)
		rc = 0;
	else if (rc == 0 && (rc = ix_usages(ix, on_usage, d)) == 0 &&
	    d->ntenants > 0)
		rc = ix_scan(ix, IX_IDEM, "", 0, 0, on_idem, d);
	ix_read_end(ix);
	if (rc == 0 && d->nidems > 0)
		qsort(d->idems, d->nidems, sizeof(*d->idems), by_job);
	return (rc);
}

static int
dump(struct dump *d)
{
	size_t i;
	int rc;

	if (look(d) == -1)
		return (-1);
	for (i = 0; i < d->ntenants; i++) {
		d->tenant = d->tenants[i];
		d->after = 0;
		while ((rc = step(d)) == 1)
			continue;
		if (rc == -1)
			return (-1);
	}
	return (d->jobs > 0 ? finish(d) : 0);
}

int
journal_dump(struct store *st)
{
	struct dump d = { .st = st };
	int rc;

	if ((rc = dump(&d)) == -1)
		log_warn("the jobs of this older store cannot be written into "
		    "its packs");
	else if (d.jobs > 0)
		log_info("%" PRIu64 " jobs of an older version are in the "
		    "packs now too", d.jobs);
	free(d.idems);
	free(d.tenants);
	return (rc);
}
