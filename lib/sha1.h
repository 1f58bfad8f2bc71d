#ifndef ERRAND_SHA1_H
#define ERRAND_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define SHA1_LEN        20

/* SHA-1 of a buffer, for formats of Git's that want it: it secures nothing. */
void sha1(const void *, size_t, uint8_t[SHA1_LEN]);

#endif /* !ERRAND_SHA1_H */
