/*
 * Crash points, mutants and small numbers for tests, in a build with CRASH=1
 * only.  Reads the environment or crash.conf before main, then memory only.
 */
#include "crash.h"

#ifdef ERRAND_CRASH_POINTS

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX       1024

/* The words, each ended by a NUL, and an empty one. */
static char words[WORDS_MAX + 2];

/* Allocations that fail: from the first to before the last; none if equal. */
static unsigned long nomem_first, nomem_last;

static void
from_file(void)
{
	char path[WORDS_MAX + sizeof("crash.conf")];
	char *slash;
	ssize_t n;
	int fd;

	if ((n = readlink("/proc/self/exe", path, WORDS_MAX)) == -1)
		return;
	path[n] = '\0';
	if ((slash = strrchr(path, '/')) == NULL)
		return;
	memcpy(slash + 1, "crash.conf", sizeof("crash.conf"));
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return;
	if ((n = read(fd, words, WORDS_MAX)) > 0)
		words[n] = '\0';
	(void)close(fd);
}

static const char *value_next(const char *, const char **);

static void
nomem_load(void)
{
	const char *at = words, *v;
	char *end;

	if ((v = value_next("nomem", &at)) == NULL)
		return;
	nomem_first = strtoul(v, &end, 10);
	nomem_last = nomem_first + (*end == ':' ? strtoul(end + 1, NULL,
	    10) : 1);
}

__attribute__((constructor))
static void
words_load(void)
{
	const char *env = getenv("ERRAND_CRASH");
	char *from, *to = words;

	if (env != NULL)
		(void)snprintf(words, WORDS_MAX, "%s", env);
	else
		from_file();
	for (from = words; *from != '\0'; from++) {
		if (*from != ' ' && *from != '\n')
			*to++ = *from;
		else if (to != words && to[-1] != '\0')
			*to++ = '\0';
	}
	to[0] = to[1] = '\0';
	nomem_load();
}

/* The next word "name=value" behind ${at}: its value, or NULL. */
static const char *
value_next(const char *name, const char **at)
{
	size_t len = strlen(name);
	const char *word;

	while (**at != '\0') {
		word = *at;
		*at += strlen(word) + 1;
		if (strncmp(word, name, len) == 0 && word[len] == '=')
			return (word + len + 1);
	}
	return (NULL);
}

/* Somebody outside wants to know where we are. */
static void
trace(const char *name)
{
	const char *at = words, *v;

	while ((v = value_next("trace", &at)) != NULL) {
		if (strncmp(name, v, strlen(v)) == 0)
			(void)dprintf(STDERR_FILENO, "at %s\n", name);
	}
}

static uint64_t
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
}

/* No sleeping: a fence may forbid it. */
static void
stay(const char *name)
{
	size_t len = strlen(name);
	const char *at = words, *v;
	uint64_t until;

	while ((v = value_next("pause", &at)) != NULL) {
		if (strncmp(v, name, len) != 0 || v[len] != ':')
			continue;
		until = now_us() + strtoull(v + len + 1, NULL, 10);
		while (now_us() < until)
			;
	}
}

void
crash_point(const char *name)
{
	static unsigned long passed;
	size_t len = strlen(name);
	const char *at = words, *v;

	trace(name);
	stay(name);
	if ((v = value_next("point", &at)) == NULL ||
	    strncmp(v, name, len) != 0 || (v[len] != '\0' && v[len] != ':'))
		return;
	if (++passed < (v[len] == ':' ? strtoul(v + len + 1, NULL, 10) : 1))
		return;
	(void)dprintf(STDERR_FILENO, "crash point %s\n", name);
	_exit(CRASH_STATUS);
}

int
crash_mutant(const char *name)
{
	const char *at = words, *v;

	while ((v = value_next("mutant", &at)) != NULL) {
		if (strcmp(v, name) == 0)
			return (1);
	}
	return (0);
}

uint64_t
crash_number(const char *name, uint64_t number)
{
	const char *at = words, *v;
	char *end;
	uint64_t n;

	if ((v = value_next(name, &at)) == NULL)
		return (number);
	n = strtoull(v, &end, 10);
	switch (*end) {
	case 'G':
		n *= 1024;
		/* FALLTHROUGH */
	case 'M':
		n *= 1024;
		/* FALLTHROUGH */
	case 'K':
		n *= 1024;
	}
	return (n);
}

/*
 * The C library's own, under the names that it keeps for whoever puts others in
 * their place.
 */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static int
refused(void)
{
	static const char line[] = "no memory for this one\n";
	static unsigned long count;

	if (nomem_first == nomem_last || ++count < nomem_first ||
	    count >= nomem_last)
		return (0);
	if (count == nomem_first)
		(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	errno = ENOMEM;
	return (1);
}

void *
malloc(size_t len)
{
	return (refused() ? NULL : __libc_malloc(len));
}

void *
calloc(size_t n, size_t len)
{
	return (refused() ? NULL : __libc_calloc(n, len));
}

void *
realloc(void *p, size_t len)
{
	return (refused() ? NULL : __libc_realloc(p, len));
}

#endif
