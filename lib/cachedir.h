#ifndef ERRAND_CACHEDIR_H
#define ERRAND_CACHEDIR_H

#include <stddef.h>
#include <stdint.h>

/*
 * A tenant's caches on disk, in caches/ of its work directory:
 *
 *   KEY/mark       what it is, see cachedir.c; written last
 *   KEY/tree       what a job left; never written to afterwards
 *   .KEY.ID        one that is being made, or was replaced or evicted
 *
 * KEY is made of project and name.  Whoever uses one holds a shared lock on its
 * directory; who makes or removes one an exclusive lock.  What begins with a
 * dot and is not locked is nobody's.  A new state takes the name of the former
 * in one step; so there is always one of the two.  While it is decided what
 * there is room for, caches/ itself is locked.
 */
#define CACHEDIR_KEPT   64              /* of one tenant */
#define CACHEDIR_NAME   64
#define CACHEDIR_KEY    32              /* characters */
#define CACHEDIR_TMP    (CACHEDIR_KEY + 48)

struct cachedir_mark {
	char project[CACHEDIR_NAME + 1];
	char name[CACHEDIR_NAME + 1];
	uint64_t bytes, entries;
	uint64_t saved_us;              /* real time */
};

/* One that is there. */
struct cachedir {
	char key[CACHEDIR_TMP];         /* the directory */
	struct cachedir_mark mark;      /* all zero: not to be believed */
	uint64_t used_us;
	uint8_t retired;                /* replaced, and still used */
	uint8_t goes;                   /* for whoever has the list */
};

/* One that is being made. */
struct cachedir_new {
	int caches, dir;
	uint64_t bytes;                 /* that its mark says */
	char key[CACHEDIR_KEY + 1];
	char tmp[CACHEDIR_TMP];
};

/* 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-', beginning with a letter or
 * digit. */
int cachedir_name_valid(const char *);

/* UTF-8 without control characters, at most 64 bytes; may be empty. */
int cachedir_project_valid(const char *);

/* The directory's name for project and name; CACHEDIR_KEY + 1 bytes. */
void cachedir_key(const char *, const char *, char *);

/* Open caches/ of the work directory ${dir}; with ${make}, make it.  -1. */
int cachedir_open(int, int);

/**
 * cachedir_find(caches, project, name, mark):
 * Lock the saved state against removal and note that it is used.  Return its
 * directory, to be closed, or -1 with errno: ENOENT, there is none; ESTALE, it
 * is there and not to be believed.
 */
int cachedir_find(int, const char *, const char *, struct cachedir_mark *);

/**
 * cachedir_begin(caches, project, name, id, new):
 * Begin to make a state; ${id} tells it from others of the same cache.  Return
 * 0 with an empty tree/ in ${new}.dir, or -1.
 */
int cachedir_begin(int, const char *, const char *, const char *,
    struct cachedir_new *);

/* The tree is whole: write the mark.  0 or -1. */
int cachedir_seal(struct cachedir_new *, const struct cachedir_mark *);

/* Flush all that was sealed.  0 or -1. */
int cachedir_flush(int);

/**
 * cachedir_publish(new, total):
 * Make room so that all of the tenant's hold at most ${total} bytes (evicting
 * those used longest ago that nobody uses), and put it in the place of the
 * former.  It was flushed.  Return 0, or -1 with errno, EDQUOT for no room;
 * then nothing has changed.  To be aborted in any case.
 */
int cachedir_publish(struct cachedir_new *, uint64_t);

/* Remove what was made and not published. */
void cachedir_abort(struct cachedir_new *);

/**
 * cachedir_list(caches, v, n):
 * All of them, the retired too, the oldest use first, to be freed.  0 or -1.
 */
int cachedir_list(int, struct cachedir **, size_t *);

/* Take a cache out of the list of those that are; it goes with
 * cachedir_sweep.  Return 0 or -1. */
int cachedir_retire(int, const char *);

/* Remove all that is nobody's. */
void cachedir_sweep(int);

#endif /* !ERRAND_CACHEDIR_H */
