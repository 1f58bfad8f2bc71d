#ifndef ERRAND_STORE_KEY_H
#define ERRAND_STORE_KEY_H

#include <stdint.h>

struct ix;

/**
 * key_load(dirfd, key):
 * Read the store's key (PACK_KEY_LEN bytes) from the file "key", or make it,
 * durably, when there are no packs yet.  0, or -1 after logging.
 */
int key_load(int, uint8_t *);

/**
 * key_check(ix, key), key_note(ix, key):
 * Is it the key that the index was made with?  Note that it is, once a pack has
 * shown it.  0, or -1 after logging.
 */
int key_check(struct ix *, const uint8_t *);
int key_note(struct ix *, const uint8_t *);

#endif /* !ERRAND_STORE_KEY_H */
