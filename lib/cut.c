/*
 * Where content is cut into chunks.  Permanent: another answer gives other ids.
 * Memory only.
 */
#include "cut.h"
#include "cut_gear.h"

/*
 * The hash of a place is over the CUT_WINDOW bytes before it: older bytes have
 * been shifted out of the 64-bit word.  A place is a cut when the top bits of
 * its hash are zero: 17 bits before CUT_AVG, 13 from there on, which pulls
 * the lengths together round CUT_AVG.
 */
#define CUT_WINDOW      64
#define BOUND_SHORT     (UINT64_C(1) << (64 - 17))
#define BOUND_LONG      (UINT64_C(1) << (64 - 13))

/*
 * Roll ${*h} from place ${i} to the first place whose hash is below ${bound},
 * or to ${end}; return it.
 */
static inline size_t
roll(const uint8_t *buf, size_t i, size_t end, uint64_t bound, uint64_t *h)
{
	uint64_t v = *h;

	while (i < end) {
		v = (v << 1) + cut_gear[buf[i++]];
		if (v < bound)
			break;
	}
	*h = v;
	return (i);
}

size_t
cut_next(const uint8_t *buf, size_t len, int last)
{
	size_t i, mid, end;
	uint64_t h = 0;

	if (!last && len < CUT_MAX)
		return (0);
	if (len <= CUT_MIN)
		return (len);
	end = len < CUT_MAX ? len : CUT_MAX;
	mid = end < CUT_AVG ? end : CUT_AVG;

	/* Fill the window; CUT_MIN itself is the first place looked at. */
	for (i = CUT_MIN - CUT_WINDOW; i < CUT_MIN - 1; i++)
		h = (h << 1) + cut_gear[buf[i]];
	i = roll(buf, i, mid - 1, BOUND_SHORT, &h);
	if (h < BOUND_SHORT)
		return (i);
	return (roll(buf, i, end, BOUND_LONG, &h));
}
