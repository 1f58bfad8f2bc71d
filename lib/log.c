/*
 * Messages to people.  Writes whole lines to stderr and nothing anywhere else;
 * a job's output is joblog.c's.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

#define EXIT_SYSTEM     111
#define TEXT_MAX        1024    /* of one message, before escaping */
#define LINE_MAX_LEN    2048    /* below PIPE_BUF: a write is one piece */

static char log_role[32] = "errand";
static enum log_level log_limit = LOG_LEVEL_INFO;
static int log_journal;
static int log_dated;
static char log_text[TEXT_MAX];        /* the last warning */

/* sd-daemon(3) numbers of our levels. */
static const int log_priority[] = {
	[LOG_LEVEL_ERROR] = 3,
	[LOG_LEVEL_WARN] = 4,
	[LOG_LEVEL_INFO] = 6,
	[LOG_LEVEL_DEBUG] = 7,
};

/*
 * Is stderr the stream that systemd gave us?  JOURNAL_STREAM is inherited by
 * children whose stderr may be anything, so its inode decides.
 */
static int
stderr_is_journal(void)
{
	const char *s;
	struct stat st;
	unsigned long long dev, ino;
	char tail;

	if ((s = getenv("JOURNAL_STREAM")) == NULL)
		return (0);
	if (sscanf(s, "%llu:%llu%c", &dev, &ino, &tail) != 2)
		return (0);
	if (fstat(STDERR_FILENO, &st) == -1)
		return (0);
	return (st.st_dev == dev && st.st_ino == ino);
}

void
log_init(const char *role, enum log_level level)
{

	snprintf(log_role, sizeof(log_role), "%s", role);
	log_limit = level;
	log_journal = stderr_is_journal();
}

void
log_level_set(enum log_level level)
{

	log_limit = level;
}

void
log_times(void)
{
	struct stat st;

	log_dated = fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    !log_journal;
}

/*
 * "2026-12-01T09:30:00Z ", and its length.  gmtime_r would look for a file of
 * time zones, which a worker may not open.  Years are counted from March on,
 * so that a leap day is the last of its year: of 400 of them, which have 146097
 * days, the first began 719468 days before 1970.
 */
static size_t
stamp(char *buf, size_t size)
{
	unsigned long long t = (unsigned long long)time(NULL);
	unsigned long long day = t / 86400 + 719468, era = day / 146097;
	unsigned int sec = (unsigned int)(t % 86400), doe, yoe, doy, m;

	doe = (unsigned int)(day % 146097);
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	m = (5 * doy + 2) / 153;
	return ((size_t)snprintf(buf, size, "%04llu-%02u-%02uT%02u:%02u:%02uZ ",
	    era * 400 + yoe + (m >= 10), m < 10 ? m + 3 : m - 9,
	    doy - (153 * m + 2) / 5 + 1, sec / 3600, sec / 60 % 60, sec % 60));
}

/*
 * Write one line with one write(2).  What does not fit is cut off and marked.
 * There is nowhere to report that stderr does not take it.
 */
static void
emit(enum log_level level, const char *text, int cut)
{
	static const char mark[] = "...";
	char line[LINE_MAX_LEN];
	size_t room, n = 0;

	if (log_journal)
		n = (size_t)snprintf(line, sizeof(line), "<%d>",
		    log_priority[level]);
	if (log_dated)
		n = stamp(line, sizeof(line));
	n += (size_t)snprintf(line + n, sizeof(line) - n, "%s: ", log_role);

	/* Keep room for the mark and the newline. */
	room = sizeof(line) - n - sizeof(mark);
	if (text_escape(text, strlen(text), line + n, room) >= room)
		cut = 1;
	n += strlen(line + n);
	if (cut) {
		memcpy(line + n, mark, sizeof(mark) - 1);
		n += sizeof(mark) - 1;
	}
	line[n++] = '\n';

	while (write(STDERR_FILENO, line, n) == -1 && errno == EINTR)
		continue;
}

/* Format and emit; with ${err}, append its words.  errno is kept. */
static void __attribute__((format(printf, 3, 0)))
vlog(enum log_level level, int err, const char *fmt, va_list ap)
{
	char text[TEXT_MAX];
	int keep = errno;
	int n, m = 0;
	size_t used;

	if (level > log_limit)
		return;
	if ((n = vsnprintf(text, sizeof(text), fmt, ap)) < 0)
		n = snprintf(text, sizeof(text), "%s", fmt);
	used = strlen(text);
	if (err != 0)
		m = snprintf(text + used, sizeof(text) - used, ": %s",
		    strerror(err));
	if (level <= LOG_LEVEL_WARN)
		memcpy(log_text, text, sizeof(log_text));
	emit(level, text, (size_t)n + (size_t)m >= sizeof(text));
	errno = keep;
}

const char *
log_last(void)
{
	return (log_text);
}

void
log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_WARN, errno, fmt, ap);
	va_end(ap);
}

void
log_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_WARN, 0, fmt, ap);
	va_end(ap);
}

void
log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_INFO, 0, fmt, ap);
	va_end(ap);
}

void
log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_DEBUG, 0, fmt, ap);
	va_end(ap);
}

/*
 * _exit, not exit: a forked child that fails before its exec must not flush
 * its parent's buffers or run its parent's exit handlers.
 */
void
fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_ERROR, errno, fmt, ap);
	va_end(ap);
	_exit(EXIT_SYSTEM);
}

void
fatalx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vlog(LOG_LEVEL_ERROR, 0, fmt, ap);
	va_end(ap);
	_exit(EXIT_SYSTEM);
}
