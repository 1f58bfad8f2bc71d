/*
 * Directories as objects; see scan.c.  Reads links below the directory that is
 * being encoded, nothing else.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/tree.h"
#include "objtab.h"
#include "scan_internal.h"

/* The target of a link; its length, or -1. */
static ssize_t
read_link(const struct level *l, const struct stat_entry *e, char *target)
{
	char name[TREE_NAME_MAX + 1];
	ssize_t n;

	memcpy(name, e->name, e->name_len);
	name[e->name_len] = '\0';
	n = readlinkat(l->fd, name, target, TREE_TARGET_MAX + 1);
	if (n == 0 || n > TREE_TARGET_MAX) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	return (n);
}

/* Add what ${e} says, to ${plain} (or NULL) without its times.  0, or -1 with
 * errno. */
static int
add_entry(const struct level *l, const struct stat_entry *e,
    struct tree_builder *tb, struct tree_builder *plain)
{
	struct tree_entry te = { .mode = e->mode & 0777, .size = e->size,
	    .mtime_ns = e->mtime_ns, .name = (const uint8_t *)e->name,
	    .name_len = e->name_len, .ref = e->ref };
	char target[TREE_TARGET_MAX + 1];
	ssize_t n;

	te.kind = S_ISREG(e->mode) ? TREE_FILE : S_ISDIR(e->mode) ? TREE_DIR :
	    TREE_LINK;
	if (te.kind == TREE_DIR)
		te.size = 0;
	if (te.kind == TREE_LINK) {
		if ((n = read_link(l, e, target)) == -1)
			return (-1);
		te.mode = 0777;
		te.target = (const uint8_t *)target;
		te.target_len = (uint16_t)n;
		te.size = te.target_len;
	}
	if (tree_builder_add(tb, &te) == -1)
		return (-1);
	if (plain == NULL)
		return (0);
	te.mtime_ns = 0;
	if (te.kind == TREE_DIR)
		memcpy(te.ref.id, e->plain, OBJ_ID_LEN);
	return (tree_builder_add(plain, &te));
}

static int
sink_old(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	return (objtab_add(cookie, ref, buf, len, -1, 0));
}

/*
 * The objects of the directory as the host has it, made again from the cache.
 * Where that does not succeed (a link has changed) some objects more are sent.
 * NULL when there are none.
 */
static struct objtab *
old_objects(const struct scan *s, const struct level *l)
{
	struct tree_builder *tb;
	struct objtab *t = NULL;
	struct stat_entry e;
	struct stat_dir old;
	struct obj_ref ref;

	if (!l->has_old || statcache_dir(s->old, s->path, &old) == -1 ||
	    (tb = tree_builder_new()) == NULL)
		return (NULL);
	while (stat_dir_next(&old, &e))
		if (add_entry(l, &e, tb, NULL) == -1)
			goto done;
	if ((t = objtab_new()) != NULL &&
	    tree_builder_finish(tb, sink_old, t, &ref) == -1) {
		objtab_free(t);
		t = NULL;
	}
done:
	tree_builder_free(tb);
	return (t);
}

struct sift {
	struct scan *s;
	const struct objtab *old;
};

static int
sink(void *cookie, const struct obj_ref *ref, const void *buf, size_t len)
{
	struct sift *sf = cookie;

	if (sf->old != NULL && objtab_has(sf->old, ref))
		return (0);
	return (objtab_add(sf->s->tab, ref, buf, len, -1, 0));
}

/*
 * A link may be gone, or be something else, since it was looked at: it is left
 * out, and its entry in the cache made one that nothing is the same as.
 */
static int
add_present(struct scan *s, const struct level *l, struct stat_entry *e,
    struct tree_builder *tb, struct tree_builder *plain)
{
	if (add_entry(l, e, tb, plain) == 0)
		return (0);
	if (!S_ISLNK(e->mode) || (errno != ENOENT && errno != EINVAL)) {
		scan_fault(s, "cannot describe what is in it");
		return (-1);
	}
	scan_note(s, "a link in it vanished; left out");
	e->ino = 0;
	e->racy = 1;
	s->refresh = 1;
	return (0);
}

int
scan_encode(struct scan *s, struct level *l, struct obj_ref *ref,
    uint8_t *plain)
{
	struct sift sf = { .s = s };
	struct tree_builder *tb, *pb;
	struct objtab *old;
	struct obj_ref p;
	size_t i;
	int rc = -1;

	tb = tree_builder_new();
	pb = tree_builder_new();
	if (tb == NULL || pb == NULL)
		goto done;
	for (i = 0; i < l->n; i++)
		if (add_present(s, l, &l->v[i], tb, pb) == -1)
			goto done;
	sf.old = old = old_objects(s, l);
	if ((rc = tree_builder_finish(tb, sink, &sf, ref)) == -1)
		scan_fault(s, "cannot describe the directory");
	objtab_free(old);
	if (rc == 0 && (rc = tree_builder_finish(pb, NULL, NULL, &p)) == 0)
		memcpy(plain, p.id, OBJ_ID_LEN);
done:
	tree_builder_free(tb);
	tree_builder_free(pb);
	return (rc);
}
