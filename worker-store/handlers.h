#ifndef ERRAND_STORE_HANDLERS_H
#define ERRAND_STORE_HANDLERS_H

#include "peer.h"

/*
 * One per request.  The message was checked by store_msg_parse, the right to
 * ask and the number of descriptors by dispatch.c.  A handler answers, or sees
 * to it that the request is answered later.  A descriptor that it keeps it
 * takes from ${fds} by setting the slot to -1.
 */
typedef void handler_fn(const struct ask *, const struct store_msg *,
    int *fds);

handler_fn on_put;              /* put.c */
handler_fn on_check;            /* check.c */
handler_fn on_get;              /* get.c */
/* What BIND asked for in the name of a channel that may. */
void get_first(struct peer *, const struct obj_ref *);
handler_fn on_publish;          /* publish.c */
handler_fn on_settle;
handler_fn on_job_get;          /* jobs.c */
handler_fn on_job_list;
handler_fn on_receipt_get;
handler_fn on_unsettled;
handler_fn on_head;
handler_fn on_stat;
handler_fn on_care;             /* care.c */
handler_fn on_collect;          /* expire.c */
handler_fn on_expire;
handler_fn on_usage;

#endif /* !ERRAND_STORE_HANDLERS_H */
