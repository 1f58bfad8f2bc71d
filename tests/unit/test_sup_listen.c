#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "lib/log.h"
#include "sup_capture.h"
#include "supervisor/config.h"
#include "supervisor/listen.h"
#include "supervisor/sup.h"

/* A socket that is taken, stale, in the way or too long is said so. */

static char dir[256], sock[300];
static struct config cfg;
static struct sup sup;

static int
setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/errand-listen-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return (-1);
	snprintf(sock, sizeof(sock), "%s/errand.sock", dir);
	cfg.run_dir = dir;
	sup.cfg = &cfg;
	return (0);
}

static int
teardown(void **state)
{
	char cmd[300];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return (system(cmd) == 0 ? 0 : -1);
}

static void
refused(const char *words)
{
	say_begin();
	assert_null(listen_open(&sup));
	if (strstr(say_end(), words) == NULL)
		fail_msg("%s", said);
}

static void
test_modes(void **state)
{
	struct listeners *ls;
	struct stat sb;
	char path[300];

	(void)state;
	assert_non_null(ls = listen_open(&sup));
	assert_int_equal(stat(sock, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0666);
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0600);
	refused("in use by another daemon");
	listen_close(ls);
	assert_int_equal(stat(sock, &sb), -1);
}

static void
test_stale(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct listeners *ls;
	int fd;

	(void)state;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", sock);
	assert_true((fd = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(fd);
	assert_non_null(ls = listen_open(&sup));
	listen_close(ls);
}

static void
test_in_the_way(void **state)
{
	(void)state;
	assert_int_equal(mkdir(sock, 0700), 0);
	refused("is in the way and is no socket");
}

static void
test_too_long(void **state)
{
	char longer[200];

	(void)state;
	snprintf(longer, sizeof(longer), "%.30s/%0100d", dir, 7);
	cfg.run_dir = longer;
	refused("choose a shorter run_dir");
	snprintf(longer, sizeof(longer), "%.30s/absent", dir);
	refused("No such file");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_modes), T(test_stale), T(test_in_the_way),
		T(test_too_long),
	};

	log_init("test", LOG_LEVEL_WARN);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
