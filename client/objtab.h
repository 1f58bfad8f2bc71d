#ifndef ERRAND_OBJTAB_H
#define ERRAND_OBJTAB_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"

/*
 * The objects a scan made, and where their bytes are: in memory, or in a file
 * that is read again and compared.
 *
 * Invariants:
 *  1. An entry is found by its reference and never changes its place; an
 *     entry that was added later comes later on its path of slots.
 *  2. Bytes held in memory are at most OBJTAB_KEEP, but trees and lists are
 *     always held.
 */
#define OBJTAB_KEEP     (64UL * 1024 * 1024)

struct objtab;

struct objtab *objtab_new(void);
void objtab_free(struct objtab *);

/**
 * objtab_file(t, path, fd):
 * Name the source of the content objects that follow: a path relative to the
 * root, or a descriptor (taken) when ${fd} is not -1.  Returns an index, or -1.
 */
int64_t objtab_file(struct objtab *, const char *, int);

/**
 * objtab_add(t, ref, buf, len, file, off):
 * Add an object (no-op when present).  Content that does not fit in memory is
 * remembered as ${len} bytes at ${off} of ${file}.  0 or -1.
 */
int objtab_add(struct objtab *, const struct obj_ref *, const void *, size_t,
    int64_t file, uint64_t off);

int objtab_has(const struct objtab *, const struct obj_ref *);

/**
 * objtab_undo(t, mark):
 * Take out again what was added since objtab_mark gave ${mark}.
 */
size_t objtab_mark(const struct objtab *);
void objtab_undo(struct objtab *, size_t);

/**
 * objtab_locate(t, list):
 * Set the offsets of the chunks that a list (held in the table) puts in order;
 * for files whose chunks were not kept.  0 or -1.
 */
int objtab_locate(struct objtab *, const struct obj_ref *);

/* The same for content that is one chunk, or nothing. */
int objtab_lone(struct objtab *, const struct obj_ref *);

/**
 * objtab_get(t, rootfd, ref, fn, cookie):
 * Hand out an object's bytes.  Return 0, the value of ${fn}, or -1 with errno
 * (ENOENT, ESTALE; objtab_stale then names the file).
 */
int objtab_get(struct objtab *, int, const struct obj_ref *, obj_sink_fn *,
    void *);

/* Where an object was first met: the path of its file, NULL for what is not
 * content, and its length.  0, or -1: it is not here. */
int objtab_source(const struct objtab *, const struct obj_ref *, const char **,
    uint32_t *);
const char *objtab_stale(const struct objtab *);

/* All of them in the order they were added: chunks only, or the others. */
int objtab_each(struct objtab *, int, int content, obj_sink_fn *, void *);

/* Counts: chunks, and the others. */
void objtab_count(const struct objtab *, uint64_t *cn, uint64_t *cbytes,
    uint64_t *mn, uint64_t *mbytes);

#endif /* !ERRAND_OBJTAB_H */
