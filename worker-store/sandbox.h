#ifndef ERRAND_STORE_SANDBOX_H
#define ERRAND_STORE_SANDBOX_H

/**
 * sandbox_fence(dirfd):
 * From now on: nothing of the file system but what is below ${dirfd}, and the
 * system calls of the table.  Ends the process when that cannot be had.
 */
int sandbox_fence(int);

#endif /* !ERRAND_STORE_SANDBOX_H */
