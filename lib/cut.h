#ifndef ERRAND_CUT_H
#define ERRAND_CUT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Content-defined cutting: FastCDC with normalised chunking.  The gear table
 * is BLAKE2b of a fixed seed, so every client cuts alike.  Permanent.
 */
#define CUT_MIN         8192
#define CUT_AVG         32768
#define CUT_MAX         65520   /* = OBJ_MAX */

/**
 * cut_next(buf, len, last):
 * Length of the first chunk of the ${len} bytes at ${buf}.  When ${last} is
 * zero, more bytes follow: then 0 says that CUT_MAX bytes are needed first.
 */
size_t cut_next(const uint8_t *, size_t, int);

#endif /* !ERRAND_CUT_H */
