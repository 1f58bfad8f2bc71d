/*
 * One directory as two sorted lists of names: from the store, as submitted, and
 * from the upper directory, as left.  Reads both, changes neither.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "collect_internal.h"
#include "lib/io.h"
#include "lib/size.h"
#include "storeclient.h"

/* Copy bytes; where they are is an offset, since the text moves. */
static int
text_add(struct olds *o, const uint8_t *s, size_t len, size_t *at)
{
	size_t need;
	char *p;

	if (size_add(o->text_len, len, &need) == -1 ||
	    (p = size_grow(o->text, &o->text_cap, need + 1, 1)) == NULL)
		return (-1);
	o->text = p;
	if (len > 0)
		memcpy(p + o->text_len, s, len);
	*at = o->text_len;
	o->text_len = need;
	return (0);
}

static int
old_add(void *cookie, const struct tree_entry *e)
{
	struct olds *o = cookie;
	struct tree_entry *p;
	size_t at;

	if ((p = size_grow(o->v, &o->cap, o->n + 1, sizeof(*p))) == NULL)
		return (-1);
	o->v = p;
	p[o->n] = *e;
	/*
	 * Offsets until it is whole: the name, and its target right behind it.
	 */
	if (text_add(o, e->name, e->name_len, &at) == -1)
		return (-1);
	p[o->n].name = (const uint8_t *)(uintptr_t)at;
	if (text_add(o, e->target, e->kind == TREE_LINK ? e->target_len : 0,
	    &at) == -1)
		return (-1);
	p[o->n].target = (const uint8_t *)(uintptr_t)at;
	o->n++;
	return (0);
}

static int
read_with(struct olds *o, obj_fetch_fn *fetch, struct storeclient *sc,
    const struct obj_ref *ref)
{
	size_t i;

	if (ref->kind == OBJ_NONE)
		return (0);
	if (tree_read(ref, fetch, sc, old_add, o) != 0)
		return (-1);
	for (i = 0; i < o->n; i++) {
		o->v[i].name = (uint8_t *)o->text + (uintptr_t)o->v[i].name;
		o->v[i].target = (uint8_t *)o->text +
		    (uintptr_t)o->v[i].target;
	}
	return (0);
}

int
olds_read(struct olds *o, struct storeclient *sc, const struct obj_ref *ref)
{

	return (read_with(o, storeclient_fetch, sc, ref));
}

int
olds_try(struct olds *o, struct storeclient *sc, const struct obj_ref *ref)
{

	return (read_with(o, storeclient_try, sc, ref));
}

void
olds_done(struct olds *o)
{

	free(o->v);
	free(o->text);
	memset(o, 0, sizeof(*o));
}

static int
name_cmp(const void *a, const void *b)
{

	/* Bytes are unsigned to strcmp, whatever char is. */
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

static int
name_add(struct names *l, const char *name)
{
	char **p;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return (0);
	if ((p = size_grow(l->v, &l->cap, l->n + 1, sizeof(*p))) == NULL)
		return (-1);
	l->v = p;
	if ((p[l->n] = strdup(name)) == NULL)
		return (-1);
	l->n++;
	return (0);
}

int
names_read(struct names *l, int dir)
{
	struct dirent *e;
	DIR *d;
	int fd, rc = 0;

	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if ((d = fdopendir(fd)) == NULL) {
		io_close(&fd);
		return (-1);
	}
	errno = 0;
	while (rc == 0 && (e = readdir(d)) != NULL) {
		rc = name_add(l, e->d_name);
		if (rc == 0)
			errno = 0;
	}
	if (errno != 0)
		rc = -1;
	fd = errno;
	closedir(d);
	errno = fd;
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), name_cmp);
	return (rc);
}

void
names_done(struct names *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	memset(l, 0, sizeof(*l));
}
