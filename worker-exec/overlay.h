#ifndef ERRAND_EXEC_OVERLAY_H
#define ERRAND_EXEC_OVERLAY_H

/**
 * overlay_mount(lower, upper, work):
 * An overlay of the directories (relative to the working directory), owned by
 * our user namespace, attached nowhere.  ${lower} may be several with ':'
 * between them, the topmost first.  Returns its descriptor, or -1.
 */
int overlay_mount(const char *, const char *, const char *);

/* The directory alone, when there is nothing below it.  Likewise. */
int overlay_plain(const char *);

#endif /* !ERRAND_EXEC_OVERLAY_H */
