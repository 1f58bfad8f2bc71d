/*
 * The index file: transactions, keys and values as bytes.  Alone knows LMDB;
 * what the bytes mean is in index_obj.c, index_job.c and seg*.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <lmdb.h>

#include "index.h"
#include "index_file.h"
#include "index_format.h"
#include "index_page.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "segs.h"
#include "stint.h"

/* Room kept free in the map, so that settling and deleting always work. */
#define RESERVE         (64ULL * 1024 * 1024)

/* A commit flushes the pages, and then the one that names them. */
#define COMMIT_FLUSHES  2

/* Where LMDB has its unused pages, and the two pages that name all others. */
#define FREE_DBI        0
#define META_PAGES      2

struct ix {
	MDB_env *env;
	MDB_dbi dbi[IX__MAX];
	MDB_txn *rtxn;          /* reset unless reading */
	MDB_txn *wtxn;          /* NULL unless writing */
	MDB_txn *still;         /* NULL unless ix_still has begun one */
	struct ix_pages *pages; /* as of that */
	int reading;
	int in_still;           /* between ix_still and ix_still_leave */
	int full;               /* the map could not be made larger */
	int fresh;
	int dirfd;              /* see index_file.h */
	uint64_t map;
	uint64_t page;
	uint64_t commits;
	uint64_t flushes;
	uint64_t generation;
	uint64_t maps;          /* odd; another one for each place of the map */
	void (*panic)(void *);  /* NULL while opening */
	void *panic_cookie;
	struct segs *segs;      /* NULL until they are loaded */
};

static const char *const db_names[IX__MAX] = {
	[IX_META] = "meta",
	[IX_OBJECT] = "object",
	[IX_PACK] = "pack",
	[IX_REF] = "ref",
	[IX_JOB] = "job",
	[IX_JOBSEQ] = "jobseq",
	[IX_IDEM] = "idem",
	[IX_UNSETTLED] = "unsettled",
	[IX_USAGE] = "usage",
	[IX_JOURNAL] = "journal",
	[IX_QUARANTINE] = "quarantine",
	[IX_RUN] = "run",
	[IX_BLOCK] = "block",
	[IX_TOP] = NULL,
};

static const char *
name_of(enum ix_db db)
{
	return (db_names[db] != NULL ? db_names[db] : "top");
}

/*
 * What LMDB says, in our words.  It reports a short write, which is what a
 * full disk gives, as EIO: so look before calling the disk broken.
 */
static int
translate(const struct ix *ix, int rc)
{
	switch (rc) {
	case MDB_NOTFOUND:
		return (ENOENT);
	case MDB_MAP_FULL:
		return (ENOBUFS);
	case MDB_PANIC:
		return (ENOTRECOVERABLE);
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
	case MDB_VERSION_MISMATCH:
		return (EUCLEAN);
	case ENOSPC:
	case EDQUOT:
		return (ENOSPC);
	case EIO:
		return (ix_file_disk_full(ix->dirfd) ? ENOSPC : EIO);
	default:
		return (rc > 0 ? rc : EIO);
	}
}

/* Every result of LMDB goes through here: 0, or -1 with errno. */
static int
done(const struct ix *ix, const char *what, int rc)
{
	int err;

	if (rc == 0)
		return (0);
	err = translate(ix, rc);
	if (err == ENOSPC)
		log_warnx("index: %s: the disk is full", what);
	else if (err == ENOTRECOVERABLE)
		log_warnx("index: %s: a write failed half-way; it must be "
		    "opened again", what);
	else if (err != ENOENT)
		log_warnx("index: %s: %s", what, mdb_strerror(rc));
	if (err == ENOTRECOVERABLE && ix->panic != NULL)
		ix->panic(ix->panic_cookie);
	errno = err;
	return (-1);
}

static MDB_txn *
txn_of(const struct ix *ix)
{
	if (ix->in_still)
		return (ix->still);
	return (ix->wtxn != NULL ? ix->wtxn : ix->rtxn);
}

/* The transaction that all reading uses, parked. */
static int
make_reader(struct ix *ix)
{
	if (done(ix, "reader", mdb_txn_begin(ix->env, NULL, MDB_RDONLY,
	    &ix->rtxn)) == -1)
		return (-1);
	mdb_txn_reset(ix->rtxn);
	return (0);
}

static int
begin(struct ix *ix)
{
	if (done(ix, "begin", mdb_txn_begin(ix->env, NULL, 0,
	    &ix->wtxn)) == -1)
		return (-1);
	ix->generation++;
	return (0);
}

static int
commit(struct ix *ix)
{
	MDB_txn *txn = ix->wtxn;
	struct stint s;
	int rc, err;

	ix->wtxn = NULL;
	ix->commits++;
	ix->flushes += COMMIT_FLUSHES;
	stint_begin(&s);
	rc = done(ix, "commit", mdb_txn_commit(txn));
	stint_flushed(&s);
	if (rc == 0)
		return (0);
	err = errno;
	/* Was that the page that names the others?  Only the next one hears. */
	if (ix->rtxn != NULL) {
		if (done(ix, "commit", mdb_txn_renew(ix->rtxn)) == -1)
			return (-1);
		mdb_txn_reset(ix->rtxn);
	}
	errno = err;
	return (-1);
}

/* In one transaction make or open the databases, that of the format first. */
static int
open_dbs(struct ix *ix)
{
	size_t i;
	int err;

	if (begin(ix) == -1)
		return (-1);
	for (i = 0; i < IX__MAX; i++) {
		if (done(ix, name_of(i), mdb_dbi_open(ix->wtxn, db_names[i],
		    db_names[i] == NULL ? 0 : MDB_CREATE,
		    &ix->dbi[i])) == -1)
			goto err0;
		if (i != IX_META)
			continue;
		if ((ix->fresh = ix_format_check(ix)) == -1)
			goto err0;
	}
	return (commit(ix));

err0:
	err = errno;
	ix_abort(ix);
	errno = err;
	return (-1);
}

static int
open_env(struct ix *ix, const char *path, uint64_t map)
{
	MDB_envinfo info;
	MDB_stat st;
	int dead, rc;

	if ((rc = mdb_env_create(&ix->env)) != 0)
		goto err0;
	/*
	 * NOTLS: the parked read transaction belongs to no thread.  Read-ahead
	 * is of no use to random keys.
	 */
	if ((rc = mdb_env_set_maxdbs(ix->env, IX__MAX)) != 0 ||
	    (rc = mdb_env_set_mapsize(ix->env, map)) != 0 ||
	    (rc = mdb_env_open(ix->env, path, MDB_NOTLS | MDB_NORDAHEAD |
	    (MUTANT("no-publication-barrier") ? MDB_NOSYNC : 0),
	    0600)) != 0 ||
	    (rc = mdb_reader_check(ix->env, &dead)) != 0 ||
	    (rc = mdb_env_info(ix->env, &info)) != 0 ||
	    (rc = mdb_env_stat(ix->env, &st)) != 0)
		goto err0;
	if (dead > 0)
		log_info("index: cleared %d stale readers", dead);
	ix->map = info.me_mapsize;
	ix->page = st.ms_psize;
	return (ix_file_whole(ix->dirfd, (info.me_last_pgno + 1) * ix->page,
	    ix->page));

err0:
	return (done(ix, path, rc));
}

static int
load_runs(struct ix *ix)
{
	struct segs *s;
	int rc;

	if ((s = segs_new()) == NULL || ix_read(ix) == -1)
		goto err0;
	rc = segs_load(ix, ix->segs = s);
	ix_read_end(ix);
	if (rc == -1)
		log_warn("index: what it has of objects cannot be read");
	return (rc);

err0:
	segs_free(s);
	return (-1);
}

struct ix *
ix_open(int parent, const char *path, uint64_t map)
{
	struct ix *ix;
	int err;

	if ((ix = calloc(1, sizeof(*ix))) == NULL) {
		log_warn("index");
		goto err0;
	}
	ix->maps = 1;
	ix->flushes = IX_FILE_FLUSHES;
	if ((ix->dirfd = ix_file_dir(parent, path)) == -1 ||
	    open_env(ix, path, map) == -1 ||
	    ix_file_sync(ix->dirfd, parent) == -1 ||
	    open_dbs(ix) == -1 ||
	    make_reader(ix) == -1 || load_runs(ix) == -1)
		goto err1;
	return (ix);

err1:
	err = errno;
	ix_close(ix);
	errno = err;
err0:
	return (NULL);
}

void
ix_close(struct ix *ix)
{
	if (ix == NULL)
		return;
	if (ix->wtxn != NULL)
		mdb_txn_abort(ix->wtxn);
	segs_free(ix->segs);
	ix_still_end(ix);
	if (ix->rtxn != NULL)
		mdb_txn_abort(ix->rtxn);
	if (ix->env != NULL)    /* LMDB asks for it even if open failed */
		mdb_env_close(ix->env);
	io_close(&ix->dirfd);
	free(ix);
}

void
ix_on_panic(struct ix *ix, void (*fn)(void *), void *cookie)
{
	ix->panic = fn;
	ix->panic_cookie = cookie;
}

int
ix_fresh(const struct ix *ix)
{
	return (ix->fresh);
}

int
ix_read(struct ix *ix)
{
	if (done(ix, "read", mdb_txn_renew(ix->rtxn)) == -1)
		return (-1);
	ix->generation++;
	ix->reading = 1;
	return (0);
}

void
ix_read_end(struct ix *ix)
{
	if (ix->reading)
		mdb_txn_reset(ix->rtxn);
	ix->reading = 0;
}

static uint64_t
used(const struct ix *ix)
{
	MDB_envinfo info;

	(void)mdb_env_info(ix->env, &info);
	return ((info.me_last_pgno + 1) * ix->page);
}

/* Note what LMDB has for using again. */
static int
list_unused(struct ix *ix)
{
	MDB_cursor *cur;
	MDB_val k, v;
	int rc, bad = 0;

	if (done(ix, "unused pages", mdb_cursor_open(ix->still, FREE_DBI,
	    &cur)) == -1)
		return (-1);
	while (!bad && (rc = mdb_cursor_get(cur, &k, &v, MDB_NEXT)) == 0)
		bad = ix_pages_unused(ix->pages, v.mv_data, v.mv_size) == -1;
	mdb_cursor_close(cur);
	if (bad)
		return (-1);
	return (rc == MDB_NOTFOUND ? 0 : done(ix, "unused pages", rc));
}

/* Each page is in use, or can be used again. */
static int
pages_add_up(struct ix *ix)
{
	uint64_t n = ix_pages_count(ix->pages) + META_PAGES;
	MDB_stat st;
	size_t i;

	for (i = 0; i <= IX__MAX; i++) {
		if (done(ix, "pages", mdb_stat(ix->still, i == IX__MAX ?
		    FREE_DBI : ix->dbi[i], &st)) == -1)
			return (-1);
		n += st.ms_branch_pages + st.ms_leaf_pages +
		    st.ms_overflow_pages;
	}
	if (n == used(ix) / ix->page)
		return (0);
	log_warnx("index: of %" PRIu64 " pages %" PRIu64 " are known",
	    used(ix) / ix->page, n);
	errno = EUCLEAN;
	return (-1);
}

static int
still_begin(struct ix *ix)
{
	int err;

	if (done(ix, "read", mdb_txn_begin(ix->env, NULL, MDB_RDONLY,
	    &ix->still)) == -1)
		return (-1);
	if ((ix->pages = ix_pages_new(ix->page, used(ix) / ix->page)) == NULL ||
	    list_unused(ix) == -1 || pages_add_up(ix) == -1)
		goto err0;
	return (0);

err0:
	err = errno;
	ix_still_end(ix);
	errno = err;
	return (-1);
}

int
ix_still(struct ix *ix)
{
	int begun = ix->still == NULL;

	if (begun && still_begin(ix) == -1)
		return (-1);
	ix->generation++;
	ix->in_still = 1;
	return (begun);
}

void
ix_still_leave(struct ix *ix)
{
	ix->in_still = 0;
}

void
ix_still_end(struct ix *ix)
{
	if (ix->still != NULL)
		mdb_txn_abort(ix->still);
	ix_pages_free(ix->pages);
	ix->still = NULL;
	ix->pages = NULL;
	ix->in_still = 0;
}

/* What was found is where it should be; at other times it is believed. */
static int
in_place(struct ix *ix, const MDB_val *v)
{
	return (ix->in_still ? ix_pages_entry(ix->pages, v->mv_data,
	    v->mv_size) : 0);
}

static int
set_map(struct ix *ix, uint64_t map)
{
	ix_still_end(ix);
	if (done(ix, "larger map", mdb_env_set_mapsize(ix->env, map)) == -1)
		return (-1);
	log_info("index: map is now %" PRIu64 " MiB", map >> 20);
	ix->map = map;
	ix->maps += 2;
	return (0);
}

int
ix_grow(struct ix *ix)
{
	if (set_map(ix, ix->map * 2) == 0)
		return (0);
	/* Whatever kept it from that, this is what it means. */
	errno = ENOBUFS;
	return (-1);
}

/* Make the map large enough for this and all that may follow. */
static int
make_room(struct ix *ix, uint64_t need)
{
	uint64_t map = ix->map;

	while (used(ix) + need + SEG_ROOM + RESERVE > map)
		map *= 2;
	return (map == ix->map ? 0 : set_map(ix, map));
}

int
ix_full(struct ix *ix)
{
	if (ix->full)
		ix->full = make_room(ix, 0) == -1;
	return (ix->full);
}

int
ix_write(struct ix *ix, uint64_t need)
{
	ix_read_end(ix);
	/* Without a larger one this may still do: there is the reserve. */
	ix->full = make_room(ix, need) == -1;
	if (begin(ix) == -1)
		return (-1);
	if (segs_begin(ix->segs) == -1) {
		ix_abort(ix);
		errno = ENOMEM;
		return (-1);
	}
	return (0);
}

int
ix_commit(struct ix *ix)
{
	int err;

	if (seg_keep_forced(ix) == -1) {
		err = errno;
		ix_abort(ix);
		errno = err;
		return (-1);
	}
	if (commit(ix) == -1) {
		err = errno;
		segs_aborted(ix->segs);
		errno = err;
		return (-1);
	}
	segs_committed(ix->segs);
	return (0);
}

void
ix_abort(struct ix *ix)
{
	mdb_txn_abort(ix->wtxn);
	ix->wtxn = NULL;
	if (ix->segs != NULL)
		segs_aborted(ix->segs);
}

int
ix_upkeep_due(struct ix *ix)
{
	int due;

	if (ix_read(ix) == -1)
		return (0);
	due = seg_keep_due(ix);
	ix_read_end(ix);
	return (due);
}

int
ix_upkeep(struct ix *ix)
{
	int err;

	if (!ix_upkeep_due(ix))
		return (0);
	if (ix_write(ix, SEG_ROOM) == -1)
		return (-1);
	if (seg_keep_step(ix, SEG_IDLE_GROUPS) == -1) {
		err = errno;
		ix_abort(ix);
		errno = err;
		return (-1);
	}
	CRASH_POINT("index-upkeep-written");
	if (ix_commit(ix) == -1)
		return (-1);
	CRASH_POINT("index-upkeep-committed");
	return (ix_upkeep_due(ix));
}

struct segs *
ix_segs(struct ix *ix)
{
	return (ix->segs);
}

uint64_t
ix_generation(const struct ix *ix)
{
	return (ix->generation);
}

int
ix_get(struct ix *ix, enum ix_db db, const void *key, size_t klen,
    const void **val, size_t *vlen)
{
	MDB_val k = { klen, (void *)(uintptr_t)key };
	MDB_val v;

	if (done(ix, name_of(db), mdb_get(txn_of(ix), ix->dbi[db], &k,
	    &v)) == -1 || in_place(ix, &v) == -1)
		return (-1);
	*val = v.mv_data;
	*vlen = v.mv_size;
	return (0);
}

int
ix_put(struct ix *ix, enum ix_db db, const void *key, size_t klen,
    const void *val, size_t vlen)
{
	MDB_val k = { klen, (void *)(uintptr_t)key };
	MDB_val v = { vlen, (void *)(uintptr_t)val };

	return (done(ix, name_of(db), mdb_put(ix->wtxn, ix->dbi[db], &k, &v,
	    0)));
}

int
ix_del(struct ix *ix, enum ix_db db, const void *key, size_t klen)
{
	MDB_val k = { klen, (void *)(uintptr_t)key };

	return (done(ix, name_of(db), mdb_del(ix->wtxn, ix->dbi[db], &k,
	    NULL)));
}

uint64_t
ix_place(const struct ix *ix, size_t len)
{
	if (len > ix->page / 2)
		return (ix->maps);
	/* Even, so that the two kinds are never equal. */
	return (ix->wtxn == NULL ? 2 * ix->generation : 0);
}

int
ix_count(struct ix *ix, enum ix_db db, uint64_t *n)
{
	MDB_stat st;

	if (done(ix, name_of(db), mdb_stat(txn_of(ix), ix->dbi[db],
	    &st)) == -1)
		return (-1);
	*n = st.ms_entries;
	return (0);
}

int
ix_empty(struct ix *ix, enum ix_db db)
{
	return (done(ix, name_of(db), mdb_drop(ix->wtxn, ix->dbi[db], 0)));
}

/* The first key of the range in its direction; MDB_NOTFOUND for none. */
static int
scan_start(MDB_cursor *cur, const uint8_t *prefix, size_t len, int down,
    MDB_val *k, MDB_val *v)
{
	uint8_t past[IX_KEY_MAX];
	int rc;

	memcpy(past, prefix, len);
	k->mv_data = past;
	k->mv_size = len;
	if (!down)
		return (mdb_cursor_get(cur, k, v, len == 0 ? MDB_FIRST :
		    MDB_SET_RANGE));
	/* From behind the last key that can have the prefix, one back. */
	memset(past + len, 0xff, sizeof(past) - len);
	k->mv_size = sizeof(past);
	rc = mdb_cursor_get(cur, k, v, MDB_SET_RANGE);
	if (rc == MDB_NOTFOUND)
		return (mdb_cursor_get(cur, k, v, MDB_LAST));
	if (rc != 0)
		return (rc);
	return (mdb_cursor_get(cur, k, v, MDB_PREV));
}

/* The first key of the range behind ${after}; MDB_NOTFOUND for none. */
static int
scan_behind(MDB_cursor *cur, const void *after, size_t alen, MDB_val *k,
    MDB_val *v)
{
	int rc;

	k->mv_data = (void *)(uintptr_t)after;
	k->mv_size = alen;
	rc = mdb_cursor_get(cur, k, v, MDB_SET_RANGE);
	if (rc == 0 && k->mv_size == alen &&
	    memcmp(k->mv_data, after, alen) == 0)
		rc = mdb_cursor_get(cur, k, v, MDB_NEXT);
	return (rc);
}

/* Go on with a cursor that stands on the first key, or had ${rc} instead. */
static int
scan_on(struct ix *ix, enum ix_db db, MDB_cursor *cur, int rc, MDB_val *k,
    MDB_val *v, const void *prefix, size_t len, MDB_cursor_op op,
    ix_scan_fn *fn, void *cookie)
{
	int stop = 0;

	while (rc == 0 && k->mv_size >= len &&
	    memcmp(k->mv_data, prefix, len) == 0) {
		if (in_place(ix, k) == -1 || in_place(ix, v) == -1)
			stop = -1;
		else
			stop = fn(cookie, k->mv_data, k->mv_size, v->mv_data,
			    v->mv_size);
		if (stop != 0)
			break;
		rc = mdb_cursor_get(cur, k, v, op);
	}
	mdb_cursor_close(cur);
	if (stop != 0)
		return (stop);
	return (rc == MDB_NOTFOUND ? 0 : done(ix, name_of(db), rc));
}

int
ix_scan(struct ix *ix, enum ix_db db, const void *prefix, size_t len,
    int down, ix_scan_fn *fn, void *cookie)
{
	MDB_cursor *cur;
	MDB_val k, v;
	int rc;

	if (done(ix, name_of(db), mdb_cursor_open(txn_of(ix), ix->dbi[db],
	    &cur)) == -1)
		return (-1);
	rc = scan_start(cur, prefix, len, down, &k, &v);
	return (scan_on(ix, db, cur, rc, &k, &v, prefix, len,
	    down ? MDB_PREV : MDB_NEXT, fn, cookie));
}

int
ix_scan_after(struct ix *ix, enum ix_db db, const void *prefix, size_t len,
    const void *after, size_t alen, ix_scan_fn *fn, void *cookie)
{
	MDB_cursor *cur;
	MDB_val k, v;
	int rc;

	if (alen == 0)
		return (ix_scan(ix, db, prefix, len, 0, fn, cookie));
	if (done(ix, name_of(db), mdb_cursor_open(txn_of(ix), ix->dbi[db],
	    &cur)) == -1)
		return (-1);
	rc = scan_behind(cur, after, alen, &k, &v);
	return (scan_on(ix, db, cur, rc, &k, &v, prefix, len, MDB_NEXT, fn,
	    cookie));
}

void
ix_stat(const struct ix *ix, struct ix_stat *st)
{
	st->map_bytes = ix->map;
	st->map_used = used(ix);
	st->commits = ix->commits;
	st->flushes = ix->flushes;
	st->runs = segs_count(ix->segs);
	st->memory = segs_memory(ix->segs);
}
