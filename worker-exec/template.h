#ifndef ERRAND_EXEC_TEMPLATE_H
#define ERRAND_EXEC_TEMPLATE_H

/*
 * The mount namespace that every sandbox is copied from.  It holds what
 * sandboxes are made of and nothing else of the host, so that a copy costs the
 * same on every host.
 */
#define TEMPLATE_VIEW   "/view"         /* a job's root, but its private parts */
#define TEMPLATE_WORK   "/work"         /* the work root */
#define TEMPLATE_NET    "/net"          /* hosts and resolv.conf of the host */
#define TEMPLATE_EMPTY  "/empty"        /* a directory with nothing in it */

/**
 * template_build(dir, rootless):
 * Move this process into such a namespace, with ${dir} at TEMPLATE_WORK, and
 * out of a chroot if it is in one.  Needs CAP_SYS_ADMIN; with ${rootless} it
 * makes a user namespace of its own first, where it is uid and gid 1000.
 * Return 0, or -1 after logging which step failed.
 */
int template_build(const char *, int);

#endif /* !ERRAND_EXEC_TEMPLATE_H */
