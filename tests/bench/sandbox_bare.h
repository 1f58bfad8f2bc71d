#ifndef ERRAND_TESTS_SANDBOX_BARE_H
#define ERRAND_TESTS_SANDBOX_BARE_H

/*
 * The least that a sandbox like errand's can cost: one clone3 with all its
 * namespaces, the ids from outside, a cgroup with the same limits, the same
 * mounts from the same template, the inner user namespace, and execve.  No
 * keeper, no pid 1, no filter, no Landlock, no proof that it works, nothing
 * that survives a crash.  After sandbox_load.h.
 */

#include <sys/prctl.h>

#include <event2/event.h>

#include "supervisor/cgroup.h"
#include "supervisor/config.h"
#include "lib/worker_args.h"
#include "worker-exec/ns.h"
#include "worker-exec/overlay.h"
#include "worker-exec/template.h"
#include "worker-exec/view.h"

#define BARE_UID        1879179002U

struct bare {
	struct load_peer peer;
	struct cgroups *cgs;
	struct cgroup *cg[LOAD_MANY];
	struct event_base *base;
	struct job_limits limits;
	int host;               /* the mount namespace that we came from */
};

static struct bare bare;

static inline void
bare_proc_write(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd != -1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* In the new process: as preexec.c and init.c do, but for the fences. */
static inline void __attribute__((noreturn))
bare_child(int gate, const int *join, size_t njoin)
{
	static char *argv[] = { (char *)(uintptr_t)"true", NULL };
	const char *step;
	char word;
	size_t i;
	int fd;

	if (read(gate, &word, 1) != 1 || ns_become_root() == -1)
		_exit(1);
	for (i = 0; i < njoin; i++) {
		if (write(join[i], "0", 1) != 1)
			_exit(2);
	}
	if (unshare(CLONE_NEWCGROUP) == -1 || sethostname("errand", 6) == -1 ||
	    ns_loopback() == -1 ||
	    (fd = overlay_plain(TEMPLATE_WORK "/bare")) == -1)
		_exit(3);
	if (view_make(&(struct view){ .from = TEMPLATE_VIEW }, &step) == -1 ||
	    view_enter(fd, &step) == -1)
		_exit(4);
	if (unshare(CLONE_NEWUSER) == -1 || ns_map_self(1000, 0, 0) == -1 ||
	    setresgid(1000, 1000, 1000) == -1 ||
	    setresuid(1000, 1000, 1000) == -1)
		_exit(5);
	(void)execve("/bin/true", argv, environ);
	_exit(6);
}

static inline pid_t
bare_start(unsigned int slot)
{
	int gate[2], join[CGROUP_JOIN_MAX], v2;
	char map[32], id[JOB_ID_LEN + 1];
	size_t i, n = 0, none = 0;
	pid_t pid;

	text_job_id(id);
	assert_non_null(bare.cg[slot] = cgroup_new(bare.cgs, id,
	    &bare.limits));
	v2 = strcmp(cgroups_kind(bare.cgs), "v2") == 0;
	if (!v2)
		assert_int_equal(cgroup_place(bare.cg[slot], 0, BARE_UID, join,
		    &n), 0);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	if ((pid = ns_clone(NS_KEEPER | NS_INIT | CLONE_NEWNET, NULL)) == 0) {
		close(gate[1]);
		bare_child(gate[0], join, n);
	}
	assert_true(pid > 0);
	(void)snprintf(map, sizeof(map), "0 %u 1\n", BARE_UID);
	bare_proc_write(pid, "gid_map", map);
	bare_proc_write(pid, "uid_map", map);
	if (v2)
		assert_int_equal(cgroup_place(bare.cg[slot], pid, BARE_UID,
		    join, &none), 0);
	assert_int_equal(write(gate[1], "", 1), 1);
	close(gate[0]);
	close(gate[1]);
	for (i = 0; i < n; i++)
		close(join[i]);
	return (pid);
}

static inline void
bare_end(unsigned int slot)
{
	cgroup_free(bare.cg[slot]);
	bare.cg[slot] = NULL;
	(void)event_base_loop(bare.base, EVLOOP_NONBLOCK);
}

static inline void
bare_serve(int fd, const char *dir, unsigned int mounts)
{
	const struct worker_args args = { .dir = dir };
	struct config cfg = { .cgroup_root = NULL };
	char work[128];

	bare.peer.start = bare_start;
	bare.peer.end = bare_end;
	bare.limits.memory = UINT64_C(1) << 30;
	bare.limits.pids = 1024;
	bare.host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	load_mounts(dir, mounts);
	(void)snprintf(work, sizeof(work), "%s/bare", dir);
	assert_int_equal(mkdir(work, 0700), 0);
	assert_int_equal(chown(work, BARE_UID, BARE_UID), 0);
	assert_non_null(bare.base = event_base_new());
	assert_non_null(bare.cgs = cgroups_open(bare.base, &cfg,
	    mounts == 0 ? "bench.bare" : "bench.bare.more"));
	assert_int_equal(template_build(&args), 0);
	load_peer_serve(&bare.peer, fd);
	assert_int_equal(setns(bare.host, CLONE_NEWNS), 0);
	cgroups_close(bare.cgs);
	event_base_free(bare.base);
}

#endif /* !ERRAND_TESTS_SANDBOX_BARE_H */
