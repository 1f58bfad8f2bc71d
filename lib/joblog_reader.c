/*
 * The reader of a job's log, which may still be growing.  The file is the
 * job's: every header is checked.
 */

#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "joblog.h"
#include "le.h"
#include "writeout.h"

#define WIN_MAX         65536

/* While skipping or splicing, little but headers is needed. */
#define WIN_SKIP        4096

/* Payload of at least this much goes to the caller without a copy. */
#define DIRECT_MIN      16384

/*
 * Invariants:
 *  1. pos is the place in the file of the next unread byte; left bytes of
 *     payload of ${stream} are there, or a header when left is 0.
 *  2. off is the payload offset that belongs to pos.
 *  3. win holds win_len bytes of the file from win_pos on.
 *  4. told <= pos, which is as far as writeout_read was told.
 *  5. The file was ${size} bytes long or more.
 */
struct joblog_reader {
	int fd;
	uint64_t want;          /* offset to begin at */
	uint64_t off;
	uint64_t pos;
	uint64_t told;
	uint32_t left;
	uint32_t len;           /* of the frame */
	uint8_t stream;
	uint8_t marked;         /* the one marker was seen */
	uint8_t lean;           /* the last payload was spliced */
	uint64_t size;
	uint64_t win_pos;
	size_t win_len;
	uint8_t win[WIN_MAX];
};

struct joblog_reader *
joblog_reader_new(int fd, uint64_t offset)
{
	struct joblog_reader *r;

	if ((r = malloc(sizeof(*r))) == NULL)
		return (NULL);
	r->fd = fd;
	r->want = offset;
	r->off = r->pos = r->told = r->win_pos = 0;
	r->left = r->len = 0;
	r->stream = r->marked = r->lean = 0;
	r->size = 0;
	r->win_len = 0;
	return (r);
}

void
joblog_reader_free(struct joblog_reader *r)
{
	free(r);
}

uint64_t
joblog_offset(const struct joblog_reader *r)
{
	return (r->off < r->want ? r->want : r->off);
}

/* Bytes of the window from pos on. */
static size_t
win_have(const struct joblog_reader *r)
{
	if (r->pos < r->win_pos || r->pos - r->win_pos >= r->win_len)
		return (0);
	return (r->win_len - (size_t)(r->pos - r->win_pos));
}

static const uint8_t *
win_at(const struct joblog_reader *r)
{
	return (r->win + (size_t)(r->pos - r->win_pos));
}

/* Have ${need} bytes in the window.  1, 0 when they are not there yet, -1. */
static int
win_fill(struct joblog_reader *r, size_t need)
{
	size_t n = r->off < r->want || r->lean ? WIN_SKIP : WIN_MAX;
	ssize_t got;

	if (win_have(r) >= need)
		return (1);
	do
		got = pread(r->fd, r->win, n, (off_t)r->pos);
	while (got == -1 && errno == EINTR);
	if (got == -1)
		return (-1);
	r->win_pos = r->pos;
	r->win_len = (size_t)got;
	return (r->win_len >= need);
}

static int
hostile(void)
{
	errno = EPROTO;
	return (-1);
}

/* Read the header at pos.  1, 0 when it is not there yet, or -1. */
static int
next_head(struct joblog_reader *r)
{
	const uint8_t *p;
	uint32_t len;
	int rc;

	if ((rc = win_fill(r, JOBLOG_HEAD)) != 1)
		return (rc);
	p = win_at(r);
	len = le_get32(p + 4);
	if (p[0] < JOBLOG_STDOUT || p[0] > JOBLOG_MARKER ||
	    p[1] != 0 || p[2] != 0 || p[3] != 0 ||
	    len == 0 || len > JOBLOG_PIECE)
		return (hostile());
	if (p[0] == JOBLOG_MARKER) {
		/* It counts for nothing and is shown to nobody. */
		if (r->marked)
			return (hostile());
		r->marked = 1;
		r->pos += JOBLOG_HEAD + len;
		return (1);
	}
	r->stream = p[0];
	r->left = r->len = len;
	r->pos += JOBLOG_HEAD;
	return (1);
}

static void
advance(struct joblog_reader *r, size_t n)
{
	r->pos += n;
	r->off += n;
	r->left -= (uint32_t)n;
}

/* Come to a place where there is payload that is wanted.  1, 0 or -1. */
static int
seek_payload(struct joblog_reader *r)
{
	int rc;

	while (r->left == 0 || r->off < r->want) {
		if (r->left == 0) {
			if ((rc = next_head(r)) != 1)
				return (rc);
		} else if (r->left <= r->want - r->off)
			advance(r, r->left);
		else
			advance(r, (size_t)(r->want - r->off));
	}
	return (1);
}

/* Read payload to ${buf}, and the beginning of what follows to the window. */
static ssize_t
read_direct(struct joblog_reader *r, uint8_t *buf, size_t n)
{
	struct iovec iov[2] = { { buf, n }, { r->win, WIN_SKIP } };
	ssize_t got;

	do
		got = preadv(r->fd, iov, 2, (off_t)r->pos);
	while (got == -1 && errno == EINTR);
	if (got <= 0)
		return (got);
	r->win_len = 0;
	if ((size_t)got > n) {
		r->win_pos = r->pos + n;
		r->win_len = (size_t)got - n;
		got = (ssize_t)n;
	}
	return (got);
}

/* Payload of the frame at pos: bytes, 0 when there are none yet, or -1. */
static ssize_t
read_payload(struct joblog_reader *r, uint8_t *buf, size_t cap)
{
	size_t n = cap < r->left ? cap : r->left;
	size_t have = win_have(r);
	ssize_t got;
	int rc;

	if (have == 0 && n >= DIRECT_MIN) {
		if ((got = read_direct(r, buf, n)) <= 0)
			return (got);
		n = (size_t)got;
	} else {
		if ((rc = win_fill(r, 1)) != 1)
			return (rc);
		have = win_have(r);
		if (n > have)
			n = have;
		memcpy(buf, win_at(r), n);
	}
	advance(r, n);
	return ((ssize_t)n);
}

static void
tell(struct joblog_reader *r)
{
	if (r->pos - r->told < WRITEOUT_STEP)
		return;
	writeout_read(r->fd, r->told, r->pos);
	r->told = r->pos;
}

ssize_t
joblog_read(struct joblog_reader *r, uint8_t *stream, uint8_t *buf, size_t cap)
{
	size_t done = 0;
	ssize_t n = 0;
	int long_ended = 0;

	while (done < cap) {
		if ((n = seek_payload(r)) != 1)
			break;
		/* What follows a long frame may be one, to be spliced. */
		if (done > 0 && (r->stream != *stream || long_ended))
			break;
		*stream = r->stream;
		if ((n = read_payload(r, buf + done, cap - done)) <= 0)
			break;
		done += (size_t)n;
		long_ended = r->left == 0 && r->len >= DIRECT_MIN;
	}
	if (done > 0)
		r->lean = 0;
	tell(r);
	/* A fault waits for the next call: what came before it is good. */
	return (done > 0 ? (ssize_t)done : n);
}

/* Is all of the frame at pos in the file? */
static int
is_whole(struct joblog_reader *r)
{
	struct stat sb;

	if (r->pos + r->left <= r->size)
		return (1);
	if (fstat(r->fd, &sb) == -1 || sb.st_size < 0)
		return (0);
	r->size = (uint64_t)sb.st_size;
	return (r->pos + r->left <= r->size);
}

ssize_t
joblog_splice(struct joblog_reader *r, uint8_t *stream, int pipe, size_t cap)
{
	off_t at;
	ssize_t n;

	if (seek_payload(r) != 1 || r->left < DIRECT_MIN || !is_whole(r))
		return (0);
	at = (off_t)r->pos;
	n = splice(r->fd, &at, pipe, NULL, cap < r->left ? cap : r->left,
	    SPLICE_F_NONBLOCK);
	if (n <= 0)
		return (0);
	*stream = r->stream;
	r->lean = 1;
	advance(r, (size_t)n);
	tell(r);
	return (n);
}
