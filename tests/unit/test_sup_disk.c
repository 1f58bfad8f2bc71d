/*
 * Disk images: a limit holds to the block, and nothing is left behind.  Needs
 * root, loop devices and mkfs.ext4.
 */
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/io.h"
#include "lib/log.h"
#include "supervisor/disk_image.h"
#include "supervisor/jobs.h"

#define UID     64200
#define MIB     (UINT64_C(1) << 20)

struct world {
	char path[64];
	int dir;
	struct event_base *base;
	struct disk_images *di;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	snprintf(w->path, sizeof(w->path), "/tmp/errand-disk-XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->base = event_base_new();
	w->di = disk_images_open(w->base, w->dir, 64 * MIB);
	assert_non_null(w->di);
	*state = w;
	return (0);
}

static int
teardown(void **state)
{
	struct world *w = *state;

	disk_images_close(w->di);
	event_base_free(w->base);
	assert_int_equal(io_remove_tree(AT_FDCWD, w->path), 0);
	close(w->dir);
	free(w);
	return (0);
}

static void
needs_root(const struct world *w)
{
	if (geteuid() == 0 && access("/dev/loop-control", F_OK) == 0) {
		assert_string_equal(disk_images_note(w->di), "");
		return;
	}
	assert_string_not_equal(disk_images_note(w->di), "");
	printf("# needs root and loop devices\n");
	skip();
}

/* As the job's user: write until it is full; the bytes that went in. */
static uint64_t
fill(const struct disk *d, uint32_t uid)
{
	static char buf[65536];
	uint64_t total = 0;
	int p[2], fd;
	ssize_t n;

	memset(buf, 'x', sizeof(buf));
	assert_int_equal(pipe(p), 0);
	if (fork() == 0) {
		if (setresgid(uid, uid, uid) == -1 ||
		    setresuid(uid, uid, uid) == -1 ||
		    (fd = openat(d->dir, "f", O_WRONLY | O_CREAT, 0600)) == -1)
			_exit(1);
		while ((n = write(fd, buf, sizeof(buf))) > 0)
			total += (uint64_t)n;
		_exit(errno == ENOSPC && write(p[1], &total,
		    sizeof(total)) == sizeof(total) ? 0 : 1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &total, sizeof(total)), sizeof(total));
	close(p[0]);
	assert_true(wait(NULL) > 0);
	return (total);
}

static uint64_t
fill_inodes(const struct disk *d, uint32_t uid)
{
	uint64_t n = 0;
	int p[2], fd;
	char name[32];

	assert_int_equal(pipe(p), 0);
	if (fork() == 0) {
		if (setresuid(uid, uid, uid) == -1)
			_exit(1);
		for (;; n++) {
			snprintf(name, sizeof(name), "n%llu",
			    (unsigned long long)n);
			if ((fd = openat(d->dir, name, O_WRONLY | O_CREAT,
			    0600)) == -1)
				break;
			close(fd);
		}
		_exit(errno == ENOSPC && write(p[1], &n, sizeof(n)) ==
		    sizeof(n) ? 0 : 1);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &n, sizeof(n)), sizeof(n));
	close(p[0]);
	assert_true(wait(NULL) > 0);
	return (n);
}

/* Loop devices over files of this directory. */
static int
loops(const char *path)
{
	char name[300], line[300];
	struct dirent *e;
	int n = 0;
	FILE *f;
	DIR *d;

	if ((d = opendir("/sys/block")) == NULL)
		return (0);
	while ((e = readdir(d)) != NULL) {
		snprintf(name, sizeof(name), "/sys/block/%s/loop/backing_file",
		    e->d_name);
		if ((f = fopen(name, "r")) == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL &&
		    strstr(line, path) != NULL)
			n++;
		fclose(f);
	}
	closedir(d);
	return (n);
}

static void
test_limit_holds(void **state)
{
	static const uint64_t sizes[] = { MIB, 5 * MIB + 4096, 16 * MIB,
	    64 * MIB, 200 * MIB + 1 };
	struct world *w = *state;
	struct disk d;
	uint64_t n;
	size_t i;

	needs_root(w);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(disk_take(w->di, sizes[i], UID, UID, &d), 0);
		assert_int_equal(disk_full(&d), JOB_LIMIT_NONE);
		n = fill(&d, UID);
		assert_true(n + 64 * 1024 >= sizes[i]);
		assert_true(n <= sizes[i] + MIB);
		assert_int_equal(disk_full(&d), JOB_LIMIT_DISK);
		assert_true(disk_used(&d) >= n);
		disk_drop(w->di, &d);
	}
}

static void
test_inodes_hold(void **state)
{
	struct world *w = *state;
	struct statfs sfs;
	struct disk d;
	uint64_t n;

	needs_root(w);
	assert_int_equal(disk_take(w->di, 16 * MIB, UID, UID, &d), 0);
	assert_int_equal(fstatfs(d.dir, &sfs), 0);
	n = fill_inodes(&d, UID);
	assert_true(n <= sfs.f_files && n + 100 >= sfs.f_files);
	assert_int_equal(disk_full(&d), JOB_LIMIT_INODES);
	disk_drop(w->di, &d);
}

static void
test_sizes(void **state)
{
	struct world *w = *state;
	struct disk d;

	needs_root(w);
	assert_int_equal(disk_take(w->di, DISK_MIN - 1, UID, UID, &d), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(disk_take(w->di, DISK_MAX + 1, UID, UID, &d), -1);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(disk_take(w->di, UINT64_MAX, UID, UID, &d), -1);
}

/* What one job wrote, the next one does not see. */
static void
test_fresh(void **state)
{
	struct world *w = *state;
	struct statfs sfs;
	struct stat st;
	struct disk d;
	int i;

	needs_root(w);
	for (i = 0; i < 8; i++) {
		assert_int_equal(disk_take(w->di, 64 * MIB, UID, UID, &d), 0);
		assert_int_equal(fstatat(d.dir, "f", &st, 0), -1);
		assert_int_equal(fstat(d.dir, &st), 0);
		assert_int_equal(st.st_uid, UID);
		assert_int_equal(st.st_gid, UID);
		assert_int_equal(fstatfs(d.dir, &sfs), 0);
		assert_true(disk_used(&d) < MIB);
		(void)fill(&d, UID);
		disk_drop(w->di, &d);
		assert_int_equal(d.mnt, -1);
		event_base_loop(w->base, EVLOOP_NONBLOCK);
	}
}

/* A file in the background is let go, and its device with it. */
static void
test_nothing_left(void **state)
{
	struct world *w = *state;
	struct disk d[6];
	int i;

	needs_root(w);
	for (i = 0; i < 6; i++)
		assert_int_equal(disk_take(w->di, 3 * MIB, UID, UID, &d[i]), 0);
	assert_true(loops(w->path) >= 6);
	for (i = 0; i < 6; i++) {
		(void)fill(&d[i], UID);
		disk_drop(w->di, &d[i]);
	}
	disk_images_close(w->di);
	for (i = 0; i < 1000 && loops(w->path) > 0; i++)
		usleep(5000);
	assert_int_equal(loops(w->path), 0);
	w->di = disk_images_open(w->base, w->dir, 0);
}

static void
on_made(void *cookie, int error)
{
	int *called = cookie;

	*called = error == 0 ? 1 : -1;
}

/*
 * One that has to be formatted, and is large, holds nobody up: not who waits
 * for another one of another size, and nobody who does not wait at all.
 */
static void
test_nobody_waits(void **state)
{
	struct world *w = *state;
	struct disk small, large;
	int called = 0, never = 0;
	struct disk_wait *wait;

	needs_root(w);
	assert_false(disk_known(w->di, DISK_MAX - MIB));
	assert_non_null(disk_await(w->di, DISK_MAX - MIB, on_made, &called));
	wait = disk_await(w->di, DISK_MAX - 2 * MIB, on_made, &never);
	assert_non_null(wait);
	/* Whoever has not had one of its size waits a moment, and for that. */
	assert_int_equal(disk_take(w->di, 5 * MIB, UID, UID, &small), 0);
	event_base_loop(w->base, EVLOOP_NONBLOCK);
	assert_int_equal(called, 0);
	disk_unwait(wait);
	while (called == 0)
		event_base_loop(w->base, EVLOOP_ONCE);
	assert_int_equal(called, 1);
	assert_true(disk_known(w->di, DISK_MAX - MIB));
	assert_int_equal(disk_take(w->di, DISK_MAX - MIB, UID, UID,
	    &large), 0);
	assert_int_equal(disk_full(&large), JOB_LIMIT_NONE);
	assert_int_equal(never, 0);
	disk_drop(w->di, &small);
	disk_drop(w->di, &large);
}

static void
on_none(void *cookie, int error)
{
	unsigned int *n = cookie;

	assert_int_not_equal(error, 0);
	(*n)++;
}

/*
 * Each end waits when the channel is full, so it holds all that can be asked
 * for before the answers are heard: one disk for each job there may be.
 */
static void
test_all_jobs(void **state)
{
	struct world *w = *state;
	unsigned int i, n = 0;

	needs_root(w);
	log_init("test", LOG_LEVEL_ERROR);
	(void)alarm(60);
	for (i = 0; i < JOBS_MAX; i++)
		assert_non_null(disk_await(w->di, 4 * DISK_MAX, on_none, &n));
	while (n < JOBS_MAX)
		event_base_loop(w->base, EVLOOP_ONCE);
	(void)alarm(0);
	log_init("test", LOG_LEVEL_WARN);
}

/*
 * The process that makes them dies: who waits hears of it, the next gets his.
 */
static void
test_maker_dies(void **state)
{
	struct world *w = *state;
	int called = 0;
	struct disk d;
	char path[64];
	FILE *f;
	int pid;

	needs_root(w);
	assert_non_null(disk_await(w->di, DISK_MAX, on_made, &called));
	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	assert_non_null(f = fopen(path, "r"));
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (called == 0)
		event_base_loop(w->base, EVLOOP_ONCE);
	assert_int_equal(called, -1);
	assert_int_equal(disk_take(w->di, 5 * MIB, UID, UID, &d), 0);
	disk_drop(w->di, &d);
}

/* The one child of ours, or 0. */
static int
maker(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
	    (int)getpid());
	assert_non_null(f = fopen(path, "r"));
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return (pid);
}

/* How many milliseconds until there is another than ${was}; 10 s at most. */
static uint64_t
maker_again(struct world *w, int was)
{
	const struct timeval tick = { 0, 20000 };
	uint64_t begin = io_mono_us();
	int pid;

	do {
		event_base_loopexit(w->base, &tick);
		event_base_loop(w->base, 0);
		pid = maker();
	} while ((pid == 0 || pid == was) && io_mono_us() - begin < 10000000);
	assert_true(pid != 0 && pid != was);
	return ((io_mono_us() - begin) / 1000);
}

/*
 * It is started again with nobody to ask for a disk, since old ones are dropped
 * through it too; the later the more often it dies.
 */
static void
test_maker_comes_back(void **state)
{
	struct world *w = *state;
	int i, pid;

	needs_root(w);
	disk_images_close(w->di);
	w->di = disk_images_open(w->base, w->dir, 0);
	assert_string_equal(disk_images_note(w->di), "");
	for (i = 0; i < 2; i++) {
		pid = maker();
		assert_true(pid > 0);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_in_range(maker_again(w, pid), 900 << i, 4000);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_maker_comes_back, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_limit_holds, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_inodes_hold, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fresh, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_left, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_all_jobs, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_maker_dies, setup,
		    teardown),
	};

	log_init("test", LOG_LEVEL_WARN);
	return (cmocka_run_group_tests_name("disk images", tests, NULL, NULL));
}
