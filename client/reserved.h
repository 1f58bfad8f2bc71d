#ifndef ERRAND_RESERVED_H
#define ERRAND_RESERVED_H

#include <stddef.h>

/*
 * Names that are ours or Git's: never sent, and refused in a result.
 *   .git              in any case
 *   .errand-apply     in any case: where an apply stages its files, with its
 *                     journal, in the root of a tree
 * In a result, a name too that some file system takes for one of these: with
 * characters that are not seen, points or blanks at its end, "git~1".
 * And names that are never sent, but that are nothing special in a result:
 *   *.errand-theirs   what `fetch --apply --conflicts` puts beside a file that
 *                     could not be merged
 */
#define RESERVED_APPLY  ".errand-apply"
#define RESERVED_COPY   ".errand-theirs"

/* May a name (of ${len} bytes) not be part of a snapshot? */
int reserved_unsent(const char *, size_t);

/* Has a path a part that no result may have? */
int reserved_path(const char *, size_t);

#endif /* !ERRAND_RESERVED_H */
