#ifndef ERRAND_CARE_H
#define ERRAND_CARE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/*
 * Care of the store: what an operator asks of it (errandctl store), as the
 * store's channel and the client's connection carry it alike.  A task is begun
 * by its name and goes on with NEXT until the answer says that it is done;
 * closing the channel gives it up.
 */
enum care_task {
	CARE_STAT = 1,          /* figures only; done at once */
	CARE_GC,                /* collect, until it has ended */
	CARE_VERIFY,            /* read everything */
	CARE_REPAIR,            /* the same, and mend what can be */
	CARE_BACKUP,            /* the store as a stream of bytes: backup.h */
	CARE_NEXT               /* on with the task that was begun */
};

#define CARE_FIGURES    64

struct care_figure {
	char name[32];          /* as in JSON: lower case, underscores */
	uint64_t value;
};

struct care {                   /* an answer */
	uint8_t done;
	uint64_t at, total;     /* how far; in bytes, or what there is */
	uint64_t bad;           /* damages found so far */
	uint32_t bytes;         /* in the memfd that comes with it */
	char text[LIMIT_TEXT];  /* a finding, for people; may be empty */
	uint32_t nfigures;
	struct care_figure figures[CARE_FIGURES];
};

#endif /* !ERRAND_CARE_H */
