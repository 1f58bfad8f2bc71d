/*
 * What the index keeps of tenants: how much they use, the head of their chain
 * of receipts, their epoch.  Reaches the file through index.c only.
 */
#include <errno.h>
#include <string.h>

#include "index.h"
#include "index_job.h"
#include "index_key.h"
#include "lib/le.h"
#include "lib/log.h"

#define USAGE_LEN_0     (5 * 8 + IX_DIGEST_LEN)
#define USAGE_LEN       (USAGE_LEN_0 + 24)
#define EPOCH_FIRST     1

static int
malformed(const char *what)
{
	log_warnx("index: a malformed entry in %s", what);
	errno = EUCLEAN;
	return (-1);
}

static int
usage_decode(const uint8_t *p, size_t len, struct ix_usage *u)
{
	if (len != USAGE_LEN && len != USAGE_LEN_0)
		return (malformed("usage"));
	u->objects = le_get64(p);
	u->bytes = le_get64(p + 8);
	u->stored = le_get64(p + 16);
	u->jobs = le_get64(p + 24);
	u->sequence = le_get64(p + 32);
	memcpy(u->digest, p + 40, IX_DIGEST_LEN);
	u->epoch = len == USAGE_LEN ? le_get32(p + 72) : EPOCH_FIRST;
	u->kept = len == USAGE_LEN ? le_get64(p + 80) : u->jobs;
	u->log_bytes = len == USAGE_LEN ? le_get64(p + 88) : 0;
	return (0);
}

int
ix_usage_get(struct ix *ix, uint32_t tenant, struct ix_usage *u)
{
	uint8_t key[4];
	const void *v;
	size_t len;

	be_put32(key, tenant);
	if (ix_get(ix, IX_USAGE, key, sizeof(key), &v, &len) == -1) {
		if (errno != ENOENT)
			return (-1);
		memset(u, 0, sizeof(*u));
		u->epoch = EPOCH_FIRST;
		return (0);
	}
	return (usage_decode(v, len, u));
}

int
ix_usage_put(struct ix *ix, uint32_t tenant, const struct ix_usage *u)
{
	uint8_t key[4], v[USAGE_LEN];

	be_put32(key, tenant);
	le_put64(v, u->objects);
	le_put64(v + 8, u->bytes);
	le_put64(v + 16, u->stored);
	le_put64(v + 24, u->jobs);
	le_put64(v + 32, u->sequence);
	memcpy(v + 40, u->digest, IX_DIGEST_LEN);
	le_put32(v + 72, u->epoch);
	le_put32(v + 76, 0);
	le_put64(v + 80, u->kept);
	le_put64(v + 88, u->log_bytes);
	return (ix_put(ix, IX_USAGE, key, sizeof(key), v, sizeof(v)));
}

int
ix_usage_add(struct ix *ix, uint32_t tenant, uint64_t objects, uint64_t bytes,
    uint64_t stored)
{
	struct ix_usage u;

	if (ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	u.objects += objects;
	u.bytes += bytes;
	u.stored += stored;
	return (ix_usage_put(ix, tenant, &u));
}

/* Never below nothing, whatever the records say. */
static void
less(uint64_t *v, uint64_t by)
{
	*v -= by < *v ? by : *v;
}

int
ix_usage_sub(struct ix *ix, uint32_t tenant, uint64_t objects, uint64_t bytes,
    uint64_t stored)
{
	struct ix_usage u;

	if (ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	less(&u.objects, objects);
	less(&u.bytes, bytes);
	less(&u.stored, stored);
	return (ix_usage_put(ix, tenant, &u));
}

int
ix_epoch_next(struct ix *ix, uint32_t tenant, uint32_t *epoch)
{
	struct ix_usage u;

	if (ix_usage_get(ix, tenant, &u) == -1)
		return (-1);
	if (u.epoch == UINT32_MAX) {
		errno = ERANGE;
		return (-1);
	}
	*epoch = ++u.epoch;
	return (ix_usage_put(ix, tenant, &u));
}

struct usages_cookie {
	ix_usage_fn *fn;
	void *cookie;
};

static int
on_usage(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct usages_cookie *c = arg;
	struct ix_usage u;

	if (klen != 4)
		return (malformed("usage"));
	if (usage_decode(v, len, &u) == -1)
		return (-1);
	return (c->fn(c->cookie, be_get32(key), &u));
}

int
ix_usages(struct ix *ix, ix_usage_fn *fn, void *cookie)
{
	struct usages_cookie c = { fn, cookie };

	return (ix_scan(ix, IX_USAGE, "", 0, 0, on_usage, &c));
}

static int
add_up(void *cookie, uint32_t tenant, const struct ix_usage *u)
{
	struct ix_usage *sum = cookie;

	(void)tenant;
	sum->objects += u->objects;
	sum->bytes += u->bytes;
	sum->stored += u->stored;
	sum->jobs += u->jobs;
	sum->kept += u->kept;
	sum->log_bytes += u->log_bytes;
	return (0);
}

int
ix_usage_sum(struct ix *ix, struct ix_usage *sum)
{
	memset(sum, 0, sizeof(*sum));
	return (ix_usages(ix, add_up, sum));
}
