/*
 * A table of inodes, so that the content of hard links is read once.  Memory
 * only.
 */
#include <stdlib.h>

#include "collect_internal.h"

static struct link_seen *
slot(struct link_seen *v, size_t room, ino_t ino)
{
	/* Consecutive numbers are what file systems give. */
	size_t i = (size_t)((uint64_t)ino * UINT64_C(0x9e3779b97f4a7c15) >>
	    20) & (room - 1);

	while (v[i].ino != 0 && v[i].ino != ino)
		i = (i + 1) & (room - 1);
	return (&v[i]);
}

static int
grow(struct links *l)
{
	size_t i, room = l->room == 0 ? 64 : l->room * 2;
	struct link_seen *v;

	if ((v = calloc(room, sizeof(*v))) == NULL)
		return (-1);
	for (i = 0; i < l->room; i++) {
		if (l->v[i].ino != 0)
			*slot(v, room, l->v[i].ino) = l->v[i];
	}
	free(l->v);
	l->v = v;
	l->room = room;
	return (0);
}

struct link_seen *
links_get(struct links *l, ino_t ino)
{
	struct link_seen *s;

	if (2 * l->n >= l->room && grow(l) == -1)
		return (NULL);
	s = slot(l->v, l->room, ino);
	if (s->ino == 0) {
		s->ino = ino;
		l->n++;
	}
	return (s);
}
