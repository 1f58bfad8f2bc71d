#ifndef ERRAND_CACHE_ADMIN_H
#define ERRAND_CACHE_ADMIN_H

struct conn;
struct snap_msg;
struct sup;

/* Answer CACHE_LIST or CACHE_RM, once a process of the tenant's has looked. */
void cache_admin(struct conn *, struct sup *, const struct snap_msg *);

#endif /* !ERRAND_CACHE_ADMIN_H */
