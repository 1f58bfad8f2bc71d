/*
 * What `errandctl store stat` shows.  Reads the index's sums; changes nothing.
 */
#include <stdio.h>

#include "care.h"
#include "doubt.h"
#include "gc.h"
#include "index.h"
#include "index_job.h"
#include "index_pack.h"
#include "journal.h"
#include "pack.h"
#include "pending.h"
#include "quarantine.h"
#include "rewrite.h"
#include "segs.h"
#include "stat.h"
#include "store.h"
#include "upkeep.h"

struct pack_sum {
	uint64_t count, sealed, bytes;
};

static int
on_pack(void *cookie, const struct ix_pack *pack)
{
	struct pack_sum *s = cookie;

	s->count++;
	s->sealed += pack->sealed;
	s->bytes += pack->len;
	return (0);
}

static void
packs_fill(struct care *c, const struct pack_sum *s, uint64_t live)
{
	uint64_t heads = s->count * PACK_HEAD;

	care_figure(c, "packs", s->count);
	care_figure(c, "packs_sealed", s->sealed);
	care_figure(c, "pack_bytes", s->bytes);
	care_figure(c, "live_bytes", live);
	care_figure(c, "dead_bytes", s->bytes > live + heads ?
	    s->bytes - live - heads : 0);
}

/* By the clock, with and without waiting for flushes; of the processor. */
static void
longest_fill(struct care *c, const char *what, const struct stint_longest *l)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%s_longest_us", what);
	care_figure(c, name, l->us);
	(void)snprintf(name, sizeof(name), "%s_longest_own_us", what);
	care_figure(c, name, l->own_us);
	(void)snprintf(name, sizeof(name), "%s_longest_cpu_us", what);
	care_figure(c, name, l->cpu_us);
}

static void
gc_fill(struct care *c, const struct store *st)
{
	struct rewrite_figures rw;
	struct gc_figures gc;

	gc_figures(st, &gc);
	rewrite_figures(st, &rw);
	care_figure(c, "gc_tenant", gc.tenant);
	care_figure(c, "gc_busy", gc_busy(st));
	care_figure(c, "gc_waiting", gc.waiting);
	care_figure(c, "gc_runs", gc.runs);
	care_figure(c, "gc_abandoned", gc.abandoned);
	care_figure(c, "gc_marked", gc.marked);
	care_figure(c, "gc_set_bytes", gc.memory);
	care_figure(c, "gc_examined", gc.examined);
	care_figure(c, "gc_deleted", gc.deleted);
	care_figure(c, "gc_deleted_bytes", gc.deleted_bytes);
	longest_fill(c, "gc", &gc.longest);
	care_figure(c, "rewrite_pack", rw.pack);
	care_figure(c, "rewrite_moved", rw.moved);
	care_figure(c, "rewrite_removed", rw.removed);
	care_figure(c, "rewrite_removed_bytes", rw.removed_bytes);
	care_figure(c, "rewrite_stuck", rw.stuck);
	longest_fill(c, "rewrite", &rw.longest);
}

int
stat_fill(struct store *st, struct care *c)
{
	struct pack_sum packs = { 0 };
	struct ix_usage u;
	struct stint_longest upkeep = upkeep_longest(st->upkeep);
	struct stint_longest doubt = doubt_longest(st);
	struct ix_stat s;
	int rc = -1;

	if (ix_read(st->ix) == 0 && (rc = ix_usage_sum(st->ix, &u)) == 0)
		rc = ix_packs(st->ix, on_pack, &packs);
	ix_read_end(st->ix);
	if (rc == -1)
		return (-1);
	ix_stat(st->ix, &s);
	care_figure(c, "objects", u.objects);
	care_figure(c, "object_bytes", u.bytes);
	care_figure(c, "jobs", u.jobs);
	packs_fill(c, &packs, u.stored);
	care_figure(c, "pending_objects", pending_count(st->pending));
	care_figure(c, "index_bytes", s.map_used);
	care_figure(c, "index_map_bytes", s.map_bytes);
	care_figure(c, "index_runs", segs_count(ix_segs(st->ix)));
	care_figure(c, "index_memory_bytes", segs_memory(ix_segs(st->ix)));
	longest_fill(c, "upkeep", &upkeep);
	longest_fill(c, "doubt", &doubt);
	care_figure(c, "free_bytes", store_disk_free(st));
	care_figure(c, "commits", s.commits);
	care_figure(c, "flushes", s.flushes + packs_flushes(st->packs));
	care_figure(c, "packs_damaged", st->packs_damaged);
	care_figure(c, "index_damaged", (uint64_t)doubt_damaged(st));
	care_figure(c, "damaged_reads", st->damaged);
	care_figure(c, "quarantined", quarantine_count(st));
	care_figure(c, "journal_unflushed", journal_listed(st->journal));
	gc_fill(c, st);
	return (0);
}
