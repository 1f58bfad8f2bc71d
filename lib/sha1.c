/*
 * SHA-1 (FIPS 180-4).  Memory only.
 */
#include <endian.h>
#include <string.h>

#include "sha1.h"

#define BLOCK   64

static uint32_t
rol(uint32_t x, int n)
{
	return (x << n | x >> (32 - n));
}

/* The next word of the schedule, which is kept as a ring of 16. */
static uint32_t
word(uint32_t w[16], int i)
{
	if (i >= 16)
		w[i & 15] = rol(w[(i + 13) & 15] ^ w[(i + 8) & 15] ^
		    w[(i + 2) & 15] ^ w[i & 15], 1);
	return (w[i & 15]);
}

static void
block(uint32_t h[5], const uint8_t *p)
{
	uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f, t;
	int i;

	memcpy(w, p, BLOCK);
	for (i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (i = 0; i < 80; i++) {
		if (i < 20)
			f = ((b & c) | (~b & d)) + 0x5a827999;
		else if (i < 40)
			f = (b ^ c ^ d) + 0x6ed9eba1;
		else if (i < 60)
			f = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
		else
			f = (b ^ c ^ d) + 0xca62c1d6;
		t = rol(a, 5) + f + e + word(w, i);
		e = d;
		d = c;
		c = rol(b, 30);
		b = a;
		a = t;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

void
sha1(const void *buf, size_t len, uint8_t out[SHA1_LEN])
{
	uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
	    0xc3d2e1f0 };
	const uint64_t bits = htobe64((uint64_t)len * 8);
	const uint8_t *p = buf;
	uint8_t last[2 * BLOCK] = { 0 };
	size_t left, end;
	int i;

	for (left = len; left >= BLOCK; left -= BLOCK, p += BLOCK)
		block(h, p);
	if (left > 0)
		memcpy(last, p, left);
	last[left] = 0x80;
	end = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	memcpy(last + end - 8, &bits, 8);
	block(h, last);
	if (end > BLOCK)
		block(h, last + BLOCK);
	for (i = 0; i < 5; i++)
		h[i] = htobe32(h[i]);
	memcpy(out, h, SHA1_LEN);
}
