#ifndef ERRAND_EXEC_PREEXEC_H
#define ERRAND_EXEC_PREEXEC_H

#include <stdint.h>

struct command;
struct sock_fprog;

/* What the command's process says on the exec pipe when it could not go on. */
enum preexec_step {
	PREEXEC_FENCE = 1,      /* a step of ours; .what is its number */
	PREEXEC_WORKDIR,        /* the working directory is not there */
	PREEXEC_EXECUTE         /* execve */
};

struct preexec_msg {
	uint32_t step;
	int32_t err;
	char what[40];          /* FENCE: which */
};

struct preexec_fds {
	int go;
	int exec;
	int out;
	int err;
};

/**
 * preexec_run(cmd, fds, filter):
 * From a process of the sandbox's own to the command: fence it in, wait for a
 * byte on ${go}, execute.  Does not return.
 */
void preexec_run(const struct command *, const struct preexec_fds *,
    const struct sock_fprog *) __attribute__((noreturn));

#endif /* !ERRAND_EXEC_PREEXEC_H */
