#ifndef ERRAND_APPLY_INTERNAL_H
#define ERRAND_APPLY_INTERNAL_H

#include <sys/stat.h>

#include "base.h"
#include "apply.h"
#include "apply_walk.h"
#include "journal.h"
#include "lib/change.h"
#include "statcache.h"

/* --- the staging directory: apply_stage.c --- */

/*
 * Or, for a single file, that alone (apply_lone.c): it is ROOT/.errand-apply
 * itself, with the journal in the state directory.
 */
struct stage {
	int root;
	int dir;                /* ROOT/.errand-apply, or ROOT, or -1 */
	int lone;               /* dir is ROOT */
	int no_lone;            /* that did not work here */
	uint64_t dev;
};

/* Open the root and lock it against other applies, waiting for them (said
 * unless ${quiet}).  0, or -1 with errno. */
int stage_lock(struct stage *, const char *root, int quiet);
void stage_unlock(struct stage *);

/* Make the directory, or open the one that is there (ENOENT: none; EPERM:
 * it is another user's).  0 or -1. */
int stage_make(struct stage *);
int stage_open(struct stage *);

/*
 * The journal: durable when this returns 0, if it has more than one operation.
 */
int stage_write(struct stage *, const struct journal *);
/* Read it: 1; 0 when there is none, or an empty one: at most one operation was
 * done, and that is whole; -1 with errno as journal_parse. */
int stage_read(struct stage *, struct journal *);

/* The end of an apply: the journal goes first, then the rest. */
int stage_remove(struct stage *);

/* Is there nothing in it but what we name so? */
int stage_is_ours(const struct stage *);

/* The name of a staged file ('n') or of one that went ('o'). */
#define SLOT_LEN        16
#define SLOT_LONE       UINT32_MAX      /* of the single one, in ROOT */
void stage_slot(char *, char, uint32_t);

/* --- a single file: apply_lone.c --- */

/* Write the journal and give the file its name.  0; 1 when that cannot be done
 * in this way; -1. */
int lone_stage(struct stage *, const struct journal *, int fd);
/* What is there is no directory: is it such a file?  0 (then st->dir is set),
 * or -1 with errno. */
int lone_open(struct stage *);
/* Its journal.  0, or -1 with errno (EEXIST: there is none of this file). */
int lone_read(struct stage *, struct journal *);
int lone_remove(struct stage *);

/* --- doing and undoing: apply_exec.c --- */

enum { EXEC_DONE = 0, EXEC_CHANGED = 1 };       /* -1: failed, errno */

struct exec {
	struct stage *st;
	const struct journal *j;
	struct walk w;
	const struct jop *at;   /* what was not done, or not taken back */
	int no_exchange;        /* this file system cannot */
	unsigned kept;          /* files that were put beside */
};

void exec_init(struct exec *, struct stage *, const struct journal *);
void exec_done(struct exec *);

/**
 * exec_forward(x, fresh, skip):
 * Do the operations; unless ${fresh}, those that are not done yet.  Return
 * EXEC_DONE; EXEC_CHANGED: one (x->at) does not find what it was planned for,
 * and left it as it is (with ${skip} it goes on, and says so); or -1.
 */
int exec_forward(struct exec *, int, int);

/* Take back those that are done.  0, or -1 with errno: some are not. */
int exec_back(struct exec *);

/* Before old files are removed: one that was written to is kept, beside. */
void exec_late(struct exec *);

/* Could all file operations be finished, or all be taken back, as things are,
 * without meeting an edit? */
struct exec_view {
	int forward, back;
};
void exec_look(struct exec *, struct exec_view *);

/* What is there as a struct jfile.  ${dev} is the tree's.  1, 0 absent, -1. */
int jfile_stat(int dirfd, const char *, struct jfile *);
void jfile_of(const struct stat *, struct jfile *);

/* --- the plan --- */

struct item {
	struct change c;                /* what the job did */
	struct merge_side base, ours, theirs;
	struct stat st;                 /* of ours, if it is there */
	char *target, *base_target;     /* of links, owned */
	enum merge_verdict verdict;
	uint16_t mode;                  /* merged */
	uint8_t selected;
	uint8_t blocked;                /* something above is in conflict */
	uint8_t racy;
	uint8_t kept;                   /* a directory that stays: not empty */
	uint8_t clash;                  /* here under a name of other case */
	uint8_t copy;                   /* staged as NAME.errand-theirs */
	uint8_t marked;                 /* text with conflict markers */
	uint8_t unsettled;              /* it has those of an earlier merge */
	uint32_t gone;                  /* entries below that go */
	char *text;                     /* merged, owned */
	size_t text_len;
};

/* A directory whose mode is to change, if only for a while. */
struct dmode {
	const char *path;
	size_t len;
	uint32_t old, last;             /* 07777 */
	uint8_t open;                   /* it must be written to meanwhile */
	uint8_t goes;                   /* it is removed */
	uint8_t set;                    /* last was asked for */
};

/* What a slot is filled with. */
struct source {
	struct item *it;                /* NULL: nothing is staged there */
	size_t op;                      /* index of its operation */
	enum { SOURCE_THEIRS, SOURCE_TEXT } what;
	uint16_t mode;
};

struct apply {
	const struct apply_opts *o;
	struct apply_sum *sum;
	struct stage st;
	struct walk w;
	struct journal j;
	struct base *base;
	struct statcache *sc;
	struct item *v;                 /* by path bytes, as in the list */
	size_t n;
	char *paths;
	struct dmode *dirs;
	size_t ndirs, dirs_cap;
	struct source *src;             /* by slot */
	size_t nsrc, src_cap;
	char **own;                     /* paths that were made up */
	size_t nown, own_cap;
	uint64_t pumped_us;
	uint16_t mask;                  /* umask */
	uint64_t need;                  /* bytes that are staged */
	size_t nstaged;
	const char *where;              /* what failed, for the message */
	size_t where_len;
	const char *what;               /* a sentence instead of errno */
};

/* apply_recover of a tree that is locked. */
int apply_recover_locked(struct stage *, const char *, int);

/* Answer the host's pings; -1/EINTR when the user wants to stop. */
int apply_pulse(struct apply *);
/* An obj_fetch_fn that does so. */
int apply_fetch(void *, const struct obj_ref *, uint8_t *, size_t *);
/* Note what a failure is about; returns -1. */
int apply_fail(struct apply *, const char *, size_t, const char *);

/* apply_local.c: ours.  Begin: open the stat cache.  Look: what
 * kind is there; know: and its content. */
void local_begin(struct apply *);
int local_look(struct apply *, struct item *);
int local_know(struct apply *);
int local_case_clash(struct apply *, const struct item *);
int local_read(struct apply *, const struct item *, uint8_t **, size_t *);
/* How many entries a directory has, or -1. */
int64_t local_count(struct apply *, const char *, size_t);

/* apply_plan.c: from the list to verdicts and conflicts.  0, -1. */
int plan_make(struct apply *);
void plan_done(struct apply *);
struct item *plan_find(const struct apply *, const void *, size_t);
const char *item_path(const struct item *);

/* apply_text.c: settle a MERGE_TEXT.  0, -1. */
int text_merge(struct apply *, struct item *);

/* apply_ops.c: from verdicts to operations.  0, -1. */
int ops_make(struct apply *);
void ops_done(struct apply *);
const char *ops_own(struct apply *, const char *, size_t);
/* apply_dirs.c: directories that must be opened, and what is put into them. */
int dirs_open(struct apply *, const char *, size_t);
int dirs_mode(struct apply *, const char *, size_t, uint32_t, uint32_t);
int dirs_before(struct apply *);        /* adds operations */
int dirs_after(struct apply *);

/* apply_files.c: make the files of the operations.  0, -1. */
int files_stage(struct apply *);
/* The same for an apply that is one file, with its journal.  0; 1: it is not,
 * or cannot be done so; -1. */
int files_lone(struct apply *);

#endif /* !ERRAND_APPLY_INTERNAL_H */
