/*
 * Messages to people.  Writes whole lines to stderr and nothing anywhere else;
 * a job's output is joblog.c's.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

#define EXIT_SYSTEM     111
#define TEXT_MAX        1024    /* of one message, before escaping */
#define LINE_MAX_LEN    2048    /* below PIPE_BUF: a write is one piece */

static char log_role[32] = "errand";
static enum log_level log_limit = LOG_LEVEL_INFO;
static int log_journal;
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
