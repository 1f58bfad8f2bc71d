#ifndef ERRAND_TURN_AWAY_H
#define ERRAND_TURN_AWAY_H

#include "proto/snapshot_msg.h"

/**
 * turn_away(fd, err):
 * Greet a client (taken) that no worker is given to, say why, and close.  Never
 * blocks; a client that cannot be told is closed all the same.
 */
void turn_away(int, const struct err *);

#endif /* !ERRAND_TURN_AWAY_H */
