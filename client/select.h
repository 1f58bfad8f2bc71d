#ifndef ERRAND_SELECT_H
#define ERRAND_SELECT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which paths of a tree are sent.  Three modes, decided once:
 *   SELECT_GIT     in a Git work tree: tracked, and untracked but not ignored
 *   SELECT_IGNORE  .errandignore in the root: all but what it excludes
 *   SELECT_ALL     --include-all
 * ".git", in any case, is never sent.
 */
enum select_mode { SELECT_GIT, SELECT_IGNORE, SELECT_ALL };

struct select;

struct name {
	const char *s;          /* NUL terminated */
	uint16_t len;
	uint8_t dir_hint;       /* DT_DIR by the listing; checked by stat */
};

struct names {
	struct name *v;
	size_t n, cap;
	char *buf;
	size_t buf_len, buf_cap;
};
void names_done(struct names *);

/**
 * select_open(rootfd, root, mode, why):
 * Get ready; in Git mode this runs git.  Return NULL with a sentence in the
 * ${why} (LIMIT_TEXT bytes).
 */
struct select *select_open(int, const char *, enum select_mode, char *);
void select_free(struct select *);
enum select_mode select_mode_of(const struct select *);

/**
 * select_names(sel, dirfd, dir, out):
 * The wanted names of the directory ${dir} ("" or "a/b", no slash at the end)
 * in byte order; ${out} is reused.  Return 0, or -1 with errno.
 */
int select_names(struct select *, int, const char *, struct names *);

/**
 * select_find_root(start, include_all, root, mode, why):
 * The root for a command given in directory ${start}: the Git work tree's top,
 * else the nearest directory with .errandignore, else ${start} itself with
 * ${include_all}.  ${root} has PATH_MAX bytes.  Return 0, or -1 with a
 * sentence in ${why} (LIMIT_TEXT bytes).
 */
int select_find_root(const char *, int, char *, enum select_mode *, char *);

/* The mode for a root that was named (--root).  As above. */
int select_root_mode(const char *, int, enum select_mode *, char *);

#endif /* !ERRAND_SELECT_H */
