#ifndef ERRAND_TREE_PATH_H
#define ERRAND_TREE_PATH_H

/**
 * tree_path(root, dir, arg, out):
 * What somebody who stands in the directory ${dir} of the tree ("" for its top)
 * means by ${arg}, relative to the tree's root, without "." and ".." and
 * slashes at its ends: "" is the root itself.  An absolute path may be below
 * ${root}, or /workspace, which is where a job sees the tree.  Links are not
 * looked at.
 * ${out} has PATH_MAX bytes.  0, or -1: it leaves the tree, or is too long.
 */
int tree_path(const char *, const char *, const char *, char *);

#endif /* !ERRAND_TREE_PATH_H */
