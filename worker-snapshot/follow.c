/*
 * A job's output and end, for all requests that wait for one.  Reads the log by
 * a descriptor from the supervisor, who also says when it has grown.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch.h"
#include "follow.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/joblog.h"
#include "lib/log.h"
#include "lib/size.h"
#include "proto/client_msg.h"
#include "session.h"
#include "store_client.h"
#include "stream.h"
#include "sup.h"

/*
 * Invariants of struct follow:
 *  1. known is set when rec came from the store or the supervisor; final when
 *     rec is the one the job ended with.
 *  2. reader is not NULL exactly while there is a log to read from; fd is its
 *     file.
 *  3. The last reply goes out only after the log was read to its end with
 *     final already set: what is in the file then is all there will be.
 */
struct follow {
	struct stream *st;
	unsigned int how;
	uint64_t offset;
	struct job_record rec;
	uint8_t known;
	uint8_t final;
	uint8_t watching;       /* WATCHED has come */
	uint8_t looking;        /* JOB_GET is under way */
	uint8_t faulty;         /* the log could not be read to its end */
	int fd;
	struct joblog_reader *reader;
};

static uint64_t
offset_now(const struct follow *f)
{
	return (f->reader != NULL ? joblog_offset(f->reader) : f->offset);
}

static void
reply(struct follow *f, enum client_reply_kind kind, int more)
{
	struct client_reply r;

	memset(&r, 0, sizeof(r));
	r.kind = (uint8_t)kind;
	r.offset = offset_now(f);
	r.record = f->rec;
	stream_reply(f->st, &r, more);
}

static void
log_close(struct follow *f)
{
	if (f->reader != NULL)
		f->offset = joblog_offset(f->reader);
	joblog_reader_free(f->reader);
	f->reader = NULL;
	io_close(&f->fd);
}

/* The file is a job's own: what it says is checked by the reader. */
static int
log_open(struct follow *f, int *fd)
{
	struct stat sb;
	int fl;

	if (fstat(*fd, &sb) == -1 || (fl = fcntl(*fd, F_GETFL)) == -1)
		return (-1);
	if (!S_ISREG(sb.st_mode) || (fl & O_ACCMODE) != O_RDONLY) {
		errno = EPROTO;
		return (-1);
	}
	if ((f->reader = joblog_reader_new(*fd, f->offset)) == NULL)
		return (-1);
	f->fd = *fd;
	*fd = -1;
	return (0);
}

static uint8_t
channel(uint8_t stream)
{
	return (stream == JOBLOG_STDERR ? FRAME_STDERR : FRAME_STDOUT);
}

/* Send a long piece from where it is.  1, or 0 when there is none such. */
static int
pump_piece(struct follow *f)
{
	uint8_t stream;
	ssize_t n;
	int fd;

	if ((fd = stream_pipe(f->st)) == -1 ||
	    (n = joblog_splice(f->reader, &stream, fd, FRAME_SLICE)) <= 0)
		return (0);
	stream_piped(f->st, channel(stream), (size_t)n);
	return (1);
}

/* Send output.  1 when all there is was sent, 0 when there is no room. */
static int
pump_log(struct follow *f)
{
	uint8_t stream, *buf;
	ssize_t n;

	while (f->reader != NULL) {
		if (!stream_has_room(f->st))
			return (0);
		if (pump_piece(f))
			continue;
		if ((buf = stream_buf(f->st)) == NULL)
			return (0);
		n = joblog_read(f->reader, &stream, buf, FRAME_SLICE);
		if (n == 0)
			break;
		if (n == -1) {
			log_warn("log of job %s at %" PRIu64, f->rec.id,
			    joblog_offset(f->reader));
			f->faulty = 1;
			log_close(f);
			break;
		}
		stream_data(f->st, channel(stream), buf, (size_t)n);
	}
	return (1);
}

/*
 * The job's end is what the client asked for, so a log that is gone or cannot
 * be read does not hide it: the record then says that it is not complete.
 */
static void
last_word(struct follow *f)
{
	if ((f->how & FOLLOW_LOG) && (f->faulty ||
	    offset_now(f) < f->rec.log.bytes))
		f->rec.log.complete = 0;
	if (f->how & FOLLOW_STAY)
		reply(f, CLIENT_RESULT, 0);
	else
		reply(f, CLIENT_JOB, 0);
}

void
follow_pump(struct follow *f)
{
	if (f->st->over || !f->watching || f->looking || !pump_log(f))
		return;
	if (f->final || !(f->how & FOLLOW_STAY))
		last_word(f);
}

static void
ended(struct follow *f, const struct job_record *rec)
{
	if (f->final)
		return;
	f->rec = *rec;
	f->known = f->final = 1;
}

static void
on_record(void *cookie, const struct store_msg *m, int *fd)
{
	struct follow *f = cookie;
	struct job_record rec;

	(void)fd;
	f->looking = 0;
	if (f->final)
		return;
	if (m->op == STORE_ERROR) {
		stream_fail(f->st, &m->u.error);
		return;
	}
	if (job_record_parse(m->u.ok.data.p, m->u.ok.data.len, &rec) == -1 ||
	    !JOB_IS_FINAL(rec.state)) {
		stream_failf(f->st, ERR_INTERNAL, "the host has no result of "
		    "job %s although it has ended", f->rec.id);
		return;
	}
	ended(f, &rec);
}

void
follow_look(struct follow *f)
{
	struct store_msg m;

	if (f->looking || f->final)
		return;
	f->looking = 1;
	memset(&m, 0, sizeof(m));
	m.op = STORE_JOB_GET;
	memcpy(m.u.job.job, f->rec.id, sizeof(m.u.job.job));
	store_request(f->st->s->store, &m, -1, on_record, f);
}

/* Say that the output of a job that ended is gone; 1 if that was said. */
static int
is_gone(struct follow *f)
{
	if (!(f->how & FOLLOW_LOG) || !(f->how & FOLLOW_TELL) ||
	    f->reader != NULL || !f->final ||
	    f->rec.log.bytes <= f->offset)
		return (0);
	stream_failf(f->st, ERR_NOT_FOUND,
	    "the output of job %s is no longer kept", f->rec.id);
	return (1);
}

static void
state_set(struct follow *f, uint8_t state)
{
	if (f->final || JOB_IS_FINAL(state) || f->rec.state == state)
		return;
	f->rec.state = state;
	memset(&f->rec.reason, 0, sizeof(f->rec.reason));
}

static void
on_watched(void *cookie, const struct snap_msg *m, int *fd)
{
	struct follow *f = cookie;

	if (m->op == SNAP_ERROR) {
		stream_fail(f->st, &m->u.error);
		return;
	}
	if ((f->how & FOLLOW_LOG) && *fd != -1 && log_open(f, fd) == -1) {
		log_warn("log of job %s", f->rec.id);
		f->faulty = 1;
	}
	if (m->u.watched.active)
		state_set(f, m->u.watched.state);
	else if (f->known && JOB_IS_FINAL(f->rec.state))
		f->final = 1;
	else
		follow_look(f);
	if (is_gone(f))
		return;
	if (f->how & FOLLOW_TELL)
		reply(f, CLIENT_JOB, 1);
	f->watching = 1;
}

void
follow_start(struct stream *st, const char *job, unsigned int how,
    uint64_t offset, const struct job_record *known)
{
	struct follow *f;
	struct snap_msg *m;

	if (NEW_ARRAY(f, 1) == -1) {
		stream_failf(st, ERR_INTERNAL, "the host ran out of memory");
		return;
	}
	f->st = st;
	f->how = how;
	f->offset = offset;
	f->fd = -1;
	if (known != NULL) {
		f->rec = *known;
		f->known = 1;
	}
	memcpy(f->rec.id, job, sizeof(f->rec.id));
	st->follow = f;
	m = sup_msg(st->s->sup, SNAP_WATCH);
	memcpy(m->u.watch.job, job, sizeof(m->u.watch.job));
	m->u.watch.log = (how & FOLLOW_LOG) != 0;
	sup_request(st->s->sup, -1, on_watched, f);
}

void
follow_free(struct follow *f)
{
	if (f == NULL)
		return;
	sup_cancel(f->st->s->sup, f);
	store_cancel(f->st->s->store, f);
	log_close(f);
	free(f);
}

void
follow_event(struct follow *f, const struct snap_msg *m)
{
	/* LOG needs nothing but the look that follows every event. */
	if (m->op != SNAP_JOB || strcmp(m->u.job.job, f->rec.id) != 0)
		return;
	if (JOB_IS_FINAL(m->u.job.state)) {
		if (m->u.job.has_record)
			ended(f, &m->u.job.record);
		else
			follow_look(f);
		return;
	}
	if (f->rec.state == m->u.job.state || f->final)
		return;
	state_set(f, m->u.job.state);
	if ((f->how & FOLLOW_STATES) && f->watching)
		reply(f, CLIENT_JOB, 1);
}
