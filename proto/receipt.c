/*
 * Receipts: signing, checking, their parts.  Memory only; keys are the
 * caller's.
 */
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "lib/content.h"
#include "lib/le.h"
#include "proto/convert.h"
#include "proto/edge.h"
#include "proto/receipt.h"

#define MAGIC_LEN       (sizeof(RECEIPT_MAGIC) - 1)
#define HEAD_LEN        (MAGIC_LEN + 4)
#define SIG_LEN         crypto_sign_BYTES
#define BODY_MAX        (LIMIT_RECEIPT - HEAD_LEN - SIG_LEN)

_Static_assert(MAGIC_LEN == 16, "the magic is 16 bytes");

static void
hash(const char *personal, const void *buf, size_t len, uint8_t out[32])
{
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] = { 0 };

	memcpy(person, personal, strnlen(personal, sizeof(person)));
	(void)crypto_generichash_blake2b_salt_personal(out, 32, buf, len,
	    NULL, 0, NULL, person);
}

void
receipt_digest(const void *buf, size_t len, uint8_t *out)
{
	hash("errand.receipt", buf, len, out);
}

void
receipt_key_id(const uint8_t pk[32], uint8_t id[8])
{
	uint8_t full[32];

	hash("errand.hostkey", pk, 32, full);
	memcpy(id, full, 8);
}

ssize_t
receipt_sign(const struct receipt *r, const uint8_t *sk, uint8_t *buf,
    size_t cap)
{
	ssize_t n;
	size_t len;

	if (cap < HEAD_LEN + SIG_LEN) {
		errno = EMSGSIZE;
		return (-1);
	}
	if ((n = map_pack(&receipt_map, r, buf + HEAD_LEN,
	    cap - HEAD_LEN - SIG_LEN, BODY_MAX)) == -1)
		return (-1);
	memcpy(buf, RECEIPT_MAGIC, MAGIC_LEN);
	le_put32(buf + MAGIC_LEN, (uint32_t)n);
	len = HEAD_LEN + (size_t)n;
	if (crypto_sign_detached(buf + len, NULL, buf, len, sk) != 0) {
		errno = EINVAL;
		return (-1);
	}
	return ((ssize_t)(len + SIG_LEN));
}

ssize_t
receipt_signed_len(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint32_t body;

	if (len < HEAD_LEN + SIG_LEN ||
	    memcmp(p, RECEIPT_MAGIC, MAGIC_LEN) != 0)
		goto err0;
	body = le_get32(p + MAGIC_LEN);
	if (body > BODY_MAX || body > len - HEAD_LEN - SIG_LEN)
		goto err0;
	return ((ssize_t)(HEAD_LEN + body + SIG_LEN));

err0:
	errno = EPROTO;
	return (-1);
}

/* Is the body what encoding ${r} gives? */
static int
body_canonical(const struct receipt *r, const uint8_t *body, size_t len)
{
	uint8_t again[BODY_MAX];
	ssize_t n;

	n = map_pack(&receipt_map, r, again, sizeof(again), BODY_MAX);
	return (n >= 0 && (size_t)n == len && memcmp(again, body, len) == 0);
}

/* Is it signed by ${pk}, and says so? */
static const char *
signature_fault(const struct receipt *r, const uint8_t *p, size_t len,
    const uint8_t *pk)
{
	uint8_t id[8];

	receipt_key_id(pk, id);
	if (memcmp(id, r->host_key_id, sizeof(id)) != 0)
		return ("it names another host key than the one given");
	if (crypto_sign_verify_detached(p + len - SIG_LEN, p, len - SIG_LEN,
	    pk) != 0)
		return ("its signature is not that of the host key");
	return (NULL);
}

/* Check the signed part of exactly ${len} bytes. */
static const char *
signed_fault(const uint8_t *p, size_t len, const uint8_t *pk,
    struct receipt *r)
{
	const uint8_t *body = p + HEAD_LEN;
	size_t n = len - HEAD_LEN - SIG_LEN;

	if (map_parse(&receipt_map, body, n, r, BODY_MAX) == -1)
		return ("its body is malformed");
	if (!body_canonical(r, body, n))
		return ("its body is not in canonical form");
	return (pk == NULL ? NULL : signature_fault(r, p, len, pk));
}

/* Check the spec and put it into ${r}. */
static const char *
spec_fault(const uint8_t *p, size_t len, struct receipt *r)
{
	struct obj_ref ref;
	uint32_t n;

	if (len < 4)
		return ("it ends before the spec");
	n = le_get32(p);
	if (n != len - 4)
		return ("the length of its spec is wrong");
	if (n != r->submit.spec_len)
		return ("its spec is not as long as was signed");
	if (content_from_mem(p + 4, n, NULL, NULL, &ref) == -1)
		return ("its spec could not be checked: out of memory");
	if (!obj_ref_equal(&ref, &r->submit.spec))
		return ("its spec is not the one that was signed");
	if (job_spec_parse(p + 4, n, &r->spec) == -1)
		return ("its spec is malformed");
	return (NULL);
}

int
receipt_open_signed(const void *buf, size_t len, const uint8_t *pk,
    struct receipt *r, const char **why)
{
	ssize_t n = receipt_signed_len(buf, len);

	memset(r, 0, sizeof(*r));
	if (n == -1)
		*why = "it is not a receipt, or is cut off";
	else if ((size_t)n != len)
		*why = "something follows its end";
	else
		*why = signed_fault(buf, len, pk, r);
	return (*why == NULL ? 0 : -1);
}

int
receipt_open(const void *buf, size_t len, const uint8_t *pk,
    struct receipt *r, const char **why)
{
	ssize_t n = receipt_signed_len(buf, len);
	const uint8_t *p = buf;

	memset(r, 0, sizeof(*r));
	if (n == -1)
		*why = "it is not a receipt, or is cut off";
	else if ((*why = signed_fault(p, (size_t)n, pk, r)) == NULL)
		*why = spec_fault(p + n, len - (size_t)n, r);
	return (*why == NULL ? 0 : -1);
}

void
receipt_done(struct receipt *r)
{
	job_spec_done(&r->spec);
}
