/*
 * A death, or an error, at every single system call of a short play that is
 * about durability; or a death at named points.  After each the store is
 * started again and looked through.  Works in a directory that it is given;
 * as root it mounts a tmpfs there, for itself alone.
 *
 *	store_sweep [-s seed] -l log directory kill|EIO|ENOSPC [CALL...]
 *	store_sweep [-s seed] -l log directory point NAME...
 *
 * Exit status: 0 all held, 1 something was lost or half there, 2 trouble.
 */
#include <sys/mount.h>

#include <getopt.h>
#include <sched.h>

#include "lib/crash.h"
#include "scene.h"

#define DIED            113     /* at a crash point: lib/crash.c */
#define TIMES_MAX       2000

static const char *const all_calls[] = {
	"openat", "mkdir", "mkdirat", "unlinkat", "rename", "renameat",
	"renameat2", "pwrite64", "pwritev", "write", "writev", "ftruncate",
	"fsync", "fdatasync", NULL
};

struct sweep {
	const char *dir;
	const char *mode;
	char trace[400];        /* what strace saw */
	struct world base;      /* what the directories base-* hold */
	struct world w;
	struct load l;
	unsigned int runs;
	unsigned int hits;
};

static void
run(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	(void)fflush(stdout);
	if (system(cmd) != 0)
		rig_trouble("%s", cmd);
}

static void
world_copy(struct world *to, const struct world *from)
{
	struct tenant *a;
	const struct tenant *b;
	struct job *jobs;
	uint32_t *settled;
	int t;

	to->seed = from->seed;
	for (t = 0; t < TENANTS; t++) {
		a = &to->tenants[t];
		b = &from->tenants[t];
		jobs = a->jobs;
		settled = a->settled;
		*a = *b;
		a->jobs = jobs;
		a->settled = settled;
		memcpy(jobs, b->jobs, JOBS_MAX * sizeof(*jobs));
		memcpy(settled, b->settled, JOBS_MAX * sizeof(*settled));
	}
}

/* A store with something in it, that was killed with something half done. */
static void
make_base(struct sweep *s)
{
	struct load *l = &s->l;
	int t;

	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/base", s->dir);
	assert_int_equal(mkdir(l->d.dir, 0700), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(l->d.dir, DRV_UID, DRV_UID), 0);
	l->w = &s->base;
	if (scene_start(l) == -1)
		rig_trouble("the store does not start");
	scene_play(l);
	/* Objects are acknowledged, and nothing more is asked. */
	for (t = 0; t < TENANTS; t++) {
		s->base.tenants[t].jobs[s->base.tenants[t].n].dropped = 1;
		ask_put(l, t, s->base.tenants[t].n++, 0);
	}
	l->over = 1;
	while (load_open(l) > 0)
		load_pump(l, io_mono_us() + 200);
	assert_int_equal(scene_end(l, SIGKILL), 1000 + SIGKILL);
	l->w = &s->w;
}

/* Nothing but the trouble itself may have ended it. */
static void
judge_end(struct sweep *s, int status, int killed)
{
	if (status == 0 || status == 111 || (status == 127 && !killed) ||
	    (killed && status == 1000 + SIGKILL) || (status == DIED))
		return;
	rig_broken("%s: the store ended with %d", s->mode, status);
}

/* Opened again by itself, with everything in it, and in working order. */
static void
look(struct sweep *s)
{
	struct load *l = &s->l;
	int status;

	if (scene_start(l) == -1)
		rig_broken("the store does not open again");
	verify(l, 1);
	scene_works(l);
	if ((status = scene_end(l, 0)) != 0)
		rig_broken("the store ends with %d", status);
}

/* Play with whatever the environment says.  The status it ended with. */
static int
play(struct sweep *s)
{
	struct load *l = &s->l;

	run("rm -rf '%s/store'; cp -a '%s/base' '%s/store'; : >'%s'", s->dir,
	    s->dir, s->dir, l->d.log);
	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/store", s->dir);
	world_copy(&s->w, &s->base);
	s->runs++;
	if (scene_start(l) == -1)
		return (scene_end(l, 0));
	l->lame = 1;
	scene_play(l);
	return (scene_end(l, 0));
}

static int
file_has(const char *path, const char *text)
{
	uint8_t *buf;
	size_t len;
	int found;

	if (io_file_read(AT_FDCWD, path, 1 << 26, &buf, &len) == -1)
		return (0);
	found = memmem(buf, len, text, strlen(text)) != NULL;
	free(buf);
	return (found);
}

/* One call, the ${n}-th time: did it come to that? */
static int
strike(struct sweep *s, const char *call, int n)
{
	int killed = strcmp(s->mode, "kill") == 0, status, hit;
	char what[64], env[800];

	(void)snprintf(what, sizeof(what), killed ? "signal=SIGKILL" :
	    "error=%s", s->mode);
	(void)snprintf(env, sizeof(env), "strace -D -f --seccomp-bpf -qq -o %s -e trace=%s "
	    "-e inject=%s:%s:when=%d", s->trace, call, call, what, n);
	assert_int_equal(setenv("ERRAND_TRACE", env, 1), 0);
	rig.round = s->runs;
	status = play(s);
	(void)unsetenv("ERRAND_TRACE");
	hit = killed ? status == 1000 + SIGKILL :
	    file_has(s->trace, "(INJECTED)");
	judge_end(s, status, killed);
	look(s);
	return (hit);
}

static void
sweep_calls(struct sweep *s, const char *const *calls)
{
	int n;

	for (; *calls != NULL; calls++) {
		for (n = 1; n < TIMES_MAX && strike(s, *calls, n); n++)
			s->hits++;
		(void)printf("# %s: %s %d\n", s->mode, *calls, n - 1);
		(void)fflush(stdout);
	}
}

static void
sweep_point(struct sweep *s, const char *name)
{
	const char *words = getenv("ERRAND_CRASH");
	char was[400], env[500];
	int n, status;

	(void)snprintf(was, sizeof(was), "%s", words != NULL ? words : "");
	for (n = 1; n < TIMES_MAX; n++) {
		(void)snprintf(env, sizeof(env), "%s point=%s:%d", was, name,
		    n);
		assert_int_equal(setenv("ERRAND_CRASH", env, 1), 0);
		rig.round = s->runs;
		status = play(s);
		assert_int_equal(setenv("ERRAND_CRASH", was, 1), 0);
		judge_end(s, status, 0);
		look(s);
		if (status != DIED)
			break;
		s->hits++;
	}
	(void)printf("# point %s %d\n", name, n - 1);
	(void)fflush(stdout);
	if (n == 1)
		rig_trouble("point %s is never reached", name);
}

static void
options(struct sweep *s, int argc, char **argv)
{
	uint64_t seed = 1;
	int c;

	while ((c = getopt(argc, argv, "s:l:")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'l')
			rig.log = optarg;
		else
			exit(RIG_TROUBLE);
	}
	if (argc - optind < 2 || rig.log == NULL)
		exit(RIG_TROUBLE);
	s->dir = argv[optind];
	s->mode = argv[optind + 1];
	(void)snprintf(s->trace, sizeof(s->trace), "%s.trace", rig.log);
	(void)snprintf(s->l.d.log, sizeof(s->l.d.log), "%s", rig.log);
	s->l.d.fd = -1;
	rig_seed(seed);
}

/* Nothing here is about a disk: copies and flushes shall cost nothing. */
static void
make_tmpfs(const struct sweep *s)
{
	if (geteuid() != 0)
		return;
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tmpfs", s->dir, "tmpfs", 0, "mode=711") == -1)
		rig_trouble("a tmpfs: %s", strerror(errno));
}

int
main(int argc, char **argv)
{
	static struct sweep s;
	const char *const *calls;
	int i;

	options(&s, argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	make_tmpfs(&s);
	world_init(&s.base, rig.seed);
	world_init(&s.w, rig.seed);
	make_base(&s);
	if (strcmp(s.mode, "point") == 0) {
		for (i = optind + 2; i < argc; i++)
			sweep_point(&s, argv[i]);
	} else {
		calls = (const char *const *)argv + optind + 2;
		sweep_calls(&s, *calls != NULL ? calls : all_calls);
	}
	(void)printf("# %s: %u runs, %u hits\n", s.mode, s.runs, s.hits);
	world_done(&s.base);
	world_done(&s.w);
	return (RIG_HELD);
}
