#ifndef ERRAND_SUBUIDS_H
#define ERRAND_SUBUIDS_H

#include <stddef.h>
#include <stdint.h>

#define SUBUIDS_FILE    "/etc/subuid"

/**
 * subuids_owner(path, uid, who, size):
 * Is ${uid} one of those that a file in the format of subuid(5) gives to
 * somebody?  Return 1 with his name in ${who}, cut to fit, or 0.  Lines that
 * are wrong, and a file that is not there, give nothing to anybody.
 */
int subuids_owner(const char *, uint32_t, char *, size_t);

#endif /* !ERRAND_SUBUIDS_H */
