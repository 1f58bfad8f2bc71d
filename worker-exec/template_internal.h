#ifndef ERRAND_EXEC_TEMPLATE_INTERNAL_H
#define ERRAND_EXEC_TEMPLATE_INTERNAL_H

/* What template*.c share.  Unless said otherwise, 0, or -1 after logging. */

/**
 * template_fill(host, top):
 * Make, below the empty directory ${top}, the view that all jobs share: the
 * host's programs, chosen parts of its /etc, devices, and the directories that
 * view.c mounts on.  ${host} is the host's root directory.
 */
int template_fill(int, int);

/* The same, with an image's files in the place of the host's. */
int template_image(int image, int host, int top);

/* What is the same in both: directories, devices. */
int template_base(int host, int top);

/* The chosen parts of /etc, from ${host}/etc into ${etc}. */
int template_etc(int, int);

/* All of an image's /etc (-1: it has none) that everybody may read, but for
 * what is ours; likewise. */
int template_etc_image(int image, int from, int etc);

/*
 * Our passwd or group, and what the image has in its own; from
 * template_users.c.
 */
char *template_users(int image, const char *path, const char *ours);

/* hosts and resolv.conf as the host has them, into ${dir}. */
int template_net(int, int);

/* Write a file.  0 or -1 with errno. */
int template_file(int, const char *, const char *);

#endif /* !ERRAND_EXEC_TEMPLATE_INTERNAL_H */
