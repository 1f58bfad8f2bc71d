#ifndef ERRAND_EXEC_TEMPLATE_H
#define ERRAND_EXEC_TEMPLATE_H

#include <stddef.h>

/*
 * The mount namespace that every sandbox is copied from.  It holds what
 * sandboxes are made of and nothing else of the host, so that a copy costs the
 * same on every host.
 */
#define TEMPLATE_VIEW   "/view"         /* a job's root, but what is private */
#define TEMPLATE_IMAGES "/images"       /* the same of each image, by name */
#define TEMPLATE_WORK   "/work"         /* the work root */
#define TEMPLATE_NET    "/net"          /* hosts and resolv.conf of the host */
#define TEMPLATE_EMPTY  "/empty"        /* a directory with nothing in it */

struct worker_args;

/**
 * template_build(cfg):
 * Move this process into such a namespace, with cfg->dir at TEMPLATE_WORK, and
 * out of a chroot if it is in one.  Needs CAP_SYS_ADMIN; rootless it makes a
 * user namespace of its own first, where it is uid and gid 1000.  An image that
 * cannot be mounted is logged and not there.  Return 0, or -1 after logging
 * which step failed.
 */
int template_build(const struct worker_args *);

/**
 * template_view(cfg, image, view, len):
 * Where the view of an image ("": of the host) is, as a path in the template.
 * 0, or -1: there is none.
 */
int template_view(const struct worker_args *, const char *, char *, size_t);

#endif /* !ERRAND_EXEC_TEMPLATE_H */
