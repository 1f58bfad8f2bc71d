#ifndef ERRAND_EXEC_COMMAND_H
#define ERRAND_EXEC_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct job_spec;

/*
 * What pid 1's child needs to know to execute the command, in one piece of
 * memory that the keeper makes and hands in: so a sandbox can be ready before
 * its job is known.
 */
struct command {
	char **argv;            /* ends with NULL */
	char **env;             /* NAME=VALUE, ends with NULL */
	const char *workdir;    /* below the workspace, "" for its top */
	uint32_t pids;          /* limit, 0: none */
	uint64_t file;          /* bytes one file may have, 0: any */
};

/* The parts that are not in the spec. */
struct command_facts {
	const char *job;
	uint8_t as_root;
	uint32_t pids;
	uint64_t file;
	const uint8_t *values;  /* NAME=VALUE NUL..., may be NULL */
	size_t values_len;
};

/* That piece of memory. */
struct command_image {
	uint8_t *p;             /* of malloc */
	size_t len;
};

/**
 * command_pack(spec, facts, image, why):
 * Make it.  Return 0, or -1 with ${*why} a static sentence: values that are
 * malformed or whose name is not in the spec.
 */
int command_pack(const struct job_spec *, const struct command_facts *,
    struct command_image *, const char **);

/* A sealed memfd of it, or -1 with errno. */
int command_memfd(const struct command_image *);

/**
 * command_read(buf, len, cmd):
 * The reverse.  ${cmd} points into ${buf}.  Return 0, or -1 with errno.
 */
int command_read(const uint8_t *, size_t, struct command *);

/**
 * command_map(fd, cmd):
 * The same from a memfd.  What ${cmd} points at stays until the process ends or
 * executes.  Return 0, or -1 with errno.
 */
int command_map(int, struct command *);

#endif /* !ERRAND_EXEC_COMMAND_H */
