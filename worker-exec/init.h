#ifndef ERRAND_EXEC_INIT_H
#define ERRAND_EXEC_INIT_H

#include <stdint.h>

#include "preexec.h"
#include "proto/limits.h"
#include "view.h"

struct sock_fprog;

/*
 * Pid 1 of a sandbox and its keeper talk over a SOCK_SEQPACKET pair, in
 * structures of this program, since both are forks of it:
 *
 *   keeper  PLACED     + .number fds: begin, by writing "0" into each, which
 *                      puts this process where it will be counted
 *   keeper  MAKE       + 5 fds: make the view, with this mount as workspace,
 *                      and fork the command's process, which gets the others:
 *                      gate, exec pipe, and pipes for its output.  They were
 *                      made once the keeper was the tenant, so that the job
 *                      may open them again by name
 *   init    VIEW       + 1 fd: its mount namespace, complete.  The keeper holds
 *                      it, so that taking it apart is not part of pid 1's end
 *   keeper  CHANGE     + 0 or 1 fd: the mount to put over the workspace; with
 *                      .size, /tmp and its like get so many bytes.  Without
 *                      user namespaces it is always sent, since then pid 1
 *                      gives up the last of its rights
 *   init    CHANGED
 *   keeper  CACHE      + 1 fd: the mount to put at .path
 *   init    CACHED     .number: so many directories were made on the way; below
 *                      0: an errno, there is something else in the way
 *   keeper  SIGNAL     deliver to the command
 *   init    FAILED     a step of ours went wrong; it ends
 *   init    DONE       the command has ended
 *
 * What the command's process and the keeper say to each other is in preexec.h.
 */
#define INIT_JOIN_MAX   8

enum init_op {
	INIT_PLACED = 1, INIT_MAKE, INIT_VIEW, INIT_CHANGE, INIT_CHANGED,
	INIT_CACHE, INIT_CACHED, INIT_SIGNAL, INIT_FAILED, INIT_DONE
};

struct init_msg {
	uint32_t op;
	int32_t number;         /* SIGNAL: which; FAILED: errno; DONE: status
				 * as waitpid */
	uint64_t cpu_us;        /* DONE */
	uint64_t memory;        /* DONE: peak */
	uint64_t size;          /* CHANGE */
	char step[48];          /* FAILED */
	char path[LIMIT_CACHE_PATH];    /* CACHE */
};

struct init_start {
	int ctl;                /* the pair's end */
	struct view view;
	const struct sock_fprog *filter;
	uint8_t as_root;        /* the command will be */
	uint32_t ids;           /* and has so many more ids */
	uint32_t tenant;        /* without user namespaces: whose uid this is
				 * going to be; else 0 */
};

/* Be pid 1.  Called in the new process; does not return. */
void init_main(const struct init_start *) __attribute__((noreturn));

#endif /* !ERRAND_EXEC_INIT_H */
