#ifndef ERRAND_PROGRESS_H
#define ERRAND_PROGRESS_H

#include <stdint.h>

/* One line on a terminal that is written over; silent elsewhere. */
void progress_init(int quiet);
void progress_scan(uint64_t files, uint64_t bytes);
void progress_send(uint64_t sent, uint64_t total);
/* What is being waited for, until the next line or progress_clear. */
void progress_wait(const char *);
void progress_clear(void);

#endif /* !ERRAND_PROGRESS_H */
