/*
 * The version of the index's keys and values, which is in the index.
 */
#include <errno.h>
#include <inttypes.h>

#include "index.h"
#include "index_format.h"
#include "lib/le.h"
#include "lib/log.h"

#define LEN     4

static int
put(struct ix *ix)
{
	uint8_t mine[LEN];

	le_put32(mine, IX_FORMAT);
	return (ix_put(ix, IX_META, "format", 6, mine, sizeof(mine)));
}

int
ix_format_check(struct ix *ix)
{
	const void *v;
	size_t len;

	if (ix_get(ix, IX_META, "format", 6, &v, &len) == -1) {
		if (errno != ENOENT)
			return (-1);
		return (put(ix) == -1 ? -1 : 1);
	}
	if (len != LEN || le_get32(v) == 0) {
		log_warnx("index: its format cannot be told");
		errno = EUCLEAN;
		return (-1);
	}
	if (le_get32(v) < IX_FORMAT) {
		/* What format 1 has is read as it is; entries get longer. */
		log_info("index: format %" PRIu32 " becomes %d", le_get32(v),
		    IX_FORMAT);
		return (put(ix));
	}
	if (le_get32(v) > IX_FORMAT) {
		log_warnx("index: format %" PRIu32 " is newer than this "
		    "program's %d; install the newer version again",
		    le_get32(v), IX_FORMAT);
		errno = EPROTONOSUPPORT;
		return (-1);
	}
	return (0);
}
