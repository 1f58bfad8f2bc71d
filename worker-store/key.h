#ifndef ERRAND_STORE_KEY_H
#define ERRAND_STORE_KEY_H

#include <stdint.h>

/**
 * key_load(dirfd, key):
 * Read the store's key (PACK_KEY_LEN bytes) from the file "key", or make it,
 * durably, when there are no packs yet.  0, or -1 after logging.
 */
int key_load(int, uint8_t *);

#endif /* !ERRAND_STORE_KEY_H */
