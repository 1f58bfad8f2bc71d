/*
 * A stand-in for errand-exec and its keepers, taken over by a job.  It sheds
 * and fences as the real one does.  Scenarios of the process:
 *
 *  no-hello, wrong-version, hello-twice, hello-fd, early, garbage KIND,
 *  say-run, gone-unknown, gone-flood, try WHAT..., keepers PLAY...
 *
 * With "keepers", the n-th PREPARE is played by the n-th PLAY, as a keeper of
 * its own, and the last by all that follow.  Plays whose name begins with
 * "idle" are sandboxes without a job; the others wait for theirs first.
 * "calm" is a keeper that keeps all rules: its job ends with status 7 when the
 * file PROGRAM.end is there.
 */

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sched.h>

#include <poll.h>
#include <sched.h>

#include "bad_fds.h"
#include "lib/chan.h"
#include "lib/le.h"
#include "lib/objrec.h"
#include "lib/sandbox.h"
#include "proto/exec_msg.h"
#include "proto/job_msg.h"
#include "proto/store_msg.h"
#include "stand_in.h"
#include "tries.h"
#include "worker-exec/sandbox.h"

#define FLOOD           200000
#define JOB_NOBODY      "aaaaaaaaaaaaaaaa"

/* The descriptors of a RUN. */
enum { RUN_STORE, RUN_LOG, RUN_VALUES };

static uint8_t buf[CHAN_MSG_MAX];
static char end_path[PATH_MAX];
static int job = -1, store = -1, joblog = -1;
static const char *with = "";   /* what follows '=' in the play's name */

/* The process itself. */

static size_t
exec_pack(uint8_t op)
{
	struct exec_msg m;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op == EXEC_HELLO) {
		m.u.hello.version = CHANNEL_VERSION;
		m.u.hello.userns = 1;
	} else if (op == EXEC_GONE)
		strcpy(m.u.gone.sandbox, JOB_NOBODY);
	else
		strcpy(m.u.prepare.sandbox, JOB_NOBODY);
	if ((n = exec_msg_pack(&m, buf, sizeof(buf))) == -1)
		leave("a message could not be packed");
	return ((size_t)n);
}

static void
hello(void)
{
	if (tell(CHAN_FD, buf, exec_pack(EXEC_HELLO), NULL, 0) == -1)
		leave("the channel was closed");
}

static void
no_hello(void)
{
}

static void
wrong_version(void)
{
	static struct raw r, body;

	raw_num(&body, 1, CHANNEL_VERSION + 1);
	raw_bytes(&r, 1, body.b, body.n);
	(void)tell(CHAN_FD, r.b, r.n, NULL, 0);
}

static void
hello_twice(void)
{
	hello();
	hello();
}

static void
hello_fd(void)
{
	(void)tell(CHAN_FD, buf, exec_pack(EXEC_HELLO), &bad_fds[BAD_NULL], 1);
}

static void
early(void)
{
	(void)tell(CHAN_FD, buf, exec_pack(EXEC_GONE), NULL, 0);
}

static void
garbage(void)
{
	hello();
	(void)send_garbage(CHAN_FD, arg(1), buf, exec_pack(EXEC_GONE));
}

static void
say_run(void)
{
	hello();
	(void)tell(CHAN_FD, buf, exec_pack(EXEC_PREPARE), NULL, 0);
}

/* Of jobs that are none: no violation, and no harm. */
static void
gone_unknown(void)
{
	hello();
	(void)tell(CHAN_FD, buf, exec_pack(EXEC_GONE), NULL, 0);
}

static void
gone_flood(void)
{
	size_t n;
	unsigned long i;

	hello();
	n = exec_pack(EXEC_GONE);
	say("floods");
	for (i = 0; i < FLOOD; i++)
		if (tell(CHAN_FD, buf, n, NULL, 0) == -1)
			break;
	say("sent %lu", i);
}

static void
try_it(void)
{
	hello();
	try_all(1);
}

/* A keeper. */

static void
job_say(uint8_t op, uint64_t v, const int *fds, size_t nfds)
{
	struct job_msg m;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = op;
	if (op == JOBC_HELLO)
		m.u.version = (uint32_t)v;
	else if (op == JOBC_STARTED)
		m.u.started_us = v;
	else if (op == JOBC_LOG)
		m.u.log_bytes = v;
	else if (op == JOBC_SIGNAL)
		m.u.signal = 9;
	else if (op == JOBC_RUN) {
		strcpy(m.u.run.job, JOB_NOBODY);
		m.u.run.spec.kind = OBJ_CHUNK;
		m.u.run.spec.id[0] = 1;
		m.u.run.spec_len = 1;
	}
	if ((n = job_msg_pack(&m, buf, sizeof(buf))) == -1)
		leave("a message could not be packed");
	if (tell(job, buf, (size_t)n, fds, nfds) == -1)
		leave("the channel was closed");
}

static void
job_hello(void)
{
	job_say(JOBC_HELLO, CHANNEL_VERSION, NULL, 0);
}

static void
job_result(const struct job_result *r)
{
	struct job_msg m;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = JOBC_RESULT;
	m.u.result = *r;
	if ((n = job_msg_pack(&m, buf, sizeof(buf))) == -1)
		leave("a result could not be packed");
	(void)tell(job, buf, (size_t)n, NULL, 0);
}

/* Wait for the job itself. */
static void
job_take(void)
{
	static struct job_msg m;
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t n;

	if ((n = hear(job, buf, sizeof(buf), fds, &nfds)) == 0)
		leave("the channel was closed");
	if (job_msg_parse(buf, (size_t)n, &m) == -1 || m.op != JOBC_RUN ||
	    nfds < 2)
		leave("errandd sent no job");
	store = fds[RUN_STORE];
	joblog = fds[RUN_LOG];
}

static int sandboxed = -1;      /* to the process that stands for a sandbox */
static int aloof;               /* which does not join its cgroups */

/* What PLACED brings is for that process. */
static void
joins(const int *fds, size_t n)
{
	uint8_t ack;
	size_t none = 0, i;

	if (n == 0)
		return;
	if (sandboxed != -1 && !aloof && chan_send_wait(sandboxed,
	    (const uint8_t *)"j", 1, fds, n) == 0)
		(void)chan_recv_wait(sandboxed, &ack, 1, NULL, &none, 5000);
	for (i = 0; i < n; i++)
		close(fds[i]);
}

/* Hear until ${op} has come; GO may come at any time. */
static void
job_await(uint8_t op)
{
	static int went;
	struct job_msg m;
	int fds[FDS_MAX];
	size_t nfds;
	ssize_t n;

	if (op == JOBC_GO && went)
		return;
	do {
		if ((n = hear(job, buf, sizeof(buf), fds, &nfds)) == 0)
			leave("the channel was closed");
		if (job_msg_parse(buf, (size_t)n, &m) == -1)
			leave("errandd sent what cannot be read");
		if (m.op == JOBC_GO)
			went = 1;
		if (m.op == JOBC_PLACED)
			joins(fds, nfds);
	} while (m.op != op);
}

/*
 * As pid 1 of a sandbox would: be the tenant, and write "0" into the files that
 * PLACED brought.
 */
static void
innocent(int sock)
{
	int fds[FDS_MAX];
	size_t n, i;
	char c;

	for (;;) {
		n = FDS_MAX;
		if (chan_recv_wait(sock, (uint8_t *)&c, 1, fds, &n, -1) <= 0)
			pause();
		if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1)
			_exit(1);
		for (i = 0; i < n; i++) {
			if (write(fds[i], "0", 1) != 1)
				_exit(2);
			close(fds[i]);
		}
		(void)chan_send_wait(sock, (const uint8_t *)"k", 1, NULL, 0);
	}
}

/* A process in a user namespace of its own, and its pidfd. */
static int
namespace(void)
{
	int pidfd = -1, pair[2];
	struct clone_args a = {
		.flags = CLONE_NEWUSER | CLONE_PIDFD, .exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd
	};
	pid_t pid;

	if (chan_pair(pair) == -1 ||
	    (pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a))) == -1)
		leave("no user namespace");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		innocent(pair[1]);
	}
	close(pair[1]);
	sandboxed = pair[0];
	return (pidfd);
}

static int
map_honestly(void)
{
	int fd = namespace();

	job_hello();
	job_say(JOBC_MAP, 0, &fd, 1);
	job_await(JOBC_MAPPED);
	return (fd);
}

static int
start_honestly(void)
{
	int fd = map_honestly();

	job_say(JOBC_PLACE, 0, &fd, 1);
	job_await(JOBC_PLACED);
	job_say(JOBC_READY, 0, NULL, 0);
	job_await(JOBC_GO);
	job_say(JOBC_STARTED, 1, NULL, 0);
	return (fd);
}

static void
end_honestly(int pidfd, const struct job_result *r)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	job_say(JOBC_ENDED, 0, NULL, 0);
	job_result(r);
	wait_end(job);
}

static void
calm(void)
{
	struct job_result r = { .ran = 1, .exit_code = 7 };
	int fd = start_honestly();

	r.log.complete = r.changes.complete = 1;
	say("calm: started");
	while (access(end_path, F_OK) == -1)
		(void)poll(NULL, 0, 50);
	end_honestly(fd, &r);
}

/* Limits that nobody is held to. */
static void
not_joined(void)
{
	aloof = 1;
	(void)start_honestly();
	wait_end(job);
}

static int
pidfd_of(pid_t pid)
{
	int fd;

	if ((fd = (int)syscall(SYS_pidfd_open, pid, 0)) == -1)
		leave("no pidfd of that process");
	return (fd);
}

/* MAP with a descriptor of something else than a keeper of ours. */
static void
map_fd(int fd)
{
	job_hello();
	job_say(JOBC_MAP, 0, &fd, 1);
	wait_end(job);
}

static void map_pid(void) { map_fd(pidfd_of(atoi(with))); }
static void map_self(void) { map_fd(pidfd_of(getpid())); }
static void map_kind(void) { map_fd(bad_fd(with)); }

static void
map_proc(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s", with);
	map_fd(open(path, O_RDONLY | O_DIRECTORY));
}

/* One that has ended: its number may be another's by now. */
static void
map_dead(void)
{
	int fd = namespace();

	(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	(void)waitid(P_ALL, 0, NULL, WEXITED);
	map_fd(fd);
}

static void
write_own(const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	if ((fd = open(path, O_WRONLY)) == -1 ||
	    write(fd, text, strlen(text)) == -1)
		leave("no map of its own");
	close(fd);
}

/* In a namespace, so mapped that another can be made below it. */
static void
go_deep(int to)
{
	char map[32];
	int fd;

	/* Asked before: inside it is nobody's. */
	snprintf(map, sizeof(map), "0 %u 1\n", getuid());
	if (unshare(CLONE_NEWUSER) == -1 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		leave("no user namespace");
	write_own("setgroups", "deny");
	write_own("uid_map", map);
	write_own("gid_map", map);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = namespace();
	(void)tell(to, "x", 1, &fd, 1);
	for (;;)
		pause();
}

/* A namespace below one of ours: not a child of the host's. */
static void
map_deep(void)
{
	int p[2], fds[FDS_MAX];
	size_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p) == -1)
		leave("no pair");
	if (fork() == 0) {
		close(p[1]);
		go_deep(p[0]);
	}
	close(p[0]);
	if (hear(p[1], buf, sizeof(buf), fds, &n) <= 0 || n != 1)
		leave("no deep namespace");
	map_fd(fds[0]);
}

static void
map_none(void)
{
	job_hello();
	job_say(JOBC_MAP, 0, NULL, 0);
	wait_end(job);
}

static void
map_two(void)
{
	int fds[2];

	fds[0] = fds[1] = namespace();
	job_hello();
	job_say(JOBC_MAP, 0, fds, 2);
	wait_end(job);
}

static void
map_twice(void)
{
	int fd = map_honestly();

	job_say(JOBC_MAP, 0, &fd, 1);
	wait_end(job);
}

static void
place_fd(int fd)
{
	(void)map_honestly();
	job_say(JOBC_PLACE, 0, &fd, 1);
	wait_end(job);
}

static void place_pid(void) { place_fd(pidfd_of(atoi(with))); }
static void place_other(void) { place_fd(namespace()); }
static void place_self(void) { place_fd(pidfd_of(getpid())); }
static void place_kind(void) { place_fd(bad_fd(with)); }

static void
place_early(void)
{
	int fd = namespace();

	job_hello();
	job_say(JOBC_PLACE, 0, &fd, 1);
	wait_end(job);
}

static void
started_early(void)
{
	(void)map_honestly();
	job_say(JOBC_STARTED, 1, NULL, 0);
	wait_end(job);
}

static void
started_twice(void)
{
	(void)start_honestly();
	job_say(JOBC_STARTED, 1, NULL, 0);
	wait_end(job);
}

static void
ready_early(void)
{
	(void)map_honestly();
	job_say(JOBC_READY, 0, NULL, 0);
	wait_end(job);
}

static void
ready_twice(void)
{
	int fd = map_honestly();

	job_say(JOBC_PLACE, 0, &fd, 1);
	job_await(JOBC_PLACED);
	job_say(JOBC_READY, 0, NULL, 0);
	job_say(JOBC_READY, 0, NULL, 0);
	wait_end(job);
}

/* Not READY yet. */
static void
started_unready(void)
{
	int fd = map_honestly();

	job_say(JOBC_PLACE, 0, &fd, 1);
	job_await(JOBC_PLACED);
	job_await(JOBC_GO);
	job_say(JOBC_STARTED, 1, NULL, 0);
	wait_end(job);
}

static void
result_early(void)
{
	struct job_result r = { .ran = 1 };

	job_hello();
	job_result(&r);
	wait_end(job);
}

static void
result_twice(void)
{
	struct job_result r = { .ran = 1 };

	(void)start_honestly();
	job_say(JOBC_ENDED, 0, NULL, 0);
	job_result(&r);
	job_result(&r);
	wait_end(job);
}

static void
ended_twice(void)
{
	(void)start_honestly();
	job_say(JOBC_ENDED, 0, NULL, 0);
	job_say(JOBC_ENDED, 0, NULL, 0);
	wait_end(job);
}

/* Alive although it says that it ended. */
static void
ended_lie(void)
{
	struct job_result r = { .ran = 1 };

	(void)start_honestly();
	job_say(JOBC_ENDED, 0, NULL, 0);
	job_result(&r);
	wait_end(job);
}

static void
result_absurd(void)
{
	static struct raw r, body;
	unsigned int i;

	(void)start_honestly();
	raw_num(&body, 1, 1);
	for (i = 2; i <= 4; i++)
		raw_num(&body, i, UINT32_MAX);
	raw_bytes(&r, 12, body.b, body.n);
	(void)tell(job, r.b, r.n, NULL, 0);
	wait_end(job);
}

/* The largest that can be said. */
static void
result_huge(void)
{
	struct job_result r = { .ran = 1, .exit_code = 3 };
	int fd = start_honestly();

	r.started_us = r.ended_us = r.start_us = r.run_us = INT64_MAX;
	r.collect_us = r.usage.cpu_us = r.usage.memory_peak = INT64_MAX;
	r.usage.pids_peak = r.usage.disk_bytes = INT64_MAX;
	r.log.bytes = r.log.stdout_bytes = r.log.stderr_bytes = INT64_MAX;
	r.changes.count = r.changes.bytes = INT64_MAX;
	r.changes.list_bytes = LIMIT_CHANGES_BYTES;
	end_honestly(fd, &r);
}

/* Names, as what its job left, what another tenant has. */
static void
result_foreign(void)
{
	struct job_result r = { .ran = 1 };
	int fd = start_honestly();

	r.changes.complete = 1;
	r.changes.root.kind = OBJ_TREE;
	if (obj_id_parse(with, r.changes.root.id) == -1)
		leave("a reference cannot be read");
	end_honestly(fd, &r);
}

static void
log_shrinks(void)
{
	(void)start_honestly();
	job_say(JOBC_LOG, 1000, NULL, 0);
	job_await(JOBC_LOGACK);
	job_say(JOBC_LOG, 10, NULL, 0);
	wait_end(job);
}

static void
log_flood(void)
{
	struct job_msg m;
	unsigned long i;
	ssize_t n;

	(void)start_honestly();
	say("floods");
	memset(&m, 0, sizeof(m));
	m.op = JOBC_LOG;
	for (i = 1; i <= FLOOD; i++) {
		m.u.log_bytes = i;
		n = job_msg_pack(&m, buf, sizeof(buf));
		if (tell(job, buf, (size_t)n, NULL, 0) == -1)
			break;
	}
	say("sent %lu", i);
	wait_end(job);
}

static void
job_garbage(void)
{
	static const uint8_t good[] = { 0 };

	job_hello();
	(void)send_garbage(job, with, good, 0);
	wait_end(job);
}

static void
job_version(void)
{
	job_say(JOBC_HELLO, CHANNEL_VERSION + 1, NULL, 0);
	wait_end(job);
}

static void
job_hello_twice(void)
{
	job_hello();
	job_hello();
	wait_end(job);
}

/* What only errandd may say. */
static void
job_sup(void)
{
	static const struct { const char *name; uint8_t op; } ops[] = {
		{ "MAPPED", JOBC_MAPPED }, { "PLACED", JOBC_PLACED },
		{ "GO", JOBC_GO }, { "LOGACK", JOBC_LOGACK },
		{ "SIGNAL", JOBC_SIGNAL }, { "RUN", JOBC_RUN }
	};
	size_t i;

	job_hello();
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strcmp(ops[i].name, with) == 0)
			job_say(ops[i].op, 0, NULL, 0);
	wait_end(job);
}

static void
job_truncated(void)
{
	int fds[FDS_MAX];
	size_t i;

	for (i = 0; i < FDS_MAX; i++)
		fds[i] = bad_fds[BAD_NULL];
	job_hello();
	job_say(JOBC_MAP, 0, fds, FDS_MAX);
	wait_end(job);
}

static void
job_leaves(void)
{
	leave("leaves");
}

/* Says nothing, and stays. */
static void
job_mute(void)
{
	wait_end(job);
}

/*
 * The job's store channel: put and get, for its own tenant.  What comes first,
 * the spec, nobody asked for.
 */
static struct store_msg smsg;

/* The reply to what was asked; 0 at the channel's end. */
static ssize_t
store_hear(struct store_msg *m, int *got, size_t *nfds)
{
	ssize_t n;

	do {
		if ((n = hear(store, buf, sizeof(buf), got, nfds)) == 0)
			return (0);
		if (store_msg_parse(buf, (size_t)n, m) == -1)
			leave("the store sent what cannot be read");
	} while (m->id != smsg.id);
	return (n);
}

static void
store_ask(const char *about, const int *fds, size_t nfds)
{
	struct store_msg m;
	int got[FDS_MAX];
	ssize_t n;

	smsg.id = STORE_FIRST_ID + 1;
	if ((n = store_msg_pack(&smsg, buf, sizeof(buf))) == -1)
		leave("a message for the store could not be packed");
	(void)tell(store, buf, (size_t)n, fds, nfds);
	if (store_hear(&m, got, &nfds) == 0) {
		say("%s: the store closed the channel", about);
		return;
	}
	if (m.op == STORE_ERROR)
		say("%s: ERROR %s", about, err_code_name(m.u.error.code));
	else
		say("%s: OK, %u objects, %zu descriptors", about,
		    m.u.ok.objects, nfds);
}

static void
store_get(void)
{
	uint8_t enc[OBJ_REF_LEN] = { OBJ_TREE };
	int fd;

	if (obj_id_parse(with, enc + 1) == -1)
		leave("a reference cannot be read");
	fd = memfd_make("refs", enc, sizeof(enc));
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = STORE_GET;
	smsg.u.get.refs = 1;
	store_ask("GET", &fd, 1);
}

static void
store_jobs(void)
{
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = STORE_JOB_LIST;
	smsg.u.list.limit = 10;
	store_ask("JOB_LIST", NULL, 0);
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = STORE_RECEIPT_GET;
	snprintf(smsg.u.job.job, sizeof(smsg.u.job.job), "%s", with);
	store_ask("RECEIPT_GET", NULL, 0);
}

static void
store_put(void)
{
	uint8_t rec[OBJREC_HEAD + 8];
	struct objrec r = { .raw_len = 8, .len = 8 };
	int fd;

	r.ref.kind = OBJ_CHUNK;
	memset(r.ref.id, 0x5a, sizeof(r.ref.id));
	objrec_encode(&r, rec);
	memcpy(rec + OBJREC_HEAD, "8 bytes.", 8);
	fd = strcmp(with, "lying") == 0 ? memfd_make("put", rec, sizeof(rec)) :
	    bad_fd(with);
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = STORE_PUT;
	smsg.u.put.objects = 1;
	store_ask(with, &fd, 1);
}

static void
store_head(void)
{
	memset(&smsg, 0, sizeof(smsg));
	smsg.op = STORE_HEAD;
	store_ask("HEAD", NULL, 0);
}

/* Sandboxes that wait for a job, or say so. */

static int
ready_honestly(void)
{
	int fd = map_honestly();

	job_say(JOBC_PLACE, 0, &fd, 1);
	job_await(JOBC_PLACED);
	job_say(JOBC_READY, 0, NULL, 0);
	return (fd);
}

/* Is ready, hears of its job and says no more. */
static void
idle_mute(void)
{
	(void)ready_honestly();
	wait_end(job);
}

static void
idle_started(void)
{
	(void)ready_honestly();
	job_say(JOBC_STARTED, 1, NULL, 0);
	wait_end(job);
}

static void
idle_log(void)
{
	(void)ready_honestly();
	job_say(JOBC_LOG, 1000, NULL, 0);
	wait_end(job);
}

static void
idle_ended(void)
{
	(void)ready_honestly();
	job_say(JOBC_ENDED, 0, NULL, 0);
	wait_end(job);
}

static void
idle_result(void)
{
	struct job_result r = { .ran = 1, .exit_code = 7 };

	(void)ready_honestly();
	job_result(&r);
	wait_end(job);
}

static void
idle_fails(void)
{
	struct job_result r = { .err = { .code = ERR_SANDBOX,
	    .text = "it plays that it failed" } };

	(void)ready_honestly();
	job_result(&r);
	wait_end(job);
}

static void
idle_garbage(void)
{
	static const uint8_t good[] = { 0 };

	(void)ready_honestly();
	(void)send_garbage(job, with, good, 0);
	wait_end(job);
}

static void
idle_leaves(void)
{
	(void)ready_honestly();
	leave("leaves");
}

static const struct {
	const char *name;
	void (*play)(void);
} plays[] = {
	{ "idle-started", idle_started }, { "idle-log", idle_log },
	{ "idle-ended", idle_ended }, { "idle-result", idle_result },
	{ "idle-fails", idle_fails }, { "idle-garbage", idle_garbage },
	{ "idle-leaves", idle_leaves }, { "idle-mute", idle_mute },
	{ "calm", calm },
	{ "map-pid", map_pid }, { "map-self", map_self },
	{ "map-kind", map_kind }, { "map-proc", map_proc },
	{ "map-dead", map_dead }, { "map-deep", map_deep },
	{ "map-none", map_none }, { "map-two", map_two },
	{ "map-twice", map_twice },
	{ "place-pid", place_pid }, { "place-other", place_other },
	{ "place-self", place_self }, { "place-kind", place_kind },
	{ "not-joined", not_joined },
	{ "place-early", place_early },
	{ "started-early", started_early },
	{ "started-unready", started_unready },
	{ "ready-early", ready_early }, { "ready-twice", ready_twice },
	{ "started-twice", started_twice },
	{ "result-early", result_early }, { "result-twice", result_twice },
	{ "result-absurd", result_absurd }, { "result-huge", result_huge },
	{ "result-foreign", result_foreign },
	{ "ended-twice", ended_twice }, { "ended-lie", ended_lie },
	{ "log-shrinks", log_shrinks }, { "log-flood", log_flood },
	{ "garbage", job_garbage }, { "version", job_version },
	{ "hello-twice", job_hello_twice }, { "say", job_sup },
	{ "truncated", job_truncated }, { "leaves", job_leaves },
	{ "mute", job_mute },
	{ "store-get", store_get }, { "store-jobs", store_jobs },
	{ "store-put", store_put }, { "store-head", store_head },
};

static void
keeper(const char *name)
{
	static char what[256];
	size_t i;

	snprintf(what, sizeof(what), "%s", name);
	scene.word[0] = what;           /* its lines name the play */
	if (strncmp(what, "idle", 4) != 0)
		job_take();
	with = strchr(what, '=') == NULL ? "" : strchr(what, '=') + 1;
	what[strcspn(what, "=")] = '\0';
	for (i = 0; i < sizeof(plays) / sizeof(plays[0]); i++)
		if (strcmp(plays[i].name, what) == 0) {
			plays[i].play();
			leave("done");
		}
	leave("there is no such play");
}

static void
keeper_gone(const char *id, int status)
{
	struct exec_msg m;
	ssize_t n;

	memset(&m, 0, sizeof(m));
	m.op = EXEC_GONE;
	snprintf(m.u.gone.sandbox, sizeof(m.u.gone.sandbox), "%s", id);
	m.u.gone.status = status;
	if ((n = exec_msg_pack(&m, buf, sizeof(buf))) != -1)
		(void)tell(CHAN_FD, buf, (size_t)n, NULL, 0);
}

#define KEEPERS 128
static struct { pid_t pid; char id[JOB_ID_LEN + 1]; } kept[KEEPERS];

static void
reap(void)
{
	size_t i;
	int status;

	for (i = 0; i < KEEPERS; i++)
		if (kept[i].pid > 0 &&
		    waitpid(kept[i].pid, &status, WNOHANG) > 0) {
			keeper_gone(kept[i].id, status);
			kept[i].pid = 0;
		}
}

static void
run(size_t nth, const struct exec_msg *m, int *fds, size_t nfds)
{
	size_t i;

	for (i = 0; i < KEEPERS - 1 && kept[i].pid > 0; i++)
		continue;
	memcpy(kept[i].id, m->u.prepare.sandbox, sizeof(kept[i].id));
	if ((kept[i].pid = fork()) == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(CHAN_FD);
		job = fds[0];
		bad_fds[BAD_OWN] = job;
		keeper(arg(nth < scene.n ? nth : scene.n - 1));
	}
	for (i = 0; i < nfds; i++)
		close(fds[i]);
}

static void
keepers(void)
{
	struct pollfd p = { .fd = CHAN_FD, .events = POLLIN };
	static struct exec_msg m;
	int fds[FDS_MAX];
	size_t nfds, nth = 1;
	ssize_t n;

	hello();
	for (;;) {
		if (poll(&p, 1, 50) > 0) {
			n = hear(CHAN_FD, buf, sizeof(buf), fds, &nfds);
			if (n == 0)
				leave("the channel was closed");
			if (exec_msg_parse(buf, (size_t)n, &m) == 0)
				run(nth++, &m, fds, nfds);
		}
		reap();
	}
}

static const struct {
	const char *name;
	void (*play)(void);
} scenes[] = {
	{ "no-hello", no_hello }, { "wrong-version", wrong_version },
	{ "hello-twice", hello_twice }, { "hello-fd", hello_fd },
	{ "early", early }, { "garbage", garbage }, { "say-run", say_run },
	{ "gone-unknown", gone_unknown }, { "gone-flood", gone_flood },
	{ "try", try_it }, { "keepers", keepers },
};

/*
 * In a chroot nobody can make a user namespace.  The real worker leaves it for
 * the root it makes; this one makes the chroot the root of a mount namespace
 * of its own, so that all paths stay what they are.
 */
static void
chroot_leave(void)
{
	char path[4096];
	int root, ns;

	if (unshare(CLONE_NEWNS) == -1 ||
	    (root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1 ||
	    (ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) == -1 ||
	    setns(ns, CLONE_NEWNS) == -1 || fchdir(root) == -1 ||
	    syscall(SYS_getcwd, path, sizeof(path)) == -1)
		fatal("leave the chroot");
	close(root);
	close(ns);
	if (strcmp(path, "/") == 0)
		return;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount(path, path, NULL, MS_BIND | MS_REC, NULL) == -1 ||
	    chdir(path) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		fatal("make the chroot a root");
}

int
main(int argc, char **argv)
{
	static struct exec_filters filters;
	struct options o;
	size_t i;

	stand_in_begin("exec", argc, argv, &o);
	snprintf(end_path, sizeof(end_path), "%.4000s.end", argv[0]);
	try_pid = getppid();
	bad_fds_make();
	if (geteuid() == 0)
		chroot_leave();
	if (sandbox_drop(o.uid, o.gid) == -1)
		fatal("become user %u", o.uid);
	exec_fence(&filters);
	for (i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (scene_is(scenes[i].name)) {
			scenes[i].play();
			wait_end(CHAN_FD);
		}
	leave("there is no such scenario");
}
