#ifndef ERRAND_JSON_H
#define ERRAND_JSON_H

#include <jansson.h>

#include "proto/job_types.h"
#include "proto/receipt.h"

/* A job as `errand status --json` shows it; ${host} may be NULL.  Owned by the
 * caller; NULL when memory is out. */
json_t *json_record(const struct job_record *, const char *host,
    const struct job_spec *);
json_t *json_limits(const struct job_limits *);
json_t *json_images(const struct job_image *, size_t);

/* What a tenant uses of the store, or may; 0 in a quota is null. */
struct tenant_used;
json_t *json_used(const struct tenant_used *);
json_t *json_quota(const struct tenant_used *);
json_t *json_receipt(const struct receipt *);

/* Bytes that may not be UTF-8: sets KEY, or KEY_b64. */
void json_set_bytes(json_t *, const char *key, const void *, size_t);

/* Print one object on a line and free it. 0 or -1. */
int json_print(json_t *, int fd);

#endif /* !ERRAND_JSON_H */
