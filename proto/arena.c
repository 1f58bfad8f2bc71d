/*
 * Memory with a limit for the unpacking of hostile messages, freed all at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "proto/arena.h"

#define ALIGN           16
#define BLOCK_MIN       (32 * 1024)

struct arena_block {
	struct arena_block *next;
	_Alignas(ALIGN) uint8_t bytes[];
};

/* Start a block with room for ${n} bytes. */
static int
block_add(struct arena *a, size_t n)
{
	struct arena_block *b;

	if (n < BLOCK_MIN)
		n = BLOCK_MIN;
	if (n > a->left)
		goto err0;
	if ((b = malloc(sizeof(*b) + n)) == NULL)
		goto err0;
	b->next = a->blocks;
	a->blocks = b;
	a->left -= n;
	a->p = b->bytes;
	a->room = n;
	return (0);

err0:
	errno = ENOMEM;
	return (-1);
}

void *
arena_take(struct arena *a, size_t n)
{
	uint8_t *p;

	if (n > SIZE_MAX - ALIGN) {
		errno = ENOMEM;
		return (NULL);
	}
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (n > a->room && block_add(a, n) == -1)
		return (NULL);
	p = a->p;
	a->p += n;
	a->room -= n;
	return (p);
}

static void *
take_cb(void *a, size_t n)
{
	return (arena_take(a, n));
}

/* Nothing is freed singly. */
static void
free_cb(void *a, void *p)
{
	(void)a;
	(void)p;
}

void
arena_init(struct arena *a, size_t limit)
{
	a->alloc.alloc = take_cb;
	a->alloc.free = free_cb;
	a->alloc.allocator_data = a;
	a->p = a->first;
	a->room = sizeof(a->first);
	a->left = limit;
	a->blocks = NULL;
}

void
arena_done(struct arena *a)
{
	struct arena_block *b;

	while ((b = a->blocks) != NULL) {
		a->blocks = b->next;
		free(b);
	}
}
