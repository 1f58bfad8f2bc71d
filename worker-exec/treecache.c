/*
 * The trees of a tenant that lie ready as directories: found and made.
 * Touches trees/ in that tenant's work directory, with its rights.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/log.h"
#include "materialise.h"
#include "proto/client_msg.h"
#include "storeclient.h"
#include "treecache_internal.h"
#include "treeroom.h"

#define PUBLISH_TRIES   8

static int
fault(struct err *err, const char *what)
{
	int e = errno;

	if (e == ENOSPC || e == EDQUOT)
		return (err_set(err, ERR_FULL, "there is no room on the host "
		    "for the submitted tree (%s)", strerror(e)));
	return (err_set(err, ERR_IO, "the host's copy of the submitted tree: "
	    "%s: %s", what, strerror(e)));
}

static int
open_dir(int dir, const char *name)
{

	return (openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC));
}

/* What a tree is made from: a base that it is laid over, or NULL, and whence
 * the rest comes. */
struct making {
	int trees;
	struct storeclient *sc;
	const struct obj_ref *root;
	const struct treecache_base *base;
};

/* Describe what will be made in ${use}. */
static void
use_init(const struct making *m, const char *hex, struct treecache_use *use)
{

	memset(use, 0, sizeof(*use));
	use->lock = -1;
	use->n = 1;
	if (m->base != NULL) {
		memcpy(use->root[1], m->base->use.root,
		    m->base->use.n * sizeof(use->root[0]));
		use->n += m->base->use.n;
		use->entries = m->base->entries;
	}
	memcpy(use->root[0], hex, HEX_LEN + 1);
}

/* Lay the tree, or the layer, out in ${dir} and mark it. */
static int
fill(const struct making *m, int dir, struct treecache_use *use,
    struct err *err)
{
	struct treeroom room = { .trees = m->trees };
	int tree, rc;

	if (mkdirat(dir, "tree", 0700) == -1 ||
	    (tree = open_dir(dir, "tree")) == -1)
		return (fault(err, "tree"));
	if (m->base != NULL)
		rc = materialise_plan(tree, m->sc, &m->base->plan, &room,
		    err);
	else
		rc = materialise(tree, m->sc, m->root, &room, &use->entries,
		    err);
	io_close(&tree);
	use->bytes = room.laid;
	if (rc == 0 && treecache_mark(m->trees, dir, use) == -1)
		rc = fault(err, "mark");
	return (rc);
}

/* Give the finished tree its name.  Somebody may have been faster. */
static int
publish(int trees, const char *tmp, const char *hex, struct treecache_use *use,
    struct err *err)
{
	struct treecache_use theirs;
	int tries;

	for (tries = 0; tries < PUBLISH_TRIES; tries++) {
		if (renameat2(trees, tmp, trees, hex,
		    RENAME_NOREPLACE) == 0)
			return (0);
		if (errno != EEXIST && errno != ENOTEMPTY)
			break;
		if (treecache_find(trees, hex, TREECACHE_WAIT |
		    TREECACHE_TOUCH, &theirs) == 0) {
			io_close(&use->lock);
			*use = theirs;
			(void)io_remove_tree(trees, tmp);
			return (0);
		}
		/* What is there is of another boot, or broken. */
		if (errno == ESTALE)
			(void)treecache_evict(trees, hex, 1);
		errno = EBUSY;
	}
	return (fault(err, hex));
}

static int
make(const struct making *m, const char *hex, struct treecache_use *use,
    struct err *err)
{
	char tmp[HEX_LEN + 32];
	int dir, rc;

	use_init(m, hex, use);
	(void)snprintf(tmp, sizeof(tmp), ".%s.%d", hex, (int)getpid());
	if (io_remove_tree(m->trees, tmp) == -1 ||
	    mkdirat(m->trees, tmp, 0700) == -1 ||
	    (dir = open_dir(m->trees, tmp)) == -1)
		return (fault(err, tmp));
	rc = fill(m, dir, use, err);
	io_close(&dir);
	if (rc == -1 || publish(m->trees, tmp, hex, use, err) == -1) {
		io_close(&use->lock);
		(void)io_remove_tree(m->trees, tmp);
		return (-1);
	}
	return (0);
}

/*
 * As a layer, if there is something to lay it over.  If that fails, for
 * whatever reason, whole: what then fails is said.
 */
static int
make_somehow(struct making *m, const char *hex, struct treecache_use *use,
    struct err *err)
{
	struct treecache_base base;
	struct err why;
	int rc = -1;

	if (treecache_base(m->trees, m->sc, m->root, &base) == 0) {
		memset(&why, 0, sizeof(why));
		m->base = &base;
		if ((rc = make(m, hex, use, &why)) == -1)
			log_info("tree %s as a layer: %s", hex, why.text);
		m->base = NULL;
	}
	treecache_base_done(&base);
	return (rc == 0 ? 0 : make(m, hex, use, err));
}

/*
 * One that lies ready, and is as it was laid out.  What was changed is nobody's
 * tree any more, nor what was laid over it.
 */
static int
find_sound(int trees, const char *hex, struct treecache_use *use)
{
	int bad;

	if (treecache_find(trees, hex, TREECACHE_TOUCH, use) == -1)
		return (-1);
	if ((bad = treecache_check(trees, use)) == -1)
		return (0);
	log_warnx("the cached tree %s was changed since it was laid out; it is "
	    "made again", use->root[bad]);
	treecache_aside(trees, use->root[bad]);
	if (bad > 0)
		treecache_aside(trees, hex);
	io_close(&use->lock);
	return (-1);
}

int
treecache_get(int tenant, struct storeclient *sc, const struct obj_ref *root,
    struct treecache_use *use, struct err *err)
{
	struct making m = { .sc = sc, .root = root };
	char hex[HEX_LEN + 1];
	int rc;

	use->lock = -1;
	obj_id_hex(root->id, hex);
	if (mkdirat(tenant, "trees", 0700) == -1 && errno != EEXIST)
		return (fault(err, "trees"));
	if ((m.trees = open_dir(tenant, "trees")) == -1)
		return (fault(err, "trees"));
	rc = find_sound(m.trees, hex, use);
	if (rc == -1 && (rc = make_somehow(&m, hex, use, err)) == 0)
		treecache_trim(m.trees);
	io_close(&m.trees);
	return (rc);
}
