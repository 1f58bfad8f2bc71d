#ifndef ERRAND_CONFIG_RANGE_H
#define ERRAND_CONFIG_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct tenant_conf;

/**
 * config_range(name, label, v, why, size):
 * Can the key ${name} of errandd.conf or of a tenant's file have the value
 * ${v}: bytes, microseconds, thousandths of processors, or a number?  Return
 * 0, or -1 with a sentence in ${why} that begins with ${label} and says what
 * can be.  A key without a range can be anything.
 */
int config_range(const char *, const char *, uint64_t, char *, size_t);

/**
 * config_range_tenant(tc, why, size):
 * The same of every value that ${tc} gives, by the names of errandctl's
 * options: what this lets pass can be written to a file and read again.
 */
int config_range_tenant(const struct tenant_conf *, char *, size_t);

#endif /* !ERRAND_CONFIG_RANGE_H */
