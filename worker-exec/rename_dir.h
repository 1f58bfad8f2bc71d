#ifndef ERRAND_EXEC_RENAME_DIR_H
#define ERRAND_EXEC_RENAME_DIR_H

/**
 * rename_dir(sdir, sname, ddir, dname, flags):
 * renameat2 of a directory of an overlay, which gives EXDEV when the directory
 * is in a lower layer: then its content is moved into a new directory, which
 * gets the name in the end.  Files below are copied by that, as mv would do.
 * Not atomic for those who look on; but nothing is lost, and when something
 * fails what was moved goes back.  Names have no "/".  Return 0, or -1 with
 * errno, as renameat2.
 */
int rename_dir(int, const char *, int, const char *, unsigned int);

#endif /* !ERRAND_EXEC_RENAME_DIR_H */
