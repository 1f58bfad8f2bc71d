#ifndef ERRAND_MEMFD_H
#define ERRAND_MEMFD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Bulk data between our processes travels in sealed memfds: what has been
 * checked cannot change or shrink afterwards.
 */

/**
 * memfd_make(name, buf, len):
 * A new memfd holding the ${len} bytes at ${buf}, sealed against writing,
 * growing, shrinking and unsealing.  Return it, or -1 with errno.
 */
int memfd_make(const char *, const void *, size_t);

/* An unsealed one of ${len} bytes, mapped writable at ${*map}. */
int memfd_open(const char *, size_t, uint8_t **);

/* Unmap, cut to ${len} bytes, and seal what memfd_open made.  0 or -1. */
int memfd_seal(int, uint8_t *map, size_t maplen, size_t len);

/**
 * memfd_map(fd, max, map, len):
 * Check that a received descriptor is a fully sealed memfd of at most ${max}
 * bytes and map it read-only (${*map} is NULL when it is empty).  Return 0,
 * or -1 with errno: EPROTO when it is not what it must be.
 */
int memfd_map(int, size_t, const uint8_t **, size_t *);
void memfd_unmap(const uint8_t *, size_t);

#endif /* !ERRAND_MEMFD_H */
