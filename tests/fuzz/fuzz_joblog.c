/*
 * A log file that a job's keeper wrote as it liked.  The first two bytes are
 * the offset to read from, the third the size of the reads.
 */

#include <sys/mman.h>
#include <sys/uio.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "joblog.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t buf[65536];
	static int fd = -1;
	struct joblog_reader *r;
	uint64_t offset, total = 0;
	uint8_t stream;
	ssize_t n;
	size_t cap;

	if (len < 3)
		return (0);
	offset = (uint64_t)data[0] | (uint64_t)data[1] << 8;
	cap = data[2] == 255 ? sizeof(buf) : (size_t)data[2] + 1;
	data += 3;
	len -= 3;
	if (fd == -1 && (fd = memfd_create("joblog", MFD_CLOEXEC)) == -1)
		abort();
	if (ftruncate(fd, 0) == -1 ||
	    pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	if ((r = joblog_reader_new(fd, offset)) == NULL)
		abort();
	while ((n = joblog_read(r, &stream, buf, cap)) > 0) {
		total += (uint64_t)n;
		if ((size_t)n > cap || total > len ||
		    (stream != JOBLOG_STDOUT && stream != JOBLOG_STDERR) ||
		    joblog_offset(r) != offset + total)
			abort();
	}
	if (n == -1 && errno != EPROTO)
		abort();
	joblog_reader_free(r);
	return (0);
}
