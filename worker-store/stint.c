/*
 * The longest of many steps.  Reads clocks.
 */
#include <time.h>

#include "lib/io.h"
#include "stint.h"

static uint64_t waited_us;      /* for flushes, since the start */

static uint64_t
cpu_us(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == -1)
		return (0);
	return ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
}

void
stint_begin(struct stint *s)
{
	s->us = io_mono_us();
	s->cpu_us = cpu_us();
	s->waited_us = waited_us;
}

void
stint_end(const struct stint *s, struct stint_longest *l)
{
	uint64_t us = io_mono_us() - s->us, cpu = cpu_us() - s->cpu_us;
	uint64_t waited = waited_us - s->waited_us;
	uint64_t own = us > waited ? us - waited : 0;

	l->us = us > l->us ? us : l->us;
	l->own_us = own > l->own_us ? own : l->own_us;
	l->cpu_us = cpu > l->cpu_us ? cpu : l->cpu_us;
}

void
stint_flushed(const struct stint *s)
{
	uint64_t us = io_mono_us() - s->us, cpu = cpu_us() - s->cpu_us;

	waited_us += us > cpu ? us - cpu : 0;
}
