/*
 * The format of packs: headers, checksums, MACs.  Memory only.
 */
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "lib/hash_many.h"
#include "lib/le.h"
#include "lib/objrec.h"
#include "pack_rec.h"

#define MAC_LEN         16
#define CHECK_LEN       8
#define CHECK_AT        56
#define MAC_AT          64
#define FILE_MAC_AT     48
#define PLACE_LEN       12

static const uint8_t file_magic[8] = "ERRPACK\n";

static const uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] =
    "errand.pack";

/* What a MAC is of: the header bytes before it, and where they are. */
static void
mac_input(const uint8_t *head, size_t len, uint32_t pack, uint64_t off,
    uint8_t *buf)
{
	memcpy(buf, head, len);
	le_put32(buf + len, pack);
	le_put64(buf + len + 4, off);
}

static void
mac_of(const uint8_t *head, size_t len, const uint8_t *key, uint32_t pack,
    uint64_t off, uint8_t *mac)
{
	uint8_t buf[MAC_AT + PLACE_LEN];

	mac_input(head, len, pack, off, buf);
	(void)crypto_generichash_blake2b_salt_personal(mac, MAC_LEN, buf,
	    len + PLACE_LEN, key, PACK_KEY_LEN, NULL, person);
}

/* libsodium gives no less than 16 bytes; half of them are plenty here. */
static void
check_of(const struct pack_rec *rec, const uint8_t *stored, uint8_t *out)
{
	static const uint8_t stored_person
	    [crypto_generichash_blake2b_PERSONALBYTES] = "errand.stored";
	uint8_t sum[crypto_generichash_blake2b_BYTES_MIN];

	memset(sum, 0, sizeof(sum));
	if (rec->codec != OBJREC_RAW)
		(void)crypto_generichash_blake2b_salt_personal(sum,
		    sizeof(sum), stored, rec->len, NULL, 0, NULL,
		    stored_person);
	memcpy(out, sum, CHECK_LEN);
}

void
pack_rec_fill(const struct pack_rec *rec, const uint8_t *stored, uint8_t *out)
{
	le_put32(out, PACK_REC_MAGIC);
	le_put32(out + 4, rec->tenant);
	out[8] = rec->ref.kind;
	out[9] = rec->codec;
	le_put16(out + 10, 0);
	le_put32(out + 12, rec->raw_len);
	le_put32(out + 16, rec->len);
	le_put32(out + 20, 0);
	memcpy(out + 24, rec->ref.id, OBJ_ID_LEN);
	check_of(rec, stored, out + CHECK_AT);
}

void
pack_rec_seal(const struct pack_rec_place *places, size_t n,
    const uint8_t *key, uint32_t pack)
{
	uint8_t bufs[HASH_MANY_MAX][MAC_AT + PLACE_LEN];
	struct hash_job jobs[HASH_MANY_MAX];
	size_t i;

	for (i = 0; i < n; i++) {
		mac_input(places[i].head, MAC_AT, pack, places[i].off,
		    bufs[i]);
		jobs[i] = (struct hash_job){
			.buf = bufs[i],
			.len = sizeof(bufs[i]),
			.personal = (const char *)person,
			.key = key,
			.out_len = MAC_LEN,
			.out = places[i].head + MAC_AT
		};
	}
	hash_many(jobs, n);
}

void
pack_rec_encode(const struct pack_rec *rec, const uint8_t *stored,
    const uint8_t *key, uint32_t pack, uint64_t off, uint8_t *out)
{
	pack_rec_fill(rec, stored, out);
	mac_of(out, MAC_AT, key, pack, off, out + MAC_AT);
}

int
pack_rec_decode(const uint8_t *in, const uint8_t *key, uint32_t pack,
    uint64_t off, struct pack_rec *rec)
{
	uint8_t mac[MAC_LEN];

	if (le_get32(in) != PACK_REC_MAGIC)
		goto err0;
	mac_of(in, MAC_AT, key, pack, off, mac);
	if (sodium_memcmp(mac, in + MAC_AT, MAC_LEN) != 0)
		goto err0;
	rec->tenant = le_get32(in + 4);
	rec->ref.kind = in[8];
	rec->codec = in[9];
	rec->raw_len = le_get32(in + 12);
	rec->len = le_get32(in + 16);
	memcpy(rec->ref.id, in + 24, OBJ_ID_LEN);
	if (rec->raw_len == 0 || rec->raw_len > OBJ_MAX || rec->len == 0 ||
	    rec->len > rec->raw_len)
		goto err0;
	return (0);

err0:
	errno = EBADMSG;
	return (-1);
}

uint32_t
pack_rec_len(const uint8_t *in)
{
	return (le_get32(in + 16));
}

int
pack_rec_verify(const uint8_t *head, const struct pack_rec *rec,
    const uint8_t *stored)
{
	uint8_t sum[CHECK_LEN];

	check_of(rec, stored, sum);
	if (memcmp(sum, head + CHECK_AT, CHECK_LEN) != 0) {
		errno = EBADMSG;
		return (-1);
	}
	return (0);
}

/* The MAC at the end of a file's header. */
void
pack_head_seal(uint32_t pack, const uint8_t *key, uint8_t *head)
{
	mac_of(head, FILE_MAC_AT, key, pack, 0, head + FILE_MAC_AT);
}

void
pack_head_encode(uint32_t pack, const uint8_t *key, uint8_t *out)
{
	memset(out, 0, PACK_HEAD);
	memcpy(out, file_magic, sizeof(file_magic));
	le_put32(out + 8, PACK_VERSION);
	le_put64(out + 16, pack);
	pack_head_seal(pack, key, out);
}

int
pack_head_check(const uint8_t *in, uint32_t pack, const uint8_t *key)
{
	uint8_t want[PACK_HEAD];

	pack_head_encode(pack, key, want);
	if (sodium_memcmp(in, want, PACK_HEAD) == 0)
		return (0);
	memcpy(want, in, PACK_HEAD);
	pack_head_seal(pack, key, want);
	errno = memcmp(in, file_magic, sizeof(file_magic)) == 0 &&
	    le_get32(in + 8) > PACK_VERSION &&
	    sodium_memcmp(in, want, PACK_HEAD) == 0 ? EPROTONOSUPPORT :
	    EBADMSG;
	return (-1);
}
