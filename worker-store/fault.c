/*
 * Failures in words for the other end of a channel.  Memory only.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"

struct meaning {
	int errnum;
	enum err_code code;
	uint8_t retry;
	const char *text;
};

static const struct meaning meanings[] = {
	{ ENOSPC, ERR_FULL, 1, "the store's disk is full: make room on it and "
	    "try again" },
	{ ENOBUFS, ERR_FULL, 1, "the store's index has no room left: make "
	    "room on its disk and try again" },
	{ ENOTRECOVERABLE, ERR_IO, 1, "writing the store's index failed; the "
	    "store starts again, try again then" },
	{ EBADMSG, ERR_DAMAGED, 0, "an object in the store is damaged: send "
	    "it again, or restore the store from a backup" },
	{ EUCLEAN, ERR_IO, 0, "the store's index is damaged: its operator "
	    "makes it anew with \"errandctl store rebuild-index\"" },
	{ ENOENT, ERR_NOT_FOUND, 0, "there is no such thing in the store" },
	{ EFBIG, ERR_LIMIT, 0, "the tree has more directories and long files "
	    "that are new than the store will look through at once" },
	{ ENOMEM, ERR_BUSY, 1, "the store is short of memory: try again" },
	{ EAGAIN, ERR_BUSY, 1, "the store changed meanwhile: try again" },
	{ EMFILE, ERR_BUSY, 1, "the store is short of descriptors: try "
	    "again" },
	{ EIO, ERR_IO, 1, "the store's disk reported an error: look at the "
	    "host's log" },
};

#define NMEANINGS       (sizeof(meanings) / sizeof(meanings[0]))

void
fault_set(struct err *e, enum err_code code, const struct obj_ref *ref,
    const char *fmt, ...)
{
	va_list ap;

	memset(e, 0, sizeof(*e));
	e->code = (uint16_t)code;
	if (ref != NULL)
		e->ref = *ref;
	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

void
fault_errno(struct err *e, int errnum, const struct obj_ref *ref)
{
	const struct meaning *m;
	char hex[2 * OBJ_ID_LEN + 1];

	if (errnum == EBADMSG && ref != NULL && ref->kind != OBJ_NONE) {
		obj_id_hex(ref->id, hex);
		fault_set(e, ERR_DAMAGED, ref, "object %s is damaged in the "
		    "store: send the same tree again from where it is whole, "
		    "or have it restored from a backup", hex);
		return;
	}
	for (m = meanings; m < meanings + NMEANINGS; m++) {
		if (m->errnum == errnum) {
			fault_set(e, m->code, ref, "%s", m->text);
			e->retry = m->retry;
			return;
		}
	}
	fault_set(e, ERR_INTERNAL, ref, "the store failed: %s",
	    strerror(errnum));
}
