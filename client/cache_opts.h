#ifndef ERRAND_CACHE_OPTS_H
#define ERRAND_CACHE_OPTS_H

struct job_record;
struct job_spec;
struct run_opts;

/* Is it NAME=PATH with a name that is allowed?  0 or -1. */
int cache_name_check(const char *);

/**
 * cache_project(root, out):
 * What a tree's caches are bound to, in LIMIT_NAME + 1 bytes: the last part of
 * its absolute path, then a digest of all of it; "" without a tree.
 */
void cache_project(const char *, char *);

/**
 * cache_spec(o, root, spec):
 * Fill in the caches.  0, or an exit code after saying why.
 */
int cache_spec(const struct run_opts *, const char *, struct job_spec *);

/* Say which of those asked for were not saved, or not restored, and why. */
void cache_say(const struct run_opts *, const struct job_record *);

#endif /* !ERRAND_CACHE_OPTS_H */
