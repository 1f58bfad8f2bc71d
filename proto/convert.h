#ifndef ERRAND_PROTO_CONVERT_H
#define ERRAND_PROTO_CONVERT_H

struct map;

/*
 * Maps of structures that several messages share; see edge.h.  Internal to
 * proto/.
 */
extern const struct map err_map;                /* struct err */
extern const struct map limits_map;             /* struct job_limits */
extern const struct map usage_map;
extern const struct map times_map;
extern const struct map phases_map;
extern const struct map log_map;
extern const struct map changes_map;
extern const struct map submit_map;
extern const struct map image_map;              /* struct job_image */
extern const struct map result_map;
extern const struct map record_map;             /* struct job_record */
extern const struct map receipt_map;            /* struct receipt */
extern const struct map tenant_info_map;
extern const struct map cache_info_map;
extern const struct map used_map;
extern const struct map admin_status_map;
extern const struct map client_hello_map;
extern const struct map care_map;               /* struct care */

struct job_submit;
struct tenant_info;

/* A submission, rather than what is kept of one: has it all it needs? */
int submit_check(const struct job_submit *);

/* Does the verb (enum snap_admin) have the tenant's name that it needs? */
int admin_tenant_check(unsigned int, const struct tenant_info *);

#endif /* !ERRAND_PROTO_CONVERT_H */
