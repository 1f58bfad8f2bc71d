#ifndef ERRAND_CHILD_INTERNAL_H
#define ERRAND_CHILD_INTERNAL_H

#include "child.h"

typedef void child_action(struct child *);

/* What happens in which state; a test sees that no cell is empty. */
extern child_action *const child_actions[CHILD__NSTATE][CHILD__NEVENT];

#endif /* !ERRAND_CHILD_INTERNAL_H */
