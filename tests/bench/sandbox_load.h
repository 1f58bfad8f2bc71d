#ifndef ERRAND_TESTS_SANDBOX_LOAD_H
#define ERRAND_TESTS_SANDBOX_LOAD_H

/*
 * What sandbox_bench.c measures errand's sandboxes against: each kind of thing
 * has a process of its own that does as it is told.
 */

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sched.h>
#include <spawn.h>

#include "lib/io.h"

#define LOAD_MANY       16      /* at once */
#define LOAD_REST_US    50000   /* of each kind before a burst: nothing of the
				 * one before goes on, and caches are as cold */

enum load_what {
	LOAD_BURST,             /* so many at once, until all have ended */
	LOAD_RATE               /* so many all the time, for a while */
};

struct load_order {
	enum load_what what;
	unsigned int n;
	double seconds;         /* of RATE */
};

/* Milliseconds of a burst, or sandboxes in a second. */
struct load_answer {
	double all;             /* of errand: the host knows that it ended */
	double command;         /* its last command has ended */
};

extern char **environ;

/* Start one that runs true; its process. */
typedef pid_t (*load_start_fn)(unsigned int);
/* It has ended. */
typedef void (*load_end_fn)(unsigned int);

static inline double
load_ms(uint64_t since)
{
	return ((double)(io_mono_us() - since) / 1000);
}

struct load_peer {
	load_start_fn start;
	load_end_fn end;
	pid_t pid[LOAD_MANY];
};

static inline void
load_peer_start(struct load_peer *p, unsigned int slot)
{
	p->pid[slot] = p->start(slot);
	assert_true(p->pid[slot] > 0);
}

/* Wait for any of them: which it was. */
static inline unsigned int
load_peer_wait(struct load_peer *p)
{
	unsigned int slot = 0;
	int status;
	pid_t pid;

	pid = waitpid(-1, &status, 0);
	assert_true(pid > 0);
	assert_int_equal(status, 0);
	while (p->pid[slot] != pid)
		assert_true(++slot < LOAD_MANY);
	p->pid[slot] = -1;
	if (p->end != NULL)
		p->end(slot);
	return (slot);
}

static inline struct load_answer
load_peer_burst(struct load_peer *p, unsigned int n)
{
	struct load_answer a;
	uint64_t start;
	unsigned int i;

	(void)usleep(LOAD_REST_US);
	start = io_mono_us();
	for (i = 0; i < n; i++)
		load_peer_start(p, i);
	for (i = 0; i < n; i++)
		(void)load_peer_wait(p);
	a.all = a.command = load_ms(start);
	return (a);
}

static inline struct load_answer
load_peer_rate(struct load_peer *p, unsigned int n, double seconds)
{
	uint64_t start = io_mono_us(), done = 0;
	struct load_answer a;
	unsigned int i;

	for (i = 0; i < n; i++)
		load_peer_start(p, i);
	for (; load_ms(start) < seconds * 1000; done++)
		load_peer_start(p, load_peer_wait(p));
	a.all = a.command = (double)done * 1000 / load_ms(start);
	for (i = 0; i < n; i++)
		(void)load_peer_wait(p);
	return (a);
}

/* Do what comes until nothing comes any more. */
static inline void
load_peer_serve(struct load_peer *p, int fd)
{
	struct load_answer a;
	struct load_order o;

	while (read(fd, &o, sizeof(o)) == (ssize_t)sizeof(o)) {
		a = o.what == LOAD_BURST ? load_peer_burst(p, o.n) :
		    load_peer_rate(p, o.n, o.seconds);
		assert_int_equal(write(fd, &a, sizeof(a)), sizeof(a));
	}
}

/* This process alone sees so many mounts more. */
static inline void
load_mounts(const char *dir, unsigned int n)
{
	char path[160];
	unsigned int i;

	if (n == 0)
		return;
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	for (i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/m%u", dir, i);
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(mount("errand-bench", path, "tmpfs", 0,
		    "size=4k"), 0);
	}
}

static inline pid_t
load_spawn(const char *path, char *const *argv)
{
	pid_t pid;

	return (posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0 ?
	    pid : -1);
}

#endif /* !ERRAND_TESTS_SANDBOX_LOAD_H */
