#ifndef ERRAND_CRASH_H
#define ERRAND_CRASH_H

/*
 * What the crash tests do to a program from within.  All of it is nothing but
 * in a build with CRASH=1, which is never installed.  There the words come
 * from the environment, or, where that is cleared, from the file crash.conf
 * beside the program:
 *
 *	ERRAND_CRASH='point=pack-written:3 mutant=no-data-barrier pack-max=4M'
 *
 * They are read before main, so a fence does not matter.
 *
 *   CRASH_POINT("pack-written");
 *	The process ends here, without another system call but a line on
 *	stderr, when the point is the chosen one and is passed for the N-th
 *	time (:N, the first if absent).  The names are found by reading the
 *	sources: each is written in one place only, as a literal.
 *
 *	trace=gc- tells on stderr when points that begin so are passed.
 *	pause=rewrite-done:2000 stays there for so many microseconds, so that
 *	what comes from outside, a cut of the power, falls on that place.
 *
 *	nomem=N:M has the N-th allocation of the process fail, and the next
 *	ones, M in all: ours and those of libraries.
 *
 *   if (!MUTANT("no-data-barrier") && fdatasync(fd) == -1)
 *	True when that mistake was asked for: the tests must find it.
 *
 *   TEST_NUMBER("pack-max", PACK_FILE_MAX)
 *	Another number in the place of a constant; K, M and G are understood.
 */
#ifdef ERRAND_CRASH_POINTS

#include <stdint.h>

#define CRASH_STATUS    113     /* what it ends with at a point */

void crash_point(const char *);
int crash_mutant(const char *);
uint64_t crash_number(const char *, uint64_t);

#define CRASH_POINT(name)               crash_point(name)
#define MUTANT(name)                    crash_mutant(name)
#define TEST_NUMBER(name, number)       crash_number(name, number)

#else

#define CRASH_POINT(name)               ((void)0)
#define MUTANT(name)                    0
#define TEST_NUMBER(name, number)       (number)

#endif

#endif /* !ERRAND_CRASH_H */
