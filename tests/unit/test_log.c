#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"

/* log.c's clock. */
static time_t now;

time_t
time(time_t *t)
{
	if (t != NULL)
		*t = now;
	return (now);
}

/* What ${fn} wrote to stderr, run in a child; ${*status} is how it ended. */
static char *
captured(void (*fn)(void), int journal, int *status)
{
	static char out[8192];
	char stream[64];
	struct stat st;
	size_t used = 0;
	ssize_t n;
	int p[2];
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	if ((pid = fork()) == 0) {
		dup2(p[1], STDERR_FILENO);
		close(p[0]);
		close(p[1]);
		if (fstat(STDERR_FILENO, &st) == -1)
			_exit(1);
		snprintf(stream, sizeof(stream), "%ju:%ju",
		    (uintmax_t)st.st_dev,
		    (uintmax_t)st.st_ino + (journal == 1 ? 0 : 1));
		if (journal)
			setenv("JOURNAL_STREAM", stream, 1);
		else
			unsetenv("JOURNAL_STREAM");
		log_init("role", LOG_LEVEL_INFO);
		fn();
		_exit(0);
	}
	assert_true(pid > 0);
	close(p[1]);
	while ((n = read(p[0], out + used, sizeof(out) - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	close(p[0]);
	assert_int_equal(waitpid(pid, status, 0), pid);
	return (out);
}

static void
say_all(void)
{

	errno = ENOENT;
	log_warn("open %s", "x");
	if (errno != ENOENT)
		_exit(2);
	log_warnx("bad %d", 7);
	log_info("info");
	log_debug("debug");
}

static void
test_plain(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(say_all, 0, &status),
	    "role: open x: No such file or directory\n"
	    "role: bad 7\nrole: info\n");
	assert_int_equal(status, 0);
}

static void
test_journal(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(say_all, 1, &status),
	    "<4>role: open x: No such file or directory\n"
	    "<4>role: bad 7\n<6>role: info\n");

	/* The variable of somebody else's stream. */
	assert_string_equal(captured(say_all, 2, &status),
	    "role: open x: No such file or directory\n"
	    "role: bad 7\nrole: info\n");
}

static void
say_levels(void)
{

	log_level_set(LOG_LEVEL_DEBUG);
	log_debug("one");
	log_level_set(LOG_LEVEL_WARN);
	log_info("two");
	log_warnx("three");
	log_level_set(LOG_LEVEL_ERROR);
	log_warnx("four");
}

static void
test_levels(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(say_levels, 0, &status),
	    "role: one\nrole: three\n");
}

static void
say_hostile(void)
{

	log_info("a\nrole: forged\x1b[2J\x9b\xe2\x80\xae z");
}

static void
test_escaped(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(say_hostile, 0, &status),
	    "role: a\\nrole: forged\\x1b[2J\\x9b\\xe2\\x80\\xae z\n");
}

static void
say_long(void)
{
	char buf[6000];

	memset(buf, 'x', sizeof(buf) - 1);
	buf[sizeof(buf) - 1] = '\0';
	log_info("%s", buf);
	memset(buf, 1, sizeof(buf) - 1);
	log_info("%s", buf);
}

static void
test_bounded(void **state)
{
	char *out, *nl;
	int status;

	(void)state;
	out = captured(say_long, 0, &status);
	nl = strchr(out, '\n');
	assert_non_null(nl);
	assert_true(nl - out > 1000 && nl - out < 2048);
	assert_memory_equal(nl - 4, "x...", 4);
	out = nl + 1;
	nl = strchr(out, '\n');
	assert_non_null(nl);
	assert_true(nl - out <= 2048);
	assert_memory_equal(nl - 7, "\\x01...", 7);
	assert_int_equal(nl[1], '\0');
}

static void
die_errno(void)
{

	errno = EACCES;
	fatal("store");
}

static void
die_plain(void)
{

	fatalx("no %s", "way");
}

static void
test_fatal(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(die_errno, 1, &status),
	    "<3>role: store: Permission denied\n");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 111);
	assert_string_equal(captured(die_plain, 0, &status),
	    "role: no way\n");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 111);
}

#define DAYS    160000  /* to the year 2408 */

/* The n-th day from 1970, at some time of it. */
static time_t
day_of(long n)
{
	return ((time_t)(n * 86400 + n * 7919 % 86400));
}

/* A line a day, into the file ${fd}. */
static void
say_days(int fd)
{
	long n;

	dup2(fd, STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	log_init("role", LOG_LEVEL_INFO);
	log_info("undated");
	log_times();
	for (n = 0; n < DAYS; n++) {
		now = day_of(n);
		log_info("%ld", n);
	}
}

static void
test_times(void **state)
{
	char line[128], want[160], when[64];
	FILE *f = tmpfile();
	struct tm tm;
	time_t t;
	long n;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(f);
	if ((pid = fork()) == 0) {
		say_days(fileno(f));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "role: undated\n");
	for (n = 0; n < DAYS; n++) {
		t = day_of(n);
		assert_non_null(gmtime_r(&t, &tm));
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
		snprintf(want, sizeof(want), "%s role: %ld\n", when, n);
		assert_non_null(fgets(line, sizeof(line), f));
		assert_string_equal(line, want);
	}
	assert_null(fgets(line, sizeof(line), f));
	fclose(f);
}

static void
say_dated(void)
{
	log_times();
	log_info("info");
}

/* Who reads a pipe or the journal notes the time itself. */
static void
test_no_times(void **state)
{
	int status;

	(void)state;
	assert_string_equal(captured(say_dated, 0, &status), "role: info\n");
	assert_string_equal(captured(say_dated, 1, &status),
	    "<6>role: info\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_fatal),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
