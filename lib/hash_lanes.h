/*
 * BLAKE2b's compression of LANES blocks at once, one in each element of the
 * vectors.  Included by hash_many.c only, once for each width, with LANES,
 * COMPRESS (the name of the function) and TARGET (what the processor must
 * have) defined.
 *
 * Letters are those of RFC 7693.
 */

typedef uint64_t WORDS __attribute__((vector_size(8 * LANES)));

#define ROTATE(x, n)    ((x) >> (n) | (x) << (64 - (n)))
#define MIX(a, b, c, d, x, y) do {                                      \
	v[a] += v[b] + m[x];                                            \
	v[d] ^= v[a];                                                   \
	v[d] = ROTATE(v[d], 32);                                        \
	v[c] += v[d];                                                   \
	v[b] ^= v[c];                                                   \
	v[b] = ROTATE(v[b], 24);                                        \
	v[a] += v[b] + m[y];                                            \
	v[d] ^= v[a];                                                   \
	v[d] = ROTATE(v[d], 16);                                        \
	v[c] += v[d];                                                   \
	v[b] ^= v[c];                                                   \
	v[b] = ROTATE(v[b], 63);                                        \
} while (0)

__attribute__((target(TARGET)))
static void
COMPRESS(struct lanes *s)
{
	WORDS v[16], m[16];
	size_t i, k;

	for (i = 0; i < 16; i++) {
		for (k = 0; k < LANES; k++)
			m[i][k] = le_get64(s->block[k] + 8 * i);
	}
	for (i = 0; i < 8; i++) {
		memcpy(&v[i], s->h[i], sizeof(v[i]));
		v[i + 8] = (WORDS){ 0 } + iv[i];
	}
	for (k = 0; k < LANES; k++) {
		v[12][k] ^= s->count[k];
		v[14][k] ^= s->last[k];
	}
#pragma GCC unroll 12
	for (i = 0; i < 12; i++) {
		MIX(0, 4, 8, 12, sigma[i][0], sigma[i][1]);
		MIX(1, 5, 9, 13, sigma[i][2], sigma[i][3]);
		MIX(2, 6, 10, 14, sigma[i][4], sigma[i][5]);
		MIX(3, 7, 11, 15, sigma[i][6], sigma[i][7]);
		MIX(0, 5, 10, 15, sigma[i][8], sigma[i][9]);
		MIX(1, 6, 11, 12, sigma[i][10], sigma[i][11]);
		MIX(2, 7, 8, 13, sigma[i][12], sigma[i][13]);
		MIX(3, 4, 9, 14, sigma[i][14], sigma[i][15]);
	}
	for (i = 0; i < 8; i++) {
		for (k = 0; k < LANES; k++)
			s->h[i][k] ^= v[i][k] ^ v[i + 8][k];
	}
}

#undef ROTATE
#undef MIX
#undef WORDS
