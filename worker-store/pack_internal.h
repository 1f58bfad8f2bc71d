#ifndef ERRAND_PACK_INTERNAL_H
#define ERRAND_PACK_INTERNAL_H

#include "lib/hash_many.h"
#include "lib/object.h"
#include "pack.h"

/* What pack.c, pack_dir.c and pack_read.c share, and nobody else sees. */

#define PACK_NAME_LEN   16
#define PACK_FILES      64              /* sealed packs held open */

struct pack_file {
	uint32_t number;        /* 0: the slot is free */
	int fd;
	uint64_t used;          /* when, in reads */
};

/* The invariants are those of pack.h. */
struct packs {
	int dirfd;
	uint8_t key[PACK_KEY_LEN];
	uint32_t number;        /* 0: none is open */
	int fd;
	uint32_t next_number;   /* begun and not yet used */
	int next_fd;
	int dead_fd;            /* removed, and not yet freed */
	uint64_t dead_len;
	uint64_t committed;
	uint64_t synced;
	uint64_t written;
	uint64_t journal;       /* see packs_journal */
	uint8_t *buf;           /* what comes after written */
	size_t fill;
	struct pack_rec_place bare[HASH_MANY_MAX];      /* in buf, no MAC yet */
	size_t nbare;
	struct pack_file files[PACK_FILES];
	uint64_t reads;
	uint64_t flushes;
	uint8_t stored[OBJ_MAX];
};

/* pack_dir.c */
void pack_name(uint32_t, char *);
int pack_file_open(struct packs *, uint32_t, int);
/* The first bytes of a pack: 0, or -1 after logging (EPROTONOSUPPORT). */
int pack_head_read(struct packs *, int, uint32_t);
/* Why it cannot be opened, logged: 1 when it is lost, or -1. */
int pack_unopened(uint32_t);
/* A file's length, against what the index counts on.  0 or -1, logged. */
int pack_length_check(int, uint32_t, uint64_t, uint64_t *);

/* pack_read.c */
/* A record, all of it checked.  The last is what is stored, borrowed.  0, or -1
 * with errno (EBADMSG: damaged). */
int pack_read_stored(struct packs *, uint32_t, const struct obj_ref *,
    const struct pack_loc *, uint8_t *, uint8_t **);
/* Nobody may read the file through a descriptor that is held open. */
void pack_read_drop(struct packs *, uint32_t);

#endif /* !ERRAND_PACK_INTERNAL_H */
