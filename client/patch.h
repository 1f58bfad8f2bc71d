#ifndef ERRAND_PATCH_H
#define ERRAND_PATCH_H

#include "lib/change.h"
#include "objget.h"

/*
 * What a job changed, as text.  Old and new content are written into a private
 * directory, and compared there by git, which finds no repository and no
 * configuration.
 */
struct patch;

/**
 * patch_new(g, root):
 * Objects come from ${g}; ${root} is the submitted tree.  NULL after saying
 * why.
 */
struct patch *patch_new(struct objget *, const struct obj_ref *);

/* Add a change, in the order of the list.  0, or -1 after saying why. */
int patch_add(struct patch *, const struct change *);

/* Print what is left, and remove the directory.  0, or -1 after saying why. */
int patch_finish(struct patch *);
void patch_free(struct patch *);

#endif /* !ERRAND_PATCH_H */
