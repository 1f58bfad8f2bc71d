#ifndef ERRAND_RECEIPT_H
#define ERRAND_RECEIPT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/*
 * A receipt file, little-endian:
 *
 *   the 16 bytes "errand receipt 1"
 *   u32 length of the body, the body (proto/record.proto, message Receipt, in
 *   its one canonical encoding)
 *   a 64-byte Ed25519 signature over everything before it
 *   u32 length of the spec, the spec (an encoded struct job_spec)
 *
 * The first three are the signed part: the supervisor makes it, the store
 * keeps it, its digest is what the next receipt of the tenant names.  The spec
 * (argv, workdir, names of the environment) was never seen by the supervisor;
 * the client appends it, and the signed part binds it: content_from_mem of the
 * spec must give submit.spec.
 */
#define RECEIPT_MAGIC           "errand receipt 1"

struct receipt {
	char job[JOB_ID_LEN + 1];
	char tenant[TENANT_NAME_MAX + 1];
	uint32_t tenant_id;
	uint64_t sequence;              /* in the tenant's chain, from 1 */
	uint8_t previous[32];           /* digest of the one before, or zero */
	uint8_t host_key_id[8];
	char software[32];
	uint8_t state;                  /* enum job_state */
	struct err reason;              /* code and text */
	struct job_submit submit;       /* root before, spec, net, as_root */
	struct job_limits limits;
	struct job_times times;
	struct job_phases phases;       /* the last one is collect */
	uint8_t ran, exit_code, signal, limit;
	struct job_usage usage;
	struct job_log log;
	struct job_changes changes;     /* root after, count, digest */
	uint8_t cleanup;                /* complete */
	uint8_t unknown;                /* as in struct job_record */
	uint32_t ncaches;
	struct cache_use caches[LIMIT_CACHES];
	struct job_spec spec;           /* after receipt_open of a whole file */
};

/* Digest of the signed part: 32 bytes, BLAKE2b-256, personal
 * "errand.receipt". */
void receipt_digest(const void *, size_t, uint8_t *);

/* First 8 bytes of BLAKE2b-256 of a public key, personal "errand.hostkey". */
void receipt_key_id(const uint8_t pk[32], uint8_t id[8]);

/**
 * receipt_sign(r, sk, buf, cap):
 * Encode and sign with the 64-byte Ed25519 secret key: the signed part.
 * Returns its length (at most LIMIT_RECEIPT), or -1 with errno.
 */
ssize_t receipt_sign(const struct receipt *, const uint8_t *, uint8_t *,
    size_t);

/* Length of the signed part at the start of ${len} bytes; -1 if malformed. */
ssize_t receipt_signed_len(const void *, size_t);

/**
 * receipt_open(buf, len, pk, r, why):
 * Check a whole file: magic, lengths, signature by ${pk} (32 bytes), canonical
 * form of the body, the spec against its id; nothing may follow.  Return 0, or
 * -1 with ${*why} a sentence.  ${pk} NULL leaves out the signature (to find
 * out which key it wants).
 */
int receipt_open(const void *, size_t, const uint8_t *, struct receipt *,
    const char **);

/* The same for a signed part alone; r->spec stays empty. */
int receipt_open_signed(const void *, size_t, const uint8_t *,
    struct receipt *, const char **);
void receipt_done(struct receipt *);

#endif /* !ERRAND_RECEIPT_H */
