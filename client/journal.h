#ifndef ERRAND_JOURNAL_H
#define ERRAND_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object.h"
#include "lib/text.h"

/*
 * What an apply is about to do to a tree, written before it does any of it, so
 * that the next command can finish it or take it back.  It lies in
 * ROOT/.errand-apply, beside the staged files: on the file system of the tree,
 * which keeps their order.  Nothing of a job or of a repository can get there
 * (reserved.h), and one that was put there all the same is not believed: it
 * ends with a hash keyed by a secret of the user's state directory, over the
 * root's device and inode too.
 *
 * How far an apply came is not written down.  It is seen: a staged file is
 * where it was staged, or it is not.
 */
enum jop_type {
	JOP_CREATE = 1,         /* staged n<slot> to path, which is absent */
	JOP_REPLACE,            /* staged n<slot> and path change places */
	JOP_REMOVE,             /* path to o<slot> */
	JOP_MKDIR,
	JOP_RMDIR,
	JOP_CHMOD
};

/* A file, link or directory as it was seen. */
struct jfile {
	uint8_t kind;           /* enum tree_kind */
	uint8_t racy;           /* times do not tell: compare ${ref} */
	uint32_t mode;          /* 07777 at most */
	uint64_t ino, size;
	int64_t mtime_ns;
	struct obj_ref ref;     /* of a file */
};

struct jop {
	uint8_t type;
	uint32_t slot;
	const char *path;       /* terminated; of the journal */
	uint32_t path_len;
	struct jfile old;       /* REPLACE, REMOVE; RMDIR, CHMOD: mode */
	struct jfile new;       /* CREATE, REPLACE; MKDIR, CHMOD: mode */
};

/*
 * Invariants of struct journal:
 *  1. the operations are in the order in which they are done; to take them
 *     back is to go from the last to the first.
 *  2. paths obey tree_name_fault in every part, and reserved_path.
 */
struct journal {
	char job[JOB_ID_LEN + 1];
	uint64_t dev, ino;      /* of the root */
	struct jop *ops;
	size_t n, cap;
	char *buf;              /* what paths point into, after journal_parse */
};

#define JOURNAL_KEY     32

/* Append one; the path is borrowed until journal_done.  0 or -1/ENOMEM. */
int journal_add(struct journal *, const struct jop *);
void journal_done(struct journal *);

/* Encode into fresh memory, with the keyed hash.  0 or -1. */
int journal_pack(const struct journal *, const uint8_t *, uint8_t **,
    size_t *);

/**
 * journal_parse(buf, len, key, j):
 * The reverse.  Return 0, or -1 with errno: EACCES for the hash, EPROTO for
 * anything else; then ${j} is empty.
 */
int journal_parse(const uint8_t *, size_t, const uint8_t *, struct journal *);

/* The user's secret, made when there is none.  0 or -1. */
int journal_key(uint8_t *);

#endif /* !ERRAND_JOURNAL_H */
