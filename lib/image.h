#ifndef ERRAND_IMAGE_H
#define ERRAND_IMAGE_H

/*
 * Operator images: directories of the host that a job's view can be made of
 * in the place of the host's own files.
 */
#define IMAGE_NAME_MAX  31
#define IMAGES_MAX      16      /* of one host: each adds its mounts to what
                                 * every sandbox copies */

/* Names: [a-z0-9][a-z0-9._-]{0,30}.  They are also names of directories. */
int image_name_valid(const char *);

#endif /* !ERRAND_IMAGE_H */
