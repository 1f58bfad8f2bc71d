#ifndef ERRAND_HASH_MANY_H
#define ERRAND_HASH_MANY_H

#include <stddef.h>
#include <stdint.h>

/*
 * BLAKE2b of many messages at once: as libsodium computes it of one, but with
 * several side by side in the vectors of the processor, where it has such.
 * That takes a third of the time.
 */
#define HASH_MANY_MAX   64
#define HASH_KEY_LEN    32

struct hash_job {
	const void *buf;
	size_t len;
	const char *personal;   /* up to 16 characters */
	const uint8_t *key;     /* HASH_KEY_LEN bytes, or NULL */
	size_t out_len;         /* 16 to 64 */
	uint8_t *out;
};

/* Do ${n} jobs, HASH_MANY_MAX at most. */
void hash_many(const struct hash_job *, size_t);

/* How many messages are hashed side by side on this processor: 8, 4, or 1. */
unsigned int hash_lanes(void);

/* As hash_many, with no more than so many.  For tests. */
void hash_many_by(const struct hash_job *, size_t, unsigned int);

#endif /* !ERRAND_HASH_MANY_H */
