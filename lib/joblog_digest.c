/* The digest of a log: its blocks, side by side, and one over theirs. */

#include <errno.h>

#include "hash_many.h"
#include "joblog_digest.h"
#include "le.h"

int
joblog_digest_init(struct joblog_digest *d)
{
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] =
	    "errand.log";

	/* Without this, libsodium hashes at half the speed. */
	if (sodium_init() == -1) {
		errno = ENOSYS;
		return (-1);
	}
	d->len = 0;
	return (crypto_generichash_blake2b_init_salt_personal(&d->top, NULL, 0,
	    JOBLOG_DIGEST, NULL, person));
}

/* The first blocks of ${buf}, as many as can be done at once.  Their bytes. */
static size_t
add_some(struct joblog_digest *d, const uint8_t *buf, size_t len)
{
	struct hash_job jobs[HASH_MANY_MAX];
	uint8_t out[HASH_MANY_MAX][JOBLOG_DIGEST];
	size_t n, at, part;

	for (n = at = 0; n < HASH_MANY_MAX && at < len; n++, at += part) {
		part = len - at < JOBLOG_BLOCK ? len - at : JOBLOG_BLOCK;
		jobs[n] = (struct hash_job){ .buf = buf + at, .len = part,
		    .personal = "errand.logblock", .out_len = JOBLOG_DIGEST,
		    .out = out[n] };
	}
	hash_many(jobs, n);
	(void)crypto_generichash_blake2b_update(&d->top, out[0],
	    n * JOBLOG_DIGEST);
	return (at);
}

void
joblog_digest_add(struct joblog_digest *d, const uint8_t *buf, size_t len)
{
	size_t n;

	for (d->len += len; len > 0; len -= n, buf += n)
		n = add_some(d, buf, len);
}

void
joblog_digest_final(struct joblog_digest *d, uint8_t out[JOBLOG_DIGEST])
{
	uint8_t n[8];

	le_put64(n, d->len);
	(void)crypto_generichash_blake2b_update(&d->top, n, sizeof(n));
	(void)crypto_generichash_blake2b_final(&d->top, out, JOBLOG_DIGEST);
}
