#ifndef ERRAND_EXEC_SANDBOX_H
#define ERRAND_EXEC_SANDBOX_H

struct sock_fprog;

/* The filters that jobs and keepers run under later, made once at start. */
struct exec_filters {
	struct sock_fprog *none;        /* no network but its own */
	struct sock_fprog *host;        /* the host's network */
	struct sock_fprog *late;        /* of keepers once they mount no more */
};

/*
 * Make these filters, then fence in this process and all its children with
 * one that has what keepers and jobs need.  Ends the process on failure.
 */
void exec_fence(struct exec_filters *);
void exec_filters_done(struct exec_filters *);

#endif /* !ERRAND_EXEC_SANDBOX_H */
