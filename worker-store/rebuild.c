/*
 * The index made anew: its order, the directories, the words about it.  What is
 * read from packs is rebuild_packs.c's and rebuild_jobs.c's.
 */
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "index.h"
#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pack.h"
#include "rebuild.h"
#include "rebuild_internal.h"
#include "store.h"
#include "word.h"

#define MARK            "rebuild"
#define PATH_LEN        4096
#define ROOM_LEAST      (1ULL << 20)

int
rebuild_wanted(int dirfd)
{
	return (faccessat(dirfd, MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

/* The new index in the place of the old one; both renames or begin again. */
static int
swap(int dirfd)
{
	if (io_remove_tree(dirfd, "index.old") == -1 ||
	    (renameat(dirfd, "index", dirfd, "index.old") == -1 &&
	    errno != ENOENT))
		goto err0;
	CRASH_POINT("rebuild-old-moved");
	if (renameat(dirfd, "index.new", dirfd, "index") == -1 ||
	    fsync(dirfd) == -1)
		goto err0;
	CRASH_POINT("rebuild-renamed");
	if (unlinkat(dirfd, MARK, 0) == -1 || fsync(dirfd) == -1)
		goto err0;
	return (0);

err0:
	log_warn("the new index cannot be put in its place");
	return (-1);
}

static void
sum_up(const struct rebuild *r)
{
	char when[32] = "nothing", lost[160] = "";
	time_t sec = (time_t)(r->last_us / 1000000);
	struct tm tm;

	if (r->last_us != 0 && gmtime_r(&sec, &tm) != NULL)
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC",
		    &tm);
	if (r->nbad + r->lost_bytes + r->lost_entries + r->lost_refs > 0)
		(void)snprintf(lost, sizeof(lost), "; lost are %zu damaged "
		    "objects, %" PRIu64 " changes of jobs, %" PRIu64
		    " references and %" PRIu64 " bytes that cannot be read: "
		    "errandd's log names them", r->nbad, r->lost_entries,
		    r->lost_refs, r->lost_bytes);
	log_info("index made anew: %" PRIu64 " packs, %" PRIu64 " objects, %"
	    PRIu64 " jobs, the last change of a job is of %s%s", r->packs,
	    r->objects, r->jobs, when, lost);
	word_wait("the index was made anew: %" PRIu64 " packs, %" PRIu64
	    " objects, %" PRIu64 " jobs, the last change of a job is of %s%s",
	    r->packs, r->objects, r->jobs, when, lost);
}

static int
make(struct rebuild *r)
{
	int rc = -1;

	if (rebuild_packs(r) == 0 && rebuild_jobs(r) == 0 &&
	    rebuild_usage(r) == 0 &&
	    rebuild_live(r) == 0)
		rc = 0;
	free(r->batch);
	free(r->bad);
	free(r->entries);
	free(r->gone);
	return (rc);
}

/*
 * Is there room to begin with?  Without a page for it a file that is mapped
 * would end the process, whose last words would be of damage.
 */
static int
no_room(const struct store *st)
{
	struct statvfs vfs;

	if (fstatvfs(st->dirfd, &vfs) == -1 ||
	    ((vfs.f_files == 0 || vfs.f_favail > 0) &&
	    (uint64_t)vfs.f_bavail * vfs.f_frsize >= ROOM_LEAST))
		return (0);
	log_warnx("the disk is full, so no new index can be made: make room on "
	    "the store's disk first");
	return (1);
}

int
rebuild_run(struct store *st, const char *dir)
{
	struct rebuild r = { .st = st };
	char path[PATH_LEN];
	int n, rc;

	n = snprintf(path, sizeof(path), "%s/index.new", dir);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		log_warnx("the path of the store is too long");
		return (-1);
	}
	log_info("the index is made anew from the packs");
	if (no_room(st))
		return (-1);
	if (!rebuild_wanted(st->dirfd) && io_file_replace(st->dirfd, MARK,
	    0600, "", 0) == -1) {
		log_warn("the file " MARK " cannot be written");
		return (-1);
	}
	if (io_remove_tree(st->dirfd, "index.new") == -1) {
		log_warn("index.new cannot be removed");
		return (-1);
	}
	if ((st->ix = ix_open(st->dirfd, path, IX_MAP_MIN)) == NULL)
		return (-1);
	rc = make(&r);
	ix_close(st->ix);
	st->ix = NULL;
	if (rc == -1 || swap(st->dirfd) == -1) {
		(void)no_room(st);
		return (-1);
	}
	sum_up(&r);
	return (0);
}
