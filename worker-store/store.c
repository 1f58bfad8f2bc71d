/*
 * The store as a whole: opening, recovery after a crash, finding and reading
 * objects.  Touches the lock and, through the parts, everything in the store's
 * directory.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <sodium.h>

#include "batch.h"
#include "care.h"
#include "doubt.h"
#include "gc.h"
#include "index.h"
#include "index_pack.h"
#include "journal.h"
#include "journal_dump.h"
#include "key.h"
#include "lease.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/size.h"
#include "pack.h"
#include "peer.h"
#include "pending.h"
#include "quarantine.h"
#include "rebuild.h"
#include "rewrite.h"
#include "store.h"
#include "upkeep.h"
#include "usage.h"
#include "walks.h"

#define PATH_LEN        4096
#define NEW_PACK_ROOM   (1024 * 1024)
#define EXIT_SYSTEM     111

/* The directory is ours alone, and so is every file that we make. */
static int
open_dir(struct store *st, const char *dir)
{
	struct stat sb;

	st->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (st->dirfd == -1 || fstat(st->dirfd, &sb) == -1) {
		log_warn("%s", dir);
		return (-1);
	}
	if (sb.st_uid != geteuid() || (sb.st_mode & 077) != 0) {
		log_warnx("%s must belong to user %u and have mode 0700", dir,
		    (unsigned int)geteuid());
		return (-1);
	}
	return (0);
}

/* As a backup is not that was put in place by root and left so. */
static int
owned(const struct store *st, const char *dir)
{
	static const char *const names[] = { "key", "index", "packs",
	    "index/data.mdb" };
	struct stat sb;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fstatat(st->dirfd, names[i], &sb,
		    AT_SYMLINK_NOFOLLOW) == -1 || sb.st_uid == geteuid())
			continue;
		log_warnx("%s/%s must belong to user %u, and so must all that "
		    "is in %s", dir, names[i], (unsigned int)geteuid(), dir);
		return (-1);
	}
	return (0);
}

/* The kernel gives the lock up with the process, however that ends. */
static int
lock(struct store *st)
{
	st->lockfd = openat(st->dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC |
	    O_NOFOLLOW, 0600);
	if (st->lockfd == -1) {
		log_warn("the file lock cannot be opened");
		return (-1);
	}
	if (flock(st->lockfd, LOCK_EX | LOCK_NB) == 0)
		return (0);
	if (errno == EWOULDBLOCK)
		log_warnx("another errand-store has this store open: end it "
		    "first");
	else
		log_warn("the file lock cannot be locked");
	return (-1);
}

/* Without an index the packs are unnamed; an empty one would hide them. */
static int
index_wanted(struct store *st)
{
	uint32_t last;

	if (faccessat(st->dirfd, "index/data.mdb", F_OK,
	    AT_SYMLINK_NOFOLLOW) == 0)
		return (0);
	if (packs_last(st->packs, &last) == -1)
		return (-1);
	if (last == 0)
		return (0);
	log_warnx("the index is gone and there are packs: make it anew from "
	    "them with \"errandctl store rebuild-index\"");
	return (-1);
}

struct recovery {
	struct packs *packs;
	struct ix_pack open;    /* number 0: none */
	uint32_t damaged;
	uint32_t *named;
	size_t n;
	size_t cap;
};

static int
recover_pack(void *cookie, const struct ix_pack *pack)
{
	struct recovery *r = cookie;
	void *p;
	int rc;

	if ((p = size_grow(r->named, &r->cap, r->n + 1,
	    sizeof(*r->named))) == NULL)
		return (-1);
	r->named = p;
	r->named[r->n++] = pack->number;
	if (!pack->sealed) {
		r->open = *pack;
		return (0);
	}
	if ((rc = packs_check(r->packs, pack->number, pack->len)) == -1)
		return (-1);
	r->damaged += (uint32_t)rc;
	return (0);
}

/* The new pack's number in the index, and the old one's end. */
static int
pack_change(struct store *st, const struct ix_pack *old, uint32_t number)
{
	struct ix_pack begun = { .number = number, .len = PACK_HEAD };

	if (packs_begin(st->packs, number) == -1)
		goto err0;
	if (ix_write(st->ix, NEW_PACK_ROOM) == -1)
		goto err0;
	if ((old->number != 0 && ix_pack_put(st->ix, old) == -1) ||
	    ix_pack_put(st->ix, &begun) == -1)
		goto err1;
	if (ix_commit(st->ix) == -1)
		goto err0;
	CRASH_POINT("pack-named");
	packs_use(st->packs);
	return (0);

err1:
	ix_abort(st->ix);
err0:
	return (-1);
}

struct ix_pack
store_open_pack(const struct store *st)
{

	return ((struct ix_pack){
		.number = packs_number(st->packs),
		.len = packs_end(st->packs),
		.journal = packs_journal(st->packs)
	});
}

int
store_new_pack(struct store *st)
{
	struct ix_pack old;

	/* What is written and not flushed has to be by now. */
	if (packs_unsynced(st->packs) > 0 && pack_sync(st->packs) == -1) {
		if (st->journal != NULL)
			journal_lost(st->journal);
		return (-1);
	}
	old = store_open_pack(st);
	old.sealed = 1;
	return (pack_change(st, &old, old.number + 1));
}

/*
 * Bring packs and index together: what the index does not count on goes, and
 * what it counts on is looked at.  A damaged pack does not keep the rest from
 * being served; its objects are found out when they are read.
 */
static int
recover(struct store *st)
{
	struct recovery r = { .packs = st->packs };
	int rc;

	if (ix_read(st->ix) == -1)
		return (-1);
	rc = ix_packs(st->ix, recover_pack, &r);
	ix_read_end(st->ix);
	/*
	 * Nothing is removed for the sake of an index that is not the newest.
	 */
	if (rc == 0 && (rc = packs_prune(st->packs, r.open.number)) == 0)
		rc = packs_sweep(st->packs, r.named, r.n, r.open.number);
	free(r.named);
	if (rc == -1)
		return (-1);
	if (r.damaged > 0)
		log_warnx("%" PRIu32 " damaged packs", r.damaged);
	st->packs_damaged = r.damaged;
	if (r.open.number == 0)
		return (pack_change(st, &r.open, 1));
	if (ix_read(st->ix) == -1)
		return (-1);
	rc = ix_pack_end_check(st->ix, &r.open);
	ix_read_end(st->ix);
	if (rc == -1)
		return (-1);
	rc = packs_attach(st->packs, r.open.number, r.open.len,
	    r.open.journal);
	if (rc == 0)
		return (key_note(st->ix, packs_key(st->packs)));
	if (rc == -1)
		return (-1);
	st->packs_damaged++;
	r.open.sealed = 1;
	return (pack_change(st, &r.open, r.open.number + 1));
}

static void
on_panic(void *cookie)
{
	store_broken(cookie);
}

/*
 * Say what can be done when it is the index that keeps us from opening.  LMDB
 * believes the numbers in its pages: with a damaged one it may write where
 * nothing can be written, or from where there is no memory.
 */
static int
index_bad(void)
{
	static const int wild[] = { EIO, EFAULT, EFBIG, EINVAL };
	size_t i;

	if (errno == EUCLEAN)
		log_warnx("the index is damaged: make it anew from the packs "
		    "with \"errandctl store rebuild-index\"");
	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
		if (errno == wild[i])
			log_warnx("the index cannot be written: look at the "
			    "disk; if that is sound the index is damaged: make "
			    "it anew from the packs with \"errandctl store "
			    "rebuild-index\"");
	}
	return (-1);
}

static int
open_parts(struct store *st, const char *dir, int rebuild)
{
	uint8_t key[PACK_KEY_LEN];
	char path[PATH_LEN];
	int n;

	n = snprintf(path, sizeof(path), "%s/index", dir);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		log_warnx("the path of the store is too long");
		return (-1);
	}
	if (key_load(st->dirfd, key) == -1)
		return (-1);
	st->packs = packs_open(st->dirfd, key);
	sodium_memzero(key, sizeof(key));
	if (st->packs == NULL)
		return (-1);
	if ((rebuild || rebuild_wanted(st->dirfd)) &&
	    rebuild_run(st, dir) == -1)
		return (-1);
	if (index_wanted(st) == -1)
		return (-1);
	if ((st->ix = ix_open(st->dirfd, path, TEST_NUMBER("map",
	    IX_MAP_MIN))) == NULL)
		return (index_bad());
	ix_on_panic(st->ix, on_panic, st);
	if ((st->doubt = doubt_new(st)) == NULL) {
		log_warn("no memory to open the store");
		return (-1);
	}
	if (key_check(st->ix, packs_key(st->packs)) == -1 ||
	    doubt_open(st) == -1 || recover(st) == -1)
		return (index_bad());
	return (0);
}

static int
make_parts(struct store *st)
{
	if ((st->pending = pending_new()) == NULL ||
	    (st->batch = batch_new(st)) == NULL ||
	    journal_dump(st) == -1 ||
	    (st->journal = journal_open(st)) == NULL ||
	    (st->walks = walks_new(st)) == NULL ||
	    quarantine_open(st) == NULL ||
	    (st->leases = leases_new(st)) == NULL ||
	    (st->uses = uses_new()) == NULL ||
	    (st->gc = gc_new(st)) == NULL ||
	    (st->rewrite = rewrite_new(st)) == NULL ||
	    (st->peers = peers_new()) == NULL ||
	    (st->care = care_new(st)) == NULL ||
	    (st->upkeep = upkeep_new(st)) == NULL) {
		if (errno == EUCLEAN)
			return (index_bad());
		log_warn("no memory to open the store");
		return (-1);
	}
	return (0);
}

struct store *
store_open(struct event_base *base, const char *dir, int rebuild)
{
	struct store *st;

	if ((st = calloc(1, sizeof(*st))) == NULL) {
		log_warn("no memory to open the store");
		goto err0;
	}
	st->base = base;
	st->dirfd = st->lockfd = -1;
	if (open_dir(st, dir) == -1 || owned(st, dir) == -1 ||
	    lock(st) == -1 ||
	    open_parts(st, dir, rebuild) == -1 || make_parts(st) == -1)
		goto err1;
	rewrite_kick(st);
	return (st);

err1:
	store_close(st);
err0:
	return (NULL);
}

void
store_close(struct store *st)
{
	if (st == NULL)
		return;
	care_free(st->care);
	st->care = NULL;
	upkeep_free(st->upkeep);
	walks_free(st->walks);
	journal_free(st->journal);
	batch_free(st->batch);
	peers_free(st->peers);
	quarantine_free(st->quarantine);
	rewrite_free(st->rewrite);
	gc_free(st->gc);
	doubt_free(st->doubt);
	uses_free(st->uses);
	leases_free(st->leases);
	pending_free(st->pending);
	ix_close(st->ix);
	packs_close(st->packs);
	io_close(&st->lockfd);
	io_close(&st->dirfd);
	free(st);
}

int
store_find(struct store *st, uint32_t tenant, const struct obj_ref *ref,
    struct ix_object *o)
{
	const struct ix_object *p;

	if (quarantine_hides(st, tenant, ref)) {
		errno = ENOENT;
		return (-1);
	}
	if ((p = pending_find(st->pending, tenant, ref)) != NULL) {
		*o = *p;
		return (0);
	}
	return (ix_object_get(st->ix, tenant, ref, o));
}

int
store_read(struct store *st, const struct ix_object *o, uint8_t *raw)
{
	char hex[2 * OBJ_ID_LEN + 1];

	if (pack_read(st->packs, o->tenant, &o->ref, &o->loc, raw) == 0)
		return (0);
	if (errno != EBADMSG) {
		log_warn("pack %" PRIu32 " cannot be read", o->loc.pack);
		return (-1);
	}
	st->damaged++;
	obj_id_hex(o->ref.id, hex);
	log_warnx("object %s of tenant %" PRIu32 " is damaged (pack %" PRIu32
	    ", offset %" PRIu32 ")", hex, o->tenant, o->loc.pack, o->loc.off);
	quarantine_add(st, o);
	errno = EBADMSG;
	return (-1);
}

void
store_broken(struct store *st)
{
	st->broken = 1;
	st->status = EXIT_SYSTEM;
	event_base_loopexit(st->base, NULL);
}

int
store_commit(struct store *st)
{
	if (ix_commit(st->ix) == 0) {
		upkeep_touch(st->upkeep);
		return (0);
	}
	if (errno == ENOTRECOVERABLE) {
		store_broken(st);
		errno = ENOTRECOVERABLE;
	}
	return (-1);
}

uint64_t
store_disk_reserve(const struct store *st)
{
	const uint64_t least = 16ULL << 20, most = 1ULL << 30;
	struct statvfs vfs;
	uint64_t part;

	if (fstatvfs(st->dirfd, &vfs) == -1)
		return (most);
	part = (uint64_t)vfs.f_blocks * vfs.f_frsize / 64;
	return (part < least ? least : part > most ? most : part);
}

uint64_t
store_disk_free(const struct store *st)
{
	struct statvfs vfs;

	if (fstatvfs(st->dirfd, &vfs) == -1)
		return (0);
	return ((uint64_t)vfs.f_bavail * vfs.f_frsize);
}
