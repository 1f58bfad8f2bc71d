#ifndef ERRAND_LOG_H
#define ERRAND_LOG_H

#include <stdarg.h>

/*
 * One line per message on stderr: "role: text".  When stderr is the journal,
 * the level goes before it in angle brackets.  Control bytes in the text are
 * escaped.  log_warn and fatal append strerror(errno).
 *
 * After log_times, when stderr is a file, the time is before each line, in UTC:
 * a file has nobody else to note it.
 */
enum log_level {
	LOG_LEVEL_ERROR = 0,
	LOG_LEVEL_WARN = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3
};

void log_init(const char *role, enum log_level);
void log_level_set(enum log_level);
void log_times(void);

void log_warn(const char *, ...) __attribute__((format(printf, 1, 2)));
void log_warnx(const char *, ...) __attribute__((format(printf, 1, 2)));

/* The text of the last warning or error, "" for none: what is to be said of it
 * elsewhere too. */
const char *log_last(void);
void log_info(const char *, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *, ...) __attribute__((format(printf, 1, 2)));

/*
 * End the process with status 111.  Only main.c, sandbox.c and pre-exec code
 * may call these (make lint checks).
 */
void fatal(const char *, ...)
    __attribute__((format(printf, 1, 2), noreturn));
void fatalx(const char *, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif /* !ERRAND_LOG_H */
