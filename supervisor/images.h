#ifndef ERRAND_IMAGES_H
#define ERRAND_IMAGES_H

#include <stddef.h>

#include "config.h"

/*
 * The images of errandd.conf: directories that jobs may ask to see in the
 * place of the host's own files.
 */

/**
 * image_check(path, own, real, why, len):
 * Is ${path} fit to be an image?  It must be a directory that nobody but root
 * (or ${own}, who runs us) can change or replace.  Its path without links, from
 * malloc, is put into ${*real}.  0, or -1 with a sentence in ${why}.
 */
int image_check(const char *, unsigned int, char **, char *, size_t);

/* The image of that name, or NULL. */
const struct image_conf *image_find(const struct config *, const char *);

/* "a, b, c", cut off where there is no room. */
void images_list(const struct config *, char *, size_t);

#endif /* !ERRAND_IMAGES_H */
