#ifndef ERRAND_EXEC_PREEXEC_H
#define ERRAND_EXEC_PREEXEC_H

#include <stdint.h>

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

/*
 * The gate is a SOCK_SEQPACKET pair between the keeper and this process:
 *
 *   keeper  PROBE    if there is no job yet: run a program
 *   this    READY    it is fenced in, but for what needs the workspace
 *   this    PROVED   what PROBE asked for ended with .status
 *   keeper  COMMAND  + .len bytes: what to execute (command.h); all is in its
 *                    place.  What is longer than GATE_IMAGE comes as a memfd
 *                    instead, and .len is 0.  With .input one more fd: what to
 *                    read.  With .tty it gets a terminal, and the answer is
 *   this    TTY      + 2 fds: its master and its slave
 *   keeper  GO       execute
 */
enum gate_op {
	GATE_PROBE = 1, GATE_READY, GATE_PROVED, GATE_COMMAND, GATE_TTY,
	GATE_GO
};

struct gate_msg {
	uint32_t op;
	/* COMMAND */
	uint8_t input, tty;
	uint16_t rows, cols;
	uint32_t len;           /* of the image behind this message */
	int status;             /* PROVED: as waitpid's */
};

/* Most commands are short, and a memfd for each takes as long as its fences. */
#define GATE_IMAGE      4096

struct gate_command {
	struct gate_msg m;
	uint8_t image[GATE_IMAGE];
};

struct preexec_start {
	int gate;
	int exec;               /* the exec pipe; tells preexec_msg */
	int out;
	int err;
	int watch;              /* to pid 1: one byte, + 1 fd: the listener of
				 * rename_watch.h.  Nothing: there is none */
	uint8_t as_root;
	uint32_t ids;           /* with as_root: it has 1 to this too */
	uint8_t bounded;        /* there are no user namespaces: it is the
				 * tenant already */
	const struct sock_fprog *filter;
};

/**
 * preexec_run(start):
 * From a process of the sandbox's own to the command: fence it in, wait at the
 * gate, execute.  Does not return.
 */
void preexec_run(const struct preexec_start *) __attribute__((noreturn));

#endif /* !ERRAND_EXEC_PREEXEC_H */
