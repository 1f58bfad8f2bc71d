#ifndef ERRAND_SIZE_H
#define ERRAND_SIZE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Set *out to a + b.  Return -1 with errno = EOVERFLOW if it does not fit. */
static inline int
size_add(size_t a, size_t b, size_t *out)
{
	if (__builtin_add_overflow(a, b, out)) {
		errno = EOVERFLOW;
		return (-1);
	}
	return (0);
}

/* Set *out to a * b.  Return -1 with errno = EOVERFLOW if it does not fit. */
static inline int
size_mul(size_t a, size_t b, size_t *out)
{
	if (__builtin_mul_overflow(a, b, out)) {
		errno = EOVERFLOW;
		return (-1);
	}
	return (0);
}

/**
 * size_grow(p, cap, need, each):
 * Make room in the array ${p} of ${*cap} records of ${each} bytes for ${need}
 * records in all, at least doubling it.  Return the array, perhaps elsewhere,
 * or NULL with errno = ENOMEM or EOVERFLOW; then ${p} is as it was.
 */
static inline void *
size_grow(void *p, size_t *cap, size_t need, size_t each)
{
	size_t n, bytes;

	if (p != NULL && need <= *cap)
		return (p);
	n = *cap < 16 ? 16 : *cap;
	while (n < need)
		if (size_mul(n, 2, &n) == -1)
			return (NULL);
	if (size_mul(n, each, &bytes) == -1)
		return (NULL);
	if ((p = realloc(p, bytes)) == NULL)
		return (NULL);
	*cap = n;
	return (p);
}

/* Point p at n zeroed records.  0, or -1 with errno = ENOMEM. */
#define NEW_ARRAY(p, n) (((p) = calloc((n), sizeof(*(p)))) == NULL ? -1 : 0)

#endif /* !ERRAND_SIZE_H */
