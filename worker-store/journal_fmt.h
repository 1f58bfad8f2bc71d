#ifndef ERRAND_STORE_JOURNAL_FMT_H
#define ERRAND_STORE_JOURNAL_FMT_H

#include <stddef.h>
#include <stdint.h>

#include "index_job.h"

/*
 * What packs keep of changes that only the index holds otherwise: jobs,
 * references, receipts.  Permanent format, little-endian.  The bytes of a
 * record of kind PACK_JOURNAL are
 *
 *   u32 version = 1, u32 zero, u64 microseconds since 1970, entries
 *
 * and each entry is
 *
 *   u8 type, 3 zero bytes, u32 tenant, u64 serial, u32 length, as many bytes:
 *
 *   PUBLISH  job, idempotency id, root, spec, u32 length, record
 *   RESTATE  job, u32 length, record
 *   SETTLE   job, u64 sequence, digest, root, list, u64 microseconds since
 *            1970 when it was, u64 bytes of the log, u32 length, record, u32
 *            length, receipt
 *   FORGET   job
 *
 * The serial orders what is of one type, but for SETTLE, which the sequence
 * orders.  An entry of the same type, job and place in that order is the same
 * one, written twice, and the later counts.
 */
#define JOURNAL_VERSION 1
#define JOURNAL_HEAD    16
#define JOURNAL_ENTRY   20

enum journal_type {
	JOURNAL_PUBLISH = 1, JOURNAL_RESTATE, JOURNAL_SETTLE, JOURNAL_FORGET
};

struct journal_entry {
	uint8_t type;           /* enum journal_type */
	uint32_t tenant;
	uint64_t serial;
	char job[JOB_ID_LEN + 1];
	union {                 /* bytes are borrowed, job is the one above */
		struct ix_publish publish;      /* RESTATE: the record only */
		struct ix_settle settle;
	} u;
	uint8_t idem[IX_IDEM_LEN];              /* what publish.idem is */
	uint8_t digest[IX_DIGEST_LEN];          /* what settle.digest is */
	uint64_t settled_us;                    /* SETTLE */
	uint64_t log_bytes;
};

void journal_head_encode(uint64_t real_us, uint8_t *);

/* 0, or -1/EBADMSG (EPROTONOSUPPORT: of a newer version). */
int journal_head_decode(const uint8_t *, size_t, uint64_t *real_us);

/* How long an entry is, encoded. */
size_t journal_entry_len(const struct journal_entry *);
void journal_entry_encode(const struct journal_entry *, uint8_t *);

/**
 * journal_entry_decode(p, len, e):
 * Decode the entry at ${p}.  Pointers of ${e} go into it and into ${e} itself,
 * which must not be copied.  Return its length, or 0 when it is malformed.
 */
size_t journal_entry_decode(const uint8_t *, size_t, struct journal_entry *);

#endif /* !ERRAND_STORE_JOURNAL_FMT_H */
