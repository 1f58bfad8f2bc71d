#ifndef ERRAND_SHARE_H
#define ERRAND_SHARE_H

#include <stdint.h>

/*
 * Something that all tenants take of, and who asks.  What is kept is for those
 * tenants that an operator made and that have none of it: they find some,
 * whatever others hold.  Of the rest nobody gets more than he leaves, so that a
 * few who take all they can leave some to those who come later.
 */
struct share {
	uint64_t all, taken;
	uint64_t kept;          /* for others than who asks */
	uint64_t mine;          /* what he has */
	int entitled;           /* is he one of those that it is kept for? */
};

static inline int
share_may(const struct share *s, uint64_t want)
{
	uint64_t left = s->all > s->taken ? s->all - s->taken : 0;

	if (s->entitled && s->mine == 0)
		return (want <= left);
	left = left > s->kept ? left - s->kept : 0;
	return (want <= left && s->mine <= left - want);
}

#endif /* !ERRAND_SHARE_H */
