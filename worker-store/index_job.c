/*
 * What the index keeps of jobs and references: keys and values.  Reaches the
 * file through index.c only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index.h"
#include "index_job.h"
#include "index_key.h"
#include "lib/le.h"
#include "lib/log.h"
#include "lib/size.h"

#define JOB_KEY_LEN     (4 + JOB_ID_LEN)
#define JOB_HEAD_0      52
#define JOB_HEAD        84
#define SEQ_KEY_LEN     12
#define IDEM_KEY_LEN    (4 + IX_IDEM_LEN)
#define IDEM_LEN        (JOB_ID_LEN + 2 * OBJ_REF_LEN)
#define REF_KEY_LEN     (4 + 1 + JOB_ID_LEN + 1)
#define REF_LEN         (OBJ_REF_LEN + 8)
#define REF_JOB         1

static int
malformed(const char *what)
{
	log_warnx("index: a malformed entry in %s", what);
	errno = EUCLEAN;
	return (-1);
}

static void
job_key(uint32_t tenant, const char *job, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, job, JOB_ID_LEN);
}

static int
job_decode(const uint8_t *p, size_t len, struct ix_job *j)
{
	size_t head;

	if (len < JOB_HEAD_0 || p[1] > 1)
		return (-1);
	head = p[1] == 0 ? JOB_HEAD_0 : JOB_HEAD;
	if (len < head)
		return (-1);
	j->settled = p[0];
	j->record_len = le_get32(p + 4);
	j->receipt_len = le_get32(p + 8);
	j->sequence = le_get64(p + 12);
	j->digest = p + 20;
	j->idem = head == JOB_HEAD ? p + 52 : NULL;
	j->settled_us = head == JOB_HEAD ? le_get64(p + 68) : 0;
	j->log_bytes = head == JOB_HEAD ? le_get64(p + 76) : 0;
	j->record = p + head;
	j->receipt = j->record + j->record_len;
	len -= head;
	if (j->record_len > len || j->receipt_len != len - j->record_len)
		return (-1);
	return (0);
}

int
ix_job_get(struct ix *ix, uint32_t tenant, const char *job, struct ix_job *j)
{
	uint8_t key[JOB_KEY_LEN];
	const void *v;
	size_t len;

	job_key(tenant, job, key);
	if (ix_get(ix, IX_JOB, key, sizeof(key), &v, &len) == -1)
		return (-1);
	if (job_decode(v, len, j) == -1)
		return (malformed("job"));
	return (0);
}

static int
job_put(struct ix *ix, uint32_t tenant, const char *job,
    const struct ix_job *j)
{
	uint8_t key[JOB_KEY_LEN];
	uint8_t *v;
	size_t len;
	int rc;

	if (size_add(j->record_len, j->receipt_len, &len) == -1 ||
	    size_add(len, JOB_HEAD, &len) == -1 ||
	    NEW_ARRAY(v, len) == -1)
		return (-1);
	v[0] = j->settled;
	v[1] = 1;
	le_put32(v + 4, (uint32_t)j->record_len);
	le_put32(v + 8, (uint32_t)j->receipt_len);
	le_put64(v + 12, j->sequence);
	if (j->digest != NULL)
		memcpy(v + 20, j->digest, IX_DIGEST_LEN);
	if (j->idem != NULL)
		memcpy(v + 52, j->idem, IX_IDEM_LEN);
	le_put64(v + 68, j->settled_us);
	le_put64(v + 76, j->log_bytes);
	memcpy(v + JOB_HEAD, j->record, j->record_len);
	if (j->receipt_len > 0)
		memcpy(v + JOB_HEAD + j->record_len, j->receipt,
		    j->receipt_len);
	job_key(tenant, job, key);
	rc = ix_put(ix, IX_JOB, key, sizeof(key), v, len);
	free(v);
	return (rc);
}

static void
idem_key(uint32_t tenant, const uint8_t *idem, uint8_t *key)
{
	be_put32(key, tenant);
	memcpy(key + 4, idem, IX_IDEM_LEN);
}

int
ix_idem_get(struct ix *ix, uint32_t tenant, const uint8_t *idem,
    struct ix_idem *out)
{
	uint8_t key[IDEM_KEY_LEN];
	const uint8_t *p;
	const void *v;
	size_t len;

	idem_key(tenant, idem, key);
	if (ix_get(ix, IX_IDEM, key, sizeof(key), &v, &len) == -1)
		return (-1);
	p = v;
	if (len != IDEM_LEN ||
	    obj_ref_decode(p + JOB_ID_LEN, &out->root) == -1 ||
	    obj_ref_decode(p + JOB_ID_LEN + OBJ_REF_LEN, &out->spec) == -1)
		return (malformed("idem"));
	memcpy(out->job, p, JOB_ID_LEN);
	out->job[JOB_ID_LEN] = '\0';
	return (0);
}

static int
idem_put(struct ix *ix, uint32_t tenant, const struct ix_publish *p)
{
	uint8_t key[IDEM_KEY_LEN], v[IDEM_LEN];

	idem_key(tenant, p->idem, key);
	memcpy(v, p->job, JOB_ID_LEN);
	obj_ref_encode(&p->root, v + JOB_ID_LEN);
	obj_ref_encode(&p->spec, v + JOB_ID_LEN + OBJ_REF_LEN);
	return (ix_put(ix, IX_IDEM, key, sizeof(key), v, sizeof(v)));
}

/* A job holds on to an object.  Nothing has to be held of no bytes. */
static int
ref_put(struct ix *ix, uint32_t tenant, const char *job, char slot,
    const struct obj_ref *ref)
{
	uint8_t key[REF_KEY_LEN], v[REF_LEN];

	if (ref->kind == OBJ_NONE)
		return (0);
	be_put32(key, tenant);
	key[4] = REF_JOB;
	memcpy(key + 5, job, JOB_ID_LEN);
	key[5 + JOB_ID_LEN] = (uint8_t)slot;
	obj_ref_encode(ref, v);
	le_put64(v + OBJ_REF_LEN, 0);
	return (ix_put(ix, IX_REF, key, sizeof(key), v, sizeof(v)));
}

/* Number the job, so that the newest can be found first. */
static int
job_count(struct ix *ix, uint32_t tenant, const char *job)
{
	uint8_t key[SEQ_KEY_LEN];
	struct ix_usage u;

	if (ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	be_put32(key, tenant);
	u.kept++;
	be_put64(key + 4, ++u.jobs);
	if (ix_put(ix, IX_JOBSEQ, key, sizeof(key), job, JOB_ID_LEN) == -1)
		return (-1);
	return (ix_usage_put(ix, tenant, &u));
}

int
ix_job_publish(struct ix *ix, uint32_t tenant, const struct ix_publish *p)
{
	struct ix_job j = {
		.record = p->record,
		.record_len = p->record_len,
		.idem = p->idem
	};
	uint8_t key[JOB_KEY_LEN];

	if (ref_put(ix, tenant, p->job, 'r', &p->root) == -1 ||
	    ref_put(ix, tenant, p->job, 's', &p->spec) == -1 ||
	    job_put(ix, tenant, p->job, &j) == -1 ||
	    idem_put(ix, tenant, p) == -1 ||
	    job_count(ix, tenant, p->job) == -1)
		return (-1);
	job_key(tenant, p->job, key);
	return (ix_put(ix, IX_UNSETTLED, key, sizeof(key), "", 1));
}

/* A copy of a job's idempotency id, for the record that replaces it. */
static int
idem_of(struct ix *ix, uint32_t tenant, const char *job, uint8_t *buf,
    const uint8_t **idem)
{
	struct ix_job was;

	*idem = NULL;
	if (ix_job_get(ix, tenant, job, &was) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (was.idem != NULL)
		*idem = memcpy(buf, was.idem, IX_IDEM_LEN);
	return (0);
}

int
ix_job_restate(struct ix *ix, uint32_t tenant, const char *job,
    const uint8_t *record, size_t len)
{
	struct ix_job j = { .record = record, .record_len = len };
	uint8_t idem[IX_IDEM_LEN];

	if (idem_of(ix, tenant, job, idem, &j.idem) == -1)
		return (-1);
	return (job_put(ix, tenant, job, &j));
}

int
ix_job_settle(struct ix *ix, uint32_t tenant, const struct ix_settle *s)
{
	struct ix_job j = {
		.settled = 1,
		.sequence = s->sequence,
		.digest = s->digest,
		.record = s->record,
		.record_len = s->record_len,
		.receipt = s->receipt,
		.receipt_len = s->receipt_len,
		.settled_us = s->settled_us,
		.log_bytes = s->log_bytes
	};
	uint8_t key[JOB_KEY_LEN], idem[IX_IDEM_LEN];
	struct ix_usage u;

	if (idem_of(ix, tenant, s->job, idem, &j.idem) == -1 ||
	    ref_put(ix, tenant, s->job, 'a', &s->root) == -1 ||
	    ref_put(ix, tenant, s->job, 'l', &s->list) == -1 ||
	    job_put(ix, tenant, s->job, &j) == -1 ||
	    ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	u.sequence = s->sequence;
	u.log_bytes += s->log_bytes;
	memcpy(u.digest, s->digest, IX_DIGEST_LEN);
	if (ix_usage_put(ix, tenant, &u) == -1)
		return (-1);
	job_key(tenant, s->job, key);
	return (ix_del(ix, IX_UNSETTLED, key, sizeof(key)));
}

struct jobs_cookie {
	struct ix *ix;
	ix_job_fn *fn;
	void *cookie;
};

static int
job_visit(struct jobs_cookie *c, uint32_t tenant, const char *job)
{
	struct ix_job j;

	if (ix_job_get(c->ix, tenant, job, &j) == -1)
		return (errno == ENOENT ? malformed("job") : -1);
	return (c->fn(c->cookie, &j));
}

static int
on_jobseq(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	if (klen != SEQ_KEY_LEN || len != JOB_ID_LEN)
		return (malformed("jobseq"));
	return (job_visit(arg, be_get32(key), (const char *)v));
}

int
ix_jobs_newest(struct ix *ix, uint32_t tenant, ix_job_fn *fn, void *cookie)
{
	struct jobs_cookie c = { ix, fn, cookie };
	uint8_t key[4];

	be_put32(key, tenant);
	return (ix_scan(ix, IX_JOBSEQ, key, sizeof(key), 1, on_jobseq, &c));
}

static int
on_unsettled(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	(void)v;
	(void)len;
	if (klen != JOB_KEY_LEN)
		return (malformed("unsettled"));
	return (job_visit(arg, be_get32(key), (const char *)key + 4));
}

int
ix_jobs_unsettled(struct ix *ix, ix_job_fn *fn, void *cookie)
{
	struct jobs_cookie c = { ix, fn, cookie };

	return (ix_scan(ix, IX_UNSETTLED, "", 0, 0, on_unsettled, &c));
}

struct refs_cookie {
	ix_ref_fn *fn;
	void *cookie;
};

static int
on_ref(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct refs_cookie *c = arg;
	struct ix_ref r = { 0 };

	if (klen != REF_KEY_LEN || len != REF_LEN ||
	    obj_ref_decode(v, &r.ref) == -1)
		return (malformed("ref"));
	memcpy(r.job, key + 5, JOB_ID_LEN);
	r.slot = (char)key[5 + JOB_ID_LEN];
	return (c->fn(c->cookie, &r));
}

static void
ref_key(uint32_t tenant, const char *job, char slot, uint8_t *key)
{
	be_put32(key, tenant);
	key[4] = REF_JOB;
	memcpy(key + 5, job, JOB_ID_LEN);
	key[5 + JOB_ID_LEN] = (uint8_t)slot;
}

int
ix_refs(struct ix *ix, uint32_t tenant, const struct ix_ref *after,
    ix_ref_fn *fn, void *cookie)
{
	struct refs_cookie c = { fn, cookie };
	uint8_t key[REF_KEY_LEN], prefix[4];

	be_put32(prefix, tenant);
	if (after != NULL)
		ref_key(tenant, after->job, after->slot, key);
	return (ix_scan_after(ix, IX_REF, prefix, sizeof(prefix), key,
	    after == NULL ? 0 : sizeof(key), on_ref, &c));
}

int
ix_ref_get(struct ix *ix, uint32_t tenant, const char *job, char slot,
    struct obj_ref *ref)
{
	uint8_t key[REF_KEY_LEN];
	const void *v;
	size_t len;

	ref_key(tenant, job, slot, key);
	if (ix_get(ix, IX_REF, key, sizeof(key), &v, &len) == -1)
		return (-1);
	if (len != REF_LEN || obj_ref_decode(v, ref) == -1)
		return (malformed("ref"));
	return (0);
}

int
ix_job_is_unsettled(struct ix *ix, uint32_t tenant, const char *job)
{
	uint8_t key[JOB_KEY_LEN];
	const void *v;
	size_t len;

	job_key(tenant, job, key);
	if (ix_get(ix, IX_UNSETTLED, key, sizeof(key), &v, &len) == 0)
		return (1);
	return (errno == ENOENT ? 0 : -1);
}

/* Delete, were it there or not. */
static int
gone(struct ix *ix, enum ix_db db, const uint8_t *key, size_t len)
{
	return (ix_del(ix, db, key, len) == -1 && errno != ENOENT ? -1 : 0);
}

/* The idempotency id, while it is this job's. */
static int
idem_forget(struct ix *ix, uint32_t tenant, const char *job,
    const uint8_t *idem)
{
	uint8_t key[IDEM_KEY_LEN];
	struct ix_idem was;

	if (idem == NULL)
		return (0);
	idem_key(tenant, idem, key);
	if (ix_idem_get(ix, tenant, idem, &was) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (memcmp(was.job, job, JOB_ID_LEN) != 0)
		return (0);
	return (gone(ix, IX_IDEM, key, sizeof(key)));
}

int
ix_job_forget(struct ix *ix, uint32_t tenant, uint64_t number,
    const char *job)
{
	static const char slots[] = { 'r', 's', 'a', 'l' };
	uint8_t key[REF_KEY_LEN], seq[SEQ_KEY_LEN], idem[IX_IDEM_LEN];
	const uint8_t *has;
	struct ix_usage u;
	struct ix_job j;
	uint64_t logs;
	size_t i;

	if (ix_job_get(ix, tenant, job, &j) == -1)
		return (-1);
	logs = j.log_bytes;
	if (idem_of(ix, tenant, job, idem, &has) == -1 ||
	    idem_forget(ix, tenant, job, has) == -1)
		return (-1);
	for (i = 0; i < sizeof(slots); i++) {
		ref_key(tenant, job, slots[i], key);
		if (gone(ix, IX_REF, key, REF_KEY_LEN) == -1)
			return (-1);
	}
	be_put32(seq, tenant);
	be_put64(seq + 4, number);
	job_key(tenant, job, key);
	if (gone(ix, IX_JOBSEQ, seq, sizeof(seq)) == -1 ||
	    gone(ix, IX_JOB, key, JOB_KEY_LEN) == -1 ||
	    ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	u.kept -= u.kept > 0;
	u.log_bytes -= logs < u.log_bytes ? logs : u.log_bytes;
	return (ix_usage_put(ix, tenant, &u));
}

struct oldest_cookie {
	struct ix *ix;
	ix_job_num_fn *fn;
	void *cookie;
};

static int
on_oldest(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct oldest_cookie *c = arg;
	char job[JOB_ID_LEN + 1] = { 0 };
	struct ix_job j;

	if (klen != SEQ_KEY_LEN || len != JOB_ID_LEN)
		return (malformed("jobseq"));
	memcpy(job, v, JOB_ID_LEN);
	if (ix_job_get(c->ix, be_get32(key), job, &j) == -1)
		return (errno == ENOENT ? malformed("job") : -1);
	return (c->fn(c->cookie, be_get64(key + 4), job, &j));
}

int
ix_jobs_oldest(struct ix *ix, uint32_t tenant, uint64_t after,
    ix_job_num_fn *fn, void *cookie)
{
	struct oldest_cookie c = { ix, fn, cookie };
	uint8_t prefix[4], key[SEQ_KEY_LEN];

	be_put32(prefix, tenant);
	be_put32(key, tenant);
	be_put64(key + 4, after);
	return (ix_scan_after(ix, IX_JOBSEQ, prefix, sizeof(prefix), key,
	    sizeof(key), on_oldest, &c));
}
