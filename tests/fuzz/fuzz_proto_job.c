#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/job_msg.h"

/* What is accepted is packed to the very same bytes. */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct job_msg m;
	static uint8_t buf[65536];

	if (job_msg_parse(data, len, &m) == -1)
		return (0);
	if (job_msg_pack(&m, buf, sizeof(buf)) != (ssize_t)len ||
	    memcmp(buf, data, len) != 0)
		abort();
	return (0);
}
