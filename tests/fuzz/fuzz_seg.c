/*
 * A block of the index that a disk gave back.  The first byte says what is
 * done with the rest: taken as a block as it is; sealed first, so that what a
 * checksum does not find has to be found otherwise; or taken as entries of a
 * block that is well made, of which one bit is then changed.  A key to look for
 * comes first.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker-store/seg.h"

#define RUN             3
#define DATA            65
#define HEAD            64

/* Use a block in every way that there is. */
static void
use(const uint8_t *block, size_t len, const uint8_t *key)
{
	uint8_t buf[SEG_BLOCK_MAX];
	struct seg_head head;
	struct ix_object o;
	size_t n, at;
	int b;

	/* Of the right size, so that a byte too far is noticed. */
	if (seg_data_check(RUN, DATA, block, len, &n) == 0) {
		at = seg_entries_find(block + SEG_BLOCK_HEAD, n, key);
		if (at > n)
			abort();
		for (at = 0; at < n; at++) {
			seg_entry_decode(block + SEG_BLOCK_HEAD +
			    at * SEG_ENTRY_LEN, &o);
			if (seg_entry_encode(&o, buf) == -1 ||
			    memcmp(buf, block + SEG_BLOCK_HEAD +
			    at * SEG_ENTRY_LEN, SEG_ENTRY_LEN) != 0)
				abort();
		}
	}
	if (seg_head_check(RUN, HEAD, block, len, &head) == 0) {
		(void)seg_filter_has(&head, key);
		b = seg_head_find(&head, key);
		if (b < -1 || b >= head.blocks)
			abort();
	}
}

static void
as_it_is(const uint8_t *data, size_t len, const uint8_t *key)
{
	uint8_t *block = malloc(len + 1);

	if (block == NULL)
		abort();
	memcpy(block, data, len);
	use(block, len, key);
	free(block);
}

static void
sealed(const uint8_t *data, size_t len, const uint8_t *key, uint32_t number)
{
	uint8_t *block = malloc(SEG_BLOCK_HEAD + len);

	if (block == NULL)
		abort();
	memcpy(block + SEG_BLOCK_HEAD, data, len);
	seg_block_close(RUN, number, block, SEG_BLOCK_HEAD + len);
	use(block, SEG_BLOCK_HEAD + len, key);
	free(block);
}

/* Whatever bit it is, it is noticed. */
static void
flipped(const uint8_t *data, size_t len, const uint8_t *key)
{
	uint8_t block[SEG_BLOCK_MAX];
	size_t n = len / SEG_ENTRY_LEN, bit, size;
	struct seg_head head;

	if (n == 0)
		return;
	n = n > SEG_DATA_ENTRIES ? SEG_DATA_ENTRIES : n;
	size = seg_data_encode(RUN, DATA, data, n, block);
	if (seg_data_check(RUN, DATA, block, size, &n) == -1)
		abort();
	bit = (key[0] | (size_t)key[1] << 8) % (8 * size);
	block[bit / 8] ^= (uint8_t)(1U << bit % 8);
	if (seg_data_check(RUN, DATA, block, size, &n) == 0)
		abort();
	size = seg_head_encode(RUN, HEAD, data, n, block);
	if (seg_head_check(RUN, HEAD, block, size, &head) == -1 ||
	    !seg_filter_has(&head, data))
		abort();
	bit %= 8 * size;
	block[bit / 8] ^= (uint8_t)(1U << bit % 8);
	if (seg_head_check(RUN, HEAD, block, size, &head) == 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *key = data + 1;

	if (len < 1 + SEG_KEY_LEN)
		return (0);
	len -= 1 + SEG_KEY_LEN;
	switch (data[0] % 4) {
	case 0:
		as_it_is(key + SEG_KEY_LEN, len, key);
		break;
	case 1:
		sealed(key + SEG_KEY_LEN, len, key, DATA);
		break;
	case 2:
		sealed(key + SEG_KEY_LEN, len, key, HEAD);
		break;
	default:
		flipped(key + SEG_KEY_LEN, len, key);
	}
	return (0);
}
