#ifndef ERRAND_LIST_INTERNAL_H
#define ERRAND_LIST_INTERNAL_H

#include "list.h"

#define LIST_HEAD       16      /* magic, version, level, total, count */
#define ITEM_ZERO_LEN   9       /* type, length */
#define ITEM_REF_LEN    41      /* type, length, id */

#endif /* !ERRAND_LIST_INTERNAL_H */
