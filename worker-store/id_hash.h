#ifndef ERRAND_ID_HASH_H
#define ERRAND_ID_HASH_H

#include <stdint.h>
#include <string.h>

#include <sodium.h>

#include "lib/object.h"

/*
 * Where an id goes in a table in memory.  Keyed: a tenant can choose content
 * until the first bytes of its ids are alike.
 */
static inline uint64_t
id_hash(const uint8_t *key, uint32_t tenant, const uint8_t *id)
{
	uint8_t in[OBJ_ID_LEN + 4];
	uint64_t h;

	memcpy(in, id, OBJ_ID_LEN);
	memcpy(in + OBJ_ID_LEN, &tenant, 4);
	(void)crypto_shorthash((uint8_t *)&h, in, sizeof(in), key);
	return (h);
}

#endif /* !ERRAND_ID_HASH_H */
