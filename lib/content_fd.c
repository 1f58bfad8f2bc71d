/*
 * The content of an open file as chunks and lists.  Reads the descriptor, which
 * may change meanwhile, and finds its holes.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "content.h"
#include "content_internal.h"
#include "cut.h"
#include "list.h"

#define WINDOW          (1024 * 1024)
#define SMALL           65536           /* a file read in one piece */

/* A hole shorter than this is read like data. */
#define HOLE_MIN        (256 * 1024)

_Static_assert(WINDOW - CUT_MAX - CONTENT_ZERO_MIN >= WINDOW / 2,
    "most of the window is new after each step");

/* Read up to ${len} bytes at ${off}; less only at the end of the file. */
static ssize_t
read_at(int fd, uint8_t *p, size_t len, uint64_t off)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = pread(fd, p + got, len - got, (off_t)(off + got));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return ((ssize_t)got);
}

/*
 * Invariants of struct source:
 *  1. The window holds the ${len} bytes before ${off} that are not described.
 *  2. off <= end; end is the size at first, and shrinks with the file.
 *  3. data is where the next data begins or lies before off; there is a hole
 *     from off to data.  If sparse, it ends at hole, which is past off
 *     whenever bytes are read.
 */
struct source {
	int fd;
	int sparse;             /* worth asking for holes */
	uint8_t *buf;
	size_t len;
	uint64_t off;
	uint64_t end;
	uint64_t data;
	uint64_t hole;
};

/* Find the data at or after off.  Return 0 or -1. */
static int
seek_data(struct source *s)
{
	struct stat st;
	off_t o;

	if (!s->sparse || s->off < s->hole)
		return (0);
	if ((o = lseek(s->fd, (off_t)s->off, SEEK_DATA)) != -1) {
		s->data = (uint64_t)o < s->end ? (uint64_t)o : s->end;
		if ((o = lseek(s->fd, o, SEEK_HOLE)) == -1)
			s->sparse = 0;
		s->hole = o == -1 ? s->end : (uint64_t)o;
		return (0);
	}
	if (errno != ENXIO) {
		s->sparse = 0;          /* a file system that cannot tell */
		return (0);
	}
	/* No data up to the end, wherever that is by now. */
	if (fstat(s->fd, &st) == -1)
		return (-1);
	if ((uint64_t)st.st_size < s->end)
		s->end = (uint64_t)st.st_size;
	if (s->end < s->off)
		s->end = s->off;
	s->data = s->hole = s->end;
	return (0);
}

/*
 * Describe the hole up to data: the zeros that are put in the window make a run
 * of it with what is before, and the rest is only counted.
 */
static int
take_hole(struct source *s, struct encoder *e)
{
	size_t done;

	memset(s->buf + s->len, 0, CONTENT_ZERO_MIN);
	s->len += CONTENT_ZERO_MIN;
	if (encode_window(e, s->buf, s->len, 0, &done) == -1)
		return (-1);
	s->len = 0;             /* it ended in a run, so all was taken */
	s->off += CONTENT_ZERO_MIN;
	if (s->data > s->off && encode_zeros(e, s->data - s->off) == -1)
		return (-1);
	s->off = s->data;
	return (0);
}

/* Fill the window with what is next and describe what can be. */
static int
step(struct source *s, struct encoder *e)
{
	uint64_t want = s->end - s->off;
	ssize_t n;
	size_t done;

	if (want > WINDOW - s->len)
		want = WINDOW - s->len;
	if (s->sparse && want > s->hole - s->off)
		want = s->hole - s->off;
	if ((n = read_at(s->fd, s->buf + s->len, (size_t)want, s->off)) == -1)
		return (-1);
	s->len += (size_t)n;
	s->off += (size_t)n;
	if ((size_t)n < want)
		s->end = s->off;        /* it shrank while we read */
	if (encode_window(e, s->buf, s->len, s->off == s->end, &done) == -1)
		return (-1);
	s->len -= done;
	memmove(s->buf, s->buf + done, s->len);
	return (0);
}

static int
encode_source(struct source *s, struct encoder *e)
{
	size_t done;

	while (s->off < s->end) {
		if (seek_data(s) == -1)
			return (-1);
		if (s->data > s->off && s->data - s->off >= HOLE_MIN) {
			if (take_hole(s, e) == -1)
				return (-1);
		} else if (s->off < s->end && step(s, e) == -1)
			return (-1);
	}
	/* Left over only if the file became shorter just now. */
	return (encode_window(e, s->buf, s->len, 1, &done));
}

static int
from_large(int fd, const struct stat *st, obj_sink_fn *sink, void *cookie,
    struct obj_ref *ref, uint64_t *size)
{
	struct source s = { .fd = fd, .end = (uint64_t)st->st_size };
	struct encoder e = { .sink = sink, .cookie = cookie };
	int rc = -1;

	s.sparse = (uint64_t)st->st_blocks * 512 < s.end;
	if ((s.buf = malloc(WINDOW)) == NULL)
		goto err0;
	if ((e.lb = list_builder_new()) == NULL)
		goto err1;
	if (encode_source(&s, &e) == -1 ||
	    list_builder_finish(e.lb, sink, cookie, ref) == -1)
		goto err2;
	*size = s.end;
	rc = 0;

err2:
	list_builder_free(e.lb);
err1:
	free(s.buf);
err0:
	return (rc);
}

int
content_from_fd(int fd, obj_sink_fn *sink, void *cookie, struct obj_ref *ref,
    uint64_t *size)
{
	uint8_t buf[SMALL];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) == -1)
		return (-1);
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return (-1);
	}
	if (st.st_size > SMALL)
		return (from_large(fd, &st, sink, cookie, ref, size));
	if ((n = read_at(fd, buf, (size_t)st.st_size, 0)) == -1)
		return (-1);
	if (content_from_mem(buf, (size_t)n, sink, cookie, ref) == -1)
		return (-1);
	*size = (uint64_t)n;
	return (0);
}
