#ifndef ERRAND_INDEX_KEY_H
#define ERRAND_INDEX_KEY_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Numbers in keys are big-endian: then the order of bytes is theirs. */

static inline void
be_put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
be_put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t
be_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return (be32toh(v));
}

static inline uint64_t
be_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return (be64toh(v));
}

#endif /* !ERRAND_INDEX_KEY_H */
