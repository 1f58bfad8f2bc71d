#ifndef ERRAND_SCAN_H
#define ERRAND_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "select.h"

/*
 * A snapshot of a tree as objects.  What was hashed is what can be sent: an
 * object's bytes are kept in memory, or read again and compared with the id.
 */
struct scan;

/* A note for the user: a path, escaped, and what was done about it. */
typedef void scan_note_fn(void *, const char *path, const char *text);

struct scan_opts {
	const char *root;               /* absolute */
	struct select *sel;
	const char *cache;              /* path of the stat cache, or NULL */
	int rehash;                     /* do not believe the stat cache */
	scan_note_fn *note;
	void (*progress)(void *, uint64_t files, uint64_t bytes);
	void *cookie;
};

struct scan_sum {
	struct obj_ref root;
	/* The content digest: the root's id when all times are 0, of parts in
	 * which they are.  The same for equal trees, wherever they are. */
	uint8_t content[OBJ_ID_LEN];
	uint64_t files, dirs, links, bytes;
	uint64_t read_files;            /* not answered by the stat cache */
	uint64_t skipped;               /* special files, vanished ones */
	uint64_t unstable;              /* changed while they were read */
};

/**
 * scan_run(opts, why):
 * Read the tree.  Return NULL with a sentence in ${why} (LIMIT_TEXT bytes).
 */
struct scan *scan_run(const struct scan_opts *, char *);
void scan_free(struct scan *);
const struct scan_sum *scan_sum(const struct scan *);

/**
 * scan_cached_root(path, ref):
 * The root that a stat cache describes: the last one the host acknowledged.
 * Return 0, or -1 when there is none.
 */
int scan_cached_root(const char *, struct obj_ref *);

/**
 * scan_save(s):
 * Write the stat cache: this root is known to the host from now on.  0 or -1.
 */
int scan_save(struct scan *);

/*
 * Objects that are not below the cached root, children before parents.
 * scan_news counts them; ${content} are chunks of files, the rest trees and
 * lists.  scan_each calls ${fn} with the bytes of each; -1/ESTALE names a file
 * that has changed since: scan again.
 */
struct scan_news {
	uint64_t meta_objects, meta_bytes;
	uint64_t content_objects, content_bytes;
};
void scan_news(const struct scan *, struct scan_news *);
int scan_each(struct scan *, int content, obj_sink_fn *, void *);

/**
 * scan_object(s, ref, fn, cookie):
 * One object by its reference.  Return 0, the value of ${fn}, or -1 with
 * errno: ENOENT when this scan did not make it (scan with .rehash then),
 * ESTALE as above.
 */
int scan_object(struct scan *, const struct obj_ref *, obj_sink_fn *, void *);

/* Add bytes that are not part of the tree (the spec) to what can be sent. */
int scan_add(struct scan *, const struct obj_ref *, const void *, size_t);

/* See objtab_source. */
int scan_source(const struct scan *, const struct obj_ref *, const char **,
    uint32_t *);

/* Path of the file an ESTALE was about (borrowed), or "". */
const char *scan_stale_path(const struct scan *);

#endif /* !ERRAND_SCAN_H */
