#ifndef ERRAND_STORE_REBUILD_INTERNAL_H
#define ERRAND_STORE_REBUILD_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "index_obj.h"
#include "lib/text.h"

/* What the parts of a rebuild share: rebuild.c and rebuild_*.c. */
#define REBUILD_LINES   100     /* of what is lost, of each kind */

struct store;

/*
 * An entry of the journal and where it is.  They are done again type by type,
 * and within one by what a store that was damaged cannot have got wrong: ends
 * of jobs by their place in the tenant's chain, the others by their serial.
 */
struct rebuild_entry {
	uint64_t order;
	uint64_t what;          /* type, tenant and job, hashed */
	uint32_t pack;
	uint32_t off;           /* of its record's header */
	uint32_t at;            /* within the record's bytes */
	uint8_t type;
};

struct rebuild_gone {
	uint32_t tenant;
	char job[JOB_ID_LEN + 1];
};

struct rebuild {
	struct store *st;
	uint64_t total;         /* bytes of all packs, and of those seen */
	uint64_t done;
	uint64_t told_us;
	/* objects on their way into the index */
	struct ix_object *batch;
	size_t nbatch;
	/* records whose bytes are damaged */
	struct ix_object *bad;
	size_t nbad, capbad;
	struct rebuild_entry *entries;
	size_t nentries, capentries;
	struct rebuild_gone *gone;      /* jobs that were forgotten */
	size_t ngone, capgone;
	/* the sum */
	uint64_t objects, jobs, lost_bytes, lost_entries, lost_refs, packs;
	uint64_t readable;      /* packs of which something was understood */
	uint64_t foreign;       /* that have bytes, and nothing was */
	int said;               /* why it cannot be, with what to do */
	uint64_t last_us;       /* of the journal's newest record */
	uint64_t serial;        /* the highest in it */
	uint64_t pack_journal;  /* its bytes in the pack that is walked */
};

/* Walk all packs: objects, the table of packs, where the journal is. */
int rebuild_packs(struct rebuild *);

/* Do again what the journal tells, in its order. */
int rebuild_jobs(struct rebuild *);

/* Count again what each tenant uses, and what is live in each pack. */
int rebuild_usage(struct rebuild *);
int rebuild_live(struct rebuild *);

#endif /* !ERRAND_STORE_REBUILD_INTERNAL_H */
