#ifndef ERRAND_STORE_STAT_H
#define ERRAND_STORE_STAT_H

struct care;
struct store;

/* All figures of the store as they are now.  0, or -1 with errno. */
int stat_fill(struct store *, struct care *);

#endif /* !ERRAND_STORE_STAT_H */
