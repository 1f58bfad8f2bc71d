#ifndef ERRAND_ADMIN_H
#define ERRAND_ADMIN_H

struct conn;
struct snap_msg;
struct sup;

/* Answer an ADMIN request of an operator's connection, now or later. */
void admin_request(struct conn *, struct sup *, const struct snap_msg *);

#endif /* !ERRAND_ADMIN_H */
