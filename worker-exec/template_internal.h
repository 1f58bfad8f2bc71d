#ifndef ERRAND_EXEC_TEMPLATE_INTERNAL_H
#define ERRAND_EXEC_TEMPLATE_INTERNAL_H

/* What template*.c share.  Both return 0, or -1 after logging. */

/**
 * template_fill(host, top):
 * Make, below the empty directory ${top}, the view that all jobs share: the
 * host's programs, chosen parts of its /etc, devices, and the directories that
 * view.c mounts on.  ${host} is the host's root directory.
 */
int template_fill(int, int);

/* The chosen parts of /etc, from ${host}/etc into ${etc}. */
int template_etc(int, int);

/* hosts and resolv.conf as the host has them, into ${dir}. */
int template_net(int, int);

/* Write a file.  0 or -1 with errno. */
int template_file(int, const char *, const char *);

#endif /* !ERRAND_EXEC_TEMPLATE_INTERNAL_H */
