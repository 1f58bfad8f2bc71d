#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/job_types.h"

/* What is accepted is packed to the very same bytes. */

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct job_spec spec;
	uint8_t *buf;
	size_t n;

	if (job_spec_parse(data, len, &spec) == -1)
		return (0);
	if (job_spec_pack(&spec, &buf, &n) == -1 || n != len ||
	    memcmp(buf, data, len) != 0)
		abort();
	free(buf);
	job_spec_done(&spec);
	return (0);
}
