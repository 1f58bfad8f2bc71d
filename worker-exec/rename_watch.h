#ifndef ERRAND_EXEC_RENAME_WATCH_H
#define ERRAND_EXEC_RENAME_WATCH_H

#include <stddef.h>
#include <sys/types.h>

/**
 * rename_watch_install(void):
 * Have the kernel ask about each rename of this process and its descendants,
 * and when one of them enters a Landlock domain, but for what this process
 * enters by sandbox_landlock_enter before it executes anything.
 * Whoever holds the returned descriptor is asked; nobody holds it: ENOSYS.
 * Needs no_new_privs.  -1 with errno (EINVAL, ENOSYS: this kernel cannot).
 */
int rename_watch_install(void);

/**
 * rename_watch_serve(listener, top, more, n):
 * Answer one question.  A directory of the file system at the path ${top}, or
 * of one of the ${n} more, that has to be moved by its content is, in a process
 * of its own (a child that will end); everything else is the kernel's to do,
 * and after somebody has entered a domain all is.  Return 0, or -1 when nobody
 * is left who could ask.
 */
int rename_watch_serve(int, const char *, const dev_t *, size_t);

#endif /* !ERRAND_EXEC_RENAME_WATCH_H */
