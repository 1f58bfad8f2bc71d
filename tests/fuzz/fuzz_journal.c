#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker-store/journal_fmt.h"

/* What is accepted of a journal record is encoded to the very same bytes. */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t buf[128 * 1024];
	struct journal_entry e;
	size_t at, n;
	uint64_t us;

	if (journal_head_decode(data, len, &us) == -1)
		return (0);
	journal_head_encode(us, buf);
	if (memcmp(buf, data, JOURNAL_HEAD) != 0)
		abort();
	for (at = JOURNAL_HEAD; at < len; at += n) {
		if ((n = journal_entry_decode(data + at, len - at, &e)) == 0)
			return (0);
		if (n > sizeof(buf) || journal_entry_len(&e) != n)
			abort();
		journal_entry_encode(&e, buf);
		if (memcmp(buf, data + at, n) != 0)
			abort();
	}
	return (0);
}
