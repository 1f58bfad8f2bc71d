/* The writer of a job's log.  The reader is in joblog_reader.c. */

#include <sys/uio.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "joblog.h"
#include "joblog_digest.h"
#include "le.h"
#include "writeout.h"

#define FRAME           (JOBLOG_HEAD + JOBLOG_PIECE)    /* the longest */

/* So many blocks are hashed side by side. */
#define BLOCKS          8

/*
 * Less than BLOCKS blocks wait to be hashed, and one call may bring as many
 * again.  Of this, memory is only what output has touched.
 */
#define BUF_SIZE        (BLOCKS * JOBLOG_BLOCK + JOBLOG_PIECES * FRAME)

/* The end of a stream, once the head of the log is full. */
struct tail {
	uint8_t *ring;          /* JOBLOG_TAIL bytes, made at first use */
	size_t at;              /* where the next byte goes */
	size_t len;
};

/*
 * Invariants:
 *  1. The file holds whole frames, file_bytes long; unless broken, when it has
 *     a torn end that could not be cut off.
 *  2. The last ${have} of these bytes are in buf, and hash has seen exactly
 *     those before.  They are fewer than BLOCKS blocks between two calls, and
 *     begin where a block does.
 *  3. Once kept has reached cap, nothing goes to the file before the end.
 *  4. seen[i] = what is in the file + tails[i].len + dropped[i], for each
 *     stream i + 1.
 */
struct joblog_writer {
	int fd;
	int broken;
	uint64_t cap;
	uint64_t kept;
	uint64_t file_bytes;
	uint64_t seen[2];
	uint64_t dropped[2];
	struct tail tails[2];
	struct writeout out;
	struct joblog_digest hash;
	uint8_t *buf;
	size_t have;
};

struct joblog_writer *
joblog_writer_new(int fd, uint64_t cap)
{
	struct joblog_writer *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		goto err0;
	if ((w->buf = malloc(BUF_SIZE)) == NULL)
		goto err1;
	if (joblog_digest_init(&w->hash) == -1)
		goto err2;
	w->fd = fd;
	w->cap = cap;
	writeout_init(&w->out, fd);

	return (w);

err2:
	free(w->buf);
err1:
	free(w);
err0:
	return (NULL);
}

void
joblog_writer_free(struct joblog_writer *w)
{
	if (w == NULL)
		return;
	free(w->tails[0].ring);
	free(w->tails[1].ring);
	free(w->buf);
	free(w);
}

uint64_t
joblog_bytes(const struct joblog_writer *w)
{
	return (w->kept);
}

/* Payload number ${i} of those behind what is there. */
static uint8_t *
piece_at(const struct joblog_writer *w, size_t i)
{
	return (w->buf + w->have + i * FRAME + JOBLOG_HEAD);
}

/* Hash whole blocks when they are many, or whatever is left. */
static void
digest(struct joblog_writer *w, int last)
{
	size_t n = last ? w->have : w->have - w->have % JOBLOG_BLOCK;

	if (!last && n < BLOCKS * JOBLOG_BLOCK)
		return;
	joblog_digest_add(&w->hash, w->buf, n);
	w->have -= n;
	memmove(w->buf, w->buf + n, w->have);
}

/*
 * Take back what was written of a frame, so that a full disk spoils nothing.
 * ${whole} bytes of frames are good.
 */
static void
cut_torn(struct joblog_writer *w, size_t whole)
{
	int save = errno;

	if (ftruncate(w->fd, (off_t)(w->file_bytes + whole)) == -1)
		w->broken = 1;
	errno = save;
}

/*
 * Append ${len} bytes of frames, all but the last of full length, from behind
 * what is there.  Returns how many are in the file now: whole frames, and not
 * all when errno is set.
 */
static size_t
append(struct joblog_writer *w, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (w->broken) {
		errno = EIO;
		return (0);
	}
	while (done < len) {
		n = write(w->fd, w->buf + w->have + done, len - done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			done -= done % FRAME;
			cut_torn(w, done);
			break;
		}
		done += (size_t)n;
	}
	w->have += done;
	w->file_bytes += done;
	return (done);
}

/*
 * Append ${len} bytes of payload that lie at their places behind what is there.
 * Returns how many are in the file now; not all when errno is set.
 */
static size_t
put_pieces(struct joblog_writer *w, uint8_t stream, size_t len)
{
	size_t i, n, left, done, frames = (len + JOBLOG_PIECE - 1) /
	    JOBLOG_PIECE;
	uint8_t *head;

	for (i = 0, left = len; i < frames; i++, left -= n) {
		n = left < JOBLOG_PIECE ? left : JOBLOG_PIECE;
		head = piece_at(w, i) - JOBLOG_HEAD;
		memset(head, 0, JOBLOG_HEAD);
		head[0] = stream;
		le_put32(head + 4, (uint32_t)n);
	}
	done = append(w, len + frames * JOBLOG_HEAD);
	done -= (done + FRAME - 1) / FRAME * JOBLOG_HEAD;
	if (stream != JOBLOG_MARKER)
		w->kept += done;
	return (done);
}

/* Append one frame of at most JOBLOG_PIECE bytes.  0 or -1. */
static int
put_frame(struct joblog_writer *w, uint8_t stream, const void *buf, size_t len)
{
	memcpy(piece_at(w, 0), buf, len);
	if (put_pieces(w, stream, len) < len)
		return (-1);
	digest(w, 0);
	return (0);
}

/* Keep the last JOBLOG_TAIL bytes.  Returns 0, or -1 when it dropped them. */
static int
tail_put(struct joblog_writer *w, uint8_t stream, const uint8_t *buf,
    size_t len)
{
	struct tail *t = &w->tails[stream - 1];
	uint64_t *dropped = &w->dropped[stream - 1];
	size_t n, part;

	if (t->ring == NULL && (t->ring = malloc(JOBLOG_TAIL)) == NULL) {
		*dropped += len;
		return (-1);
	}
	n = len < JOBLOG_TAIL ? len : JOBLOG_TAIL;
	*dropped += len - n;
	buf += len - n;
	if (n > JOBLOG_TAIL - t->len)
		*dropped += n - (JOBLOG_TAIL - t->len);
	part = JOBLOG_TAIL - t->at;
	if (part > n)
		part = n;
	memcpy(t->ring + t->at, buf, part);
	memcpy(t->ring, buf + part, n - part);
	t->at = (t->at + n) % JOBLOG_TAIL;
	t->len += n;
	if (t->len > JOBLOG_TAIL)
		t->len = JOBLOG_TAIL;
	return (0);
}

void
joblog_room(const struct joblog_writer *w, struct iovec iov[JOBLOG_PIECES])
{
	size_t i;

	for (i = 0; i < JOBLOG_PIECES; i++) {
		iov[i].iov_base = piece_at(w, i);
		iov[i].iov_len = JOBLOG_PIECE;
	}
}

/*
 * What is over the cap, of the pieces that begin at ${w->buf + at}: from byte
 * ${from} of their payload to ${len}.
 */
static int
put_rest(struct joblog_writer *w, uint8_t stream, size_t at, size_t from,
    size_t len)
{
	const uint8_t *p;
	size_t n;
	int rc = 0;

	for (; from < len; from += n) {
		p = w->buf + at + from / JOBLOG_PIECE * FRAME + JOBLOG_HEAD;
		n = JOBLOG_PIECE - from % JOBLOG_PIECE;
		if (n > len - from)
			n = len - from;
		if (tail_put(w, stream, p + from % JOBLOG_PIECE, n) == -1)
			rc = -1;
	}
	return (rc);
}

int
joblog_add(struct joblog_writer *w, uint8_t stream, size_t len)
{
	size_t fit = len, at = w->have, done;
	int rc = 0;

	if (stream != JOBLOG_STDOUT && stream != JOBLOG_STDERR) {
		errno = EINVAL;
		return (-1);
	}
	w->seen[stream - 1] += len;
	if (fit > w->cap - w->kept)
		fit = (size_t)(w->cap - w->kept);
	if (fit > 0 && (done = put_pieces(w, stream, fit)) < fit) {
		w->dropped[stream - 1] += len - done;
		rc = -1;
	} else
		rc = put_rest(w, stream, at, fit, len);
	digest(w, 0);
	if (rc == 0)
		writeout_grew(&w->out, w->file_bytes);
	return (rc);
}

int
joblog_write(struct joblog_writer *w, uint8_t stream, const void *data,
    size_t len)
{
	const uint8_t *buf = data;
	size_t n;

	for (; len > 0; buf += n, len -= n) {
		n = len < JOBLOG_PIECE ? len : JOBLOG_PIECE;
		memcpy(piece_at(w, 0), buf, n);
		if (joblog_add(w, stream, n) == -1)
			return (-1);
	}
	return (0);
}

/* Straighten a full ring into the file. */
static int
put_tail(struct joblog_writer *w, uint8_t stream)
{
	struct tail *t = &w->tails[stream - 1];
	uint8_t *flat;
	size_t part;
	int rc;

	if (t->len == 0)
		return (0);
	if (t->len < JOBLOG_TAIL || t->at == 0)
		return (put_frame(w, stream, t->ring, t->len));
	if ((flat = malloc(JOBLOG_TAIL)) == NULL)
		return (-1);
	part = JOBLOG_TAIL - t->at;
	memcpy(flat, t->ring + t->at, part);
	memcpy(flat + part, t->ring, t->at);
	rc = put_frame(w, stream, flat, JOBLOG_TAIL);
	free(flat);
	return (rc);
}

static int
put_marker(struct joblog_writer *w)
{
	char text[160];
	int n;

	n = snprintf(text, sizeof(text), "errand: the log was full: %" PRIu64
	    " bytes of stdout and %" PRIu64 " bytes of stderr are missing here",
	    w->dropped[0], w->dropped[1]);
	return (put_frame(w, JOBLOG_MARKER, text, (size_t)n));
}

int
joblog_finish(struct joblog_writer *w, struct joblog_sum *sum)
{
	memset(sum, 0, sizeof(*sum));
	sum->truncated = w->dropped[0] + w->dropped[1] > 0;
	if (sum->truncated && put_marker(w) == -1)
		return (-1);
	if (put_tail(w, JOBLOG_STDOUT) == -1 ||
	    put_tail(w, JOBLOG_STDERR) == -1)
		return (-1);
	if (w->file_bytes > 0 && fdatasync(w->fd) == -1)
		return (-1);
	writeout_done(&w->out, w->file_bytes);
	digest(w, 1);
	sum->bytes = w->kept;
	sum->stdout_bytes = w->seen[0];
	sum->stderr_bytes = w->seen[1];
	sum->file_bytes = w->file_bytes;
	joblog_digest_final(&w->hash, sum->digest);
	return (0);
}
