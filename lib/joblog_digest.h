#ifndef ERRAND_JOBLOG_DIGEST_H
#define ERRAND_JOBLOG_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include <sodium.h>

/*
 * The digest of a log file, which the receipt has.  The file is taken as blocks
 * of JOBLOG_BLOCK bytes, the last of which may be shorter; an empty file has
 * none.  With n its length as a u64, little-endian:
 *
 *   block    BLAKE2b-256 of its bytes, personal "errand.logblock"
 *   digest   BLAKE2b-256 of the blocks' digests in their order, and n,
 *            personal "errand.log"
 *
 * So several blocks are hashed side by side, which takes a third of the time.
 */
#define JOBLOG_BLOCK    65536
#define JOBLOG_DIGEST   32

struct joblog_digest {
	crypto_generichash_blake2b_state top;
	uint64_t len;
};

/* 0, or -1 with errno. */
int joblog_digest_init(struct joblog_digest *);

/* The next ${len} bytes: whole blocks, but for the end of the file. */
void joblog_digest_add(struct joblog_digest *, const uint8_t *, size_t len);

/* The digest.  Nothing may follow. */
void joblog_digest_final(struct joblog_digest *, uint8_t [JOBLOG_DIGEST]);

#endif /* !ERRAND_JOBLOG_DIGEST_H */
