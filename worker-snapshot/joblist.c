/*
 * The store's answer to JOB_LIST: checked, searched, and brought up to date.
 * Maps the memfd that came with it; touches nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "joblist.h"
#include "lib/le.h"
#include "lib/memfd.h"
#include "lib/size.h"

#define MAP_MAX (LIMIT_LIST_JOBS * (4 + LIMIT_RECORD))

/* One record of the map.  Returns its length with the head, or 0. */
static size_t
item_parse(const uint8_t *p, size_t len, struct joblist_item *item)
{
	struct job_record rec;
	size_t n;

	if (len < 4 || (n = le_get32(p)) > len - 4)
		return (0);
	item->rec = p + 4;
	item->len = n;
	if (joblist_record(item, &rec) == -1)
		return (0);
	memcpy(item->id, rec.id, sizeof(item->id));
	item->spec = rec.submit.spec;
	item->spec_len = rec.submit.spec_len;
	return (4 + n);
}

static int
items_parse(struct joblist *l, size_t n)
{
	size_t at = 0, used;

	for (l->n = 0; l->n < n; l->n++) {
		used = item_parse(l->map + at, l->maplen - at,
		    &l->items[l->n]);
		if (used == 0)
			return (-1);
		at += used;
	}
	return (at == l->maplen ? 0 : -1);
}

int
joblist_take(struct joblist *l, const struct store_msg *m, int fd)
{
	size_t n = m->u.ok.objects;

	memset(l, 0, sizeof(*l));
	if (n == 0)
		return (0);
	errno = EPROTO;
	if (fd == -1 || n > LIMIT_LIST_JOBS)
		goto err0;
	if (memfd_map(fd, MAP_MAX, &l->map, &l->maplen) == -1)
		goto err0;
	if (NEW_ARRAY(l->items, n) == -1)
		goto err1;
	if (items_parse(l, n) == -1) {
		errno = EPROTO;
		goto err1;
	}
	return (0);

err1:
	joblist_done(l);
err0:
	return (-1);
}

void
joblist_done(struct joblist *l)
{
	memfd_unmap(l->map, l->maplen);
	free(l->items);
	memset(l, 0, sizeof(*l));
}

int
joblist_record(const struct joblist_item *item, struct job_record *rec)
{
	return (job_record_parse(item->rec, item->len, rec));
}

int
joblist_prefix(const struct joblist *l, const char *name, size_t *at)
{
	size_t i, len = strlen(name);
	int n = 0;

	if (len < JOBLIST_PREFIX_MIN || len > JOB_ID_LEN)
		return (0);
	for (i = 0; i < l->n && n < 2; i++) {
		if (strncmp(l->items[i].id, name, len) != 0)
			continue;
		if (n++ == 0)
			*at = i;
	}
	return (n);
}

static void
time_overlay(uint64_t *have, uint64_t told)
{
	if (told != 0)
		*have = told;
}

/*
 * The supervisor was asked before the store: a record that has ended is newer
 * than what it said, and one it does not know was submitted since.
 */
void
joblist_overlay(struct job_record *rec, const struct snap_live *live, size_t n)
{
	size_t i;

	if (JOB_IS_FINAL(rec->state))
		return;
	for (i = 0; i < n; i++) {
		if (strcmp(live[i].job, rec->id) == 0)
			break;
	}
	if (i == n || JOB_IS_FINAL(live[i].state))
		return;
	rec->state = live[i].state;
	if (rec->reason.code != live[i].reason) {
		memset(&rec->reason, 0, sizeof(rec->reason));
		rec->reason.code = live[i].reason;
	}
	time_overlay(&rec->times.submitted, live[i].times.submitted);
	time_overlay(&rec->times.queued, live[i].times.queued);
	time_overlay(&rec->times.started, live[i].times.started);
	time_overlay(&rec->times.ended, live[i].times.ended);
}
