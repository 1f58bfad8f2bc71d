/* The writer of a job's log.  The reader is in joblog_reader.c. */

#include <sys/uio.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "joblog.h"
#include "le.h"

/* The end of a stream, once the head of the log is full. */
struct tail {
	uint8_t *ring;          /* JOBLOG_TAIL bytes, made at first use */
	size_t at;              /* where the next byte goes */
	size_t len;
};

/*
 * Invariants:
 *  1. The file holds whole frames, file_bytes long, and hash has seen exactly
 *     these; unless broken, when it has a torn end that could not be cut off.
 *  2. Once kept has reached cap, nothing goes to the file before the end.
 *  3. seen[i] = what is in the file + tails[i].len + dropped[i], for each
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
	crypto_generichash_blake2b_state hash;
};

static int
hash_init(crypto_generichash_blake2b_state *hash)
{
	uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] =
	    "errand.log";

	/* Without this, libsodium hashes at half the speed. */
	if (sodium_init() == -1) {
		errno = ENOSYS;
		return (-1);
	}
	return (crypto_generichash_blake2b_init_salt_personal(hash, NULL, 0,
	    32, NULL, person));
}

struct joblog_writer *
joblog_writer_new(int fd, uint64_t cap)
{
	struct joblog_writer *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		goto err0;
	if (hash_init(&w->hash) == -1)
		goto err1;
	w->fd = fd;
	w->cap = cap;

	return (w);

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
	free(w);
}

uint64_t
joblog_bytes(const struct joblog_writer *w)
{
	return (w->kept);
}

/* All of both parts, or -1 with errno. */
static int
write_parts(int fd, struct iovec *iov)
{
	ssize_t n;

	while (iov[0].iov_len + iov[1].iov_len > 0) {
		if ((n = writev(fd, iov, 2)) == -1) {
			if (errno == EINTR)
				continue;
			return (-1);
		}
		if ((size_t)n < iov[0].iov_len) {
			iov[0].iov_base = (uint8_t *)iov[0].iov_base + n;
			iov[0].iov_len -= (size_t)n;
			continue;
		}
		n -= (ssize_t)iov[0].iov_len;
		iov[0].iov_len = 0;
		iov[1].iov_base = (uint8_t *)iov[1].iov_base + n;
		iov[1].iov_len -= (size_t)n;
	}
	return (0);
}

/* Take back what was written of a frame, so that a full disk spoils nothing. */
static void
cut_torn(struct joblog_writer *w)
{
	int save = errno;

	if (ftruncate(w->fd, (off_t)w->file_bytes) == -1)
		w->broken = 1;
	errno = save;
}

/* Append one frame of at most JOBLOG_PIECE bytes. */
static int
put_frame(struct joblog_writer *w, uint8_t stream, const uint8_t *buf,
    size_t len)
{
	uint8_t head[JOBLOG_HEAD] = { stream };
	struct iovec iov[2] = {
		{ head, sizeof(head) },
		{ (void *)(uintptr_t)buf, len },
	};

	if (w->broken) {
		errno = EIO;
		return (-1);
	}
	le_put32(head + 4, (uint32_t)len);
	if (write_parts(w->fd, iov) == -1) {
		cut_torn(w);
		return (-1);
	}
	(void)crypto_generichash_blake2b_update(&w->hash, head, sizeof(head));
	(void)crypto_generichash_blake2b_update(&w->hash, buf, len);
	w->file_bytes += sizeof(head) + len;
	if (stream != JOBLOG_MARKER)
		w->kept += len;
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

int
joblog_write(struct joblog_writer *w, uint8_t stream, const void *data,
    size_t len)
{
	const uint8_t *buf = data;
	size_t n;

	if (stream != JOBLOG_STDOUT && stream != JOBLOG_STDERR) {
		errno = EINVAL;
		return (-1);
	}
	w->seen[stream - 1] += len;
	while (len > 0 && w->kept < w->cap) {
		n = len < JOBLOG_PIECE ? len : JOBLOG_PIECE;
		if (n > w->cap - w->kept)
			n = (size_t)(w->cap - w->kept);
		if (put_frame(w, stream, buf, n) == -1) {
			w->dropped[stream - 1] += len;
			return (-1);
		}
		buf += n;
		len -= n;
	}
	return (len == 0 ? 0 : tail_put(w, stream, buf, len));
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
	return (put_frame(w, JOBLOG_MARKER, (const uint8_t *)text, (size_t)n));
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
	sum->bytes = w->kept;
	sum->stdout_bytes = w->seen[0];
	sum->stderr_bytes = w->seen[1];
	sum->file_bytes = w->file_bytes;
	return (crypto_generichash_blake2b_final(&w->hash, sum->digest,
	    sizeof(sum->digest)));
}
