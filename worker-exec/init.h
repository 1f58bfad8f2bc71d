#ifndef ERRAND_EXEC_INIT_H
#define ERRAND_EXEC_INIT_H

#include <stdint.h>

#include "preexec.h"
#include "view.h"

struct sock_fprog;

/*
 * Pid 1 of a sandbox and its keeper talk over a SOCK_SEQPACKET pair, in
 * structures of this program, since both are forks of it:
 *
 *   keeper  PLACED     + .number fds: begin, by writing "0" into each, which
 *                      puts this process where it will be counted
 *   keeper  WORKSPACE  + 4 fds: the mount of the workspace, the command, and
 *                      the pipes for its output, made once the keeper was the
 *                      tenant, so that the job may open them again by name
 *   keeper  SIGNAL     deliver to the command
 *   init    VIEW       + 1 fd: its mount namespace, complete.  The keeper holds
 *                      it, so that taking it apart is not part of pid 1's end
 *   init    FAILED     a step of ours went wrong; it ends
 *   init    DONE       the command has ended
 *
 * The keeper lets the command go by writing one byte into ${go}, and the
 * command's side of ${exec} tells why it could not be executed: nothing, when
 * it was.
 */
#define INIT_JOIN_MAX   8

enum init_op {
	INIT_PLACED = 1, INIT_WORKSPACE, INIT_SIGNAL, INIT_VIEW, INIT_FAILED,
	INIT_DONE
};

struct init_msg {
	uint32_t op;
	int32_t number;         /* SIGNAL: which; FAILED: errno; DONE: status as
				 * waitpid */
	uint64_t cpu_us;        /* DONE */
	uint64_t memory;        /* DONE: peak */
	char step[48];          /* FAILED */
};

/* The descriptors that pid 1 is born with. */
struct init_fds {
	int ctl;
	int go;
	int exec;
};

struct init_start {
	struct init_fds fds;
	struct view view;
	const struct sock_fprog *filter;
};

/* Be pid 1.  Called in the new process; does not return. */
void init_main(const struct init_start *) __attribute__((noreturn));

#endif /* !ERRAND_EXEC_INIT_H */
