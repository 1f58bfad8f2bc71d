#ifndef ERRAND_EXEC_GITSTUB_H
#define ERRAND_EXEC_GITSTUB_H

/**
 * gitstub_make(dir):
 * Make a .git in the directory ${dir}: a repository without a commit.  What is
 * submitted never has one, and programs that ask Git where the top of the work
 * tree is, or whether there is one, would fail.  It is never collected.
 * Return 0, or -1 with errno.
 */
int gitstub_make(int);

#endif /* !ERRAND_EXEC_GITSTUB_H */
