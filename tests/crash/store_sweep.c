/*
 * A death, or an error, at every single system call of a short play that is
 * about durability; or a death at named points.  After each the store is
 * started again and looked through.  Works in a directory that it is given;
 * as root it mounts a tmpfs there, for itself alone.
 *
 *	store_sweep [-s seed] [-e] -l log directory MODE [CALL...]
 *	store_sweep [-s seed] -l log directory point NAME...
 *	store_sweep [-s seed] -l log directory inodes
 *	store_sweep [-s seed] -l log directory nomem RUNS
 *
 * MODE: kill, EIO, ENOSPC; lose: killed, and what was made or renamed in a
 * directory that was not flushed afterwards is gone.  The store has something
 * in it already; -e: it is empty, and is made.
 *
 * Exit status: 0 all held, 1 something was lost or half there, 2 trouble.
 */
#include <sys/mount.h>

#include <getopt.h>
#include <sched.h>

#include "alone.h"
#include "lib/crash.h"
#include "lose.h"
#include "scene.h"

#define DIED            113     /* at a crash point: lib/crash.c */
#define NO_MEMORY       "no memory for this one"
#define NOMEM_ALL       40      /* of the first allocations, each */
#define NOMEM_EVER      1000000000UL
#define TIMES_MAX       2000

static const char *const all_calls[] = {
	"openat", "mkdir", "mkdirat", "unlinkat", "rename", "renameat",
	"renameat2", "pwrite64", "pwritev", "write", "writev", "ftruncate",
	"fsync", "fdatasync", NULL
};

/* What the play begins with; and with a new index made of the packs. */
enum base { BASE_TAIL, BASE_BEGUN, BASE_EMPTY, BASE_REBUILD, BASES };

struct sweep {
	const char *dir;
	const char *mode;
	char words[400];        /* of ERRAND_CRASH */
	char trace[400];        /* what strace saw */
	int empty;
	int nomem;              /* some allocations fail, and then no more */
	enum base kind;
	struct world base;      /* what the directory base holds */
	struct world w;
	struct load l;
	unsigned int runs;
	unsigned int hits;
	unsigned int lost;      /* names */
};

__attribute__((format(printf, 1, 2)))
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

/* ERRAND_CRASH as it was given, and a point. */
static void
point_set(struct sweep *s, const char *name, int n)
{
	char env[500];

	(void)snprintf(env, sizeof(env), "%s point=%s:%d", s->words, name, n);
	assert_int_equal(setenv("ERRAND_CRASH", env, 1), 0);
}

/* Killed with objects in the pack, acknowledged, and nothing more asked. */
static void
base_tail(struct sweep *s)
{
	struct load *l = &s->l;
	struct tenant *tn;
	int t;

	for (t = 0; t < TENANTS; t++) {
		tn = &s->base.tenants[t];
		tn->jobs[tn->n].dropped = 1;
		ask_put(l, t, tn->n++, 0);
	}
	l->over = 1;
	while (load_open(l) > 0)
		load_pump(l, io_mono_us() + 200);
	assert_int_equal(scene_end(l, SIGKILL), 1000 + SIGKILL);
}

/* Died when the next pack was begun, and nothing names it yet. */
static void
base_begun(struct sweep *s)
{
	struct load *l = &s->l;

	assert_int_equal(scene_end(l, 0), 0);
	point_set(s, "pack-dir-synced", 1);
	assert_int_equal(scene_start(l), 0);
	l->lame = 1;
	while (!l->over)
		scene_play(l);
	assert_int_equal(scene_end(l, 0), DIED);
	assert_int_equal(setenv("ERRAND_CRASH", s->words, 1), 0);
	/* What came to be of the last requests is seen in a copy. */
	run("cp -a '%s/base' '%s/copy'", s->dir, s->dir);
	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/copy", s->dir);
	assert_int_equal(scene_start(l), 0);
	verify(l, 1);
	(void)scene_end(l, SIGKILL);
	run("rm -r '%s/copy'", s->dir);
}

static void
make_base(struct sweep *s, enum base kind)
{
	struct load *l = &s->l;

	world_done(&s->base);
	world_init(&s->base, rig.seed);
	s->kind = kind;
	run("rm -rf '%s/base'", s->dir);
	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/base", s->dir);
	assert_int_equal(mkdir(l->d.dir, 0700), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(l->d.dir, DRV_UID, DRV_UID), 0);
	if (kind == BASE_EMPTY)
		return;
	l->w = &s->base;
	if (scene_start(l) == -1)
		rig_trouble("the store does not start");
	scene_play(l);
	if (kind == BASE_BEGUN)
		base_begun(s);
	else
		base_tail(s);
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
	struct stat sb;
	int status;

	assert_int_equal(stat(l->d.log, &sb), 0);
	if (scene_start(l) == -1)
		rig_broken("the store does not open again");
	verify_log(l, sb.st_size);
	verify(l, 1);
	scene_works(l);
	if ((status = scene_end(l, 0)) != 0)
		rig_broken("the store ends with %d", status);
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

/* Play with whatever the environment says.  The status it ended with. */
static int
play(struct sweep *s)
{
	struct load *l = &s->l;
	int rc;

	l->w = &s->w;
	run("rm -rf '%s/store'; cp -a '%s/base' '%s/store'; : >'%s'", s->dir,
	    s->dir, s->dir, l->d.log);
	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/store", s->dir);
	world_copy(&s->w, &s->base);
	s->runs++;
	l->d.rebuild = s->kind == BASE_REBUILD;
	rc = scene_start(l);
	l->d.rebuild = 0;
	if (rc == -1)
		return (scene_end(l, 0));
	l->lame = 1;
	scene_play(l);
	/* One error is over when it is over. */
	if (!l->over && (file_has(s->trace, "(INJECTED)") ||
	    (s->nomem && file_has(l->d.log, NO_MEMORY))))
		scene_works(l);
	return (scene_end(l, 0));
}

/* One call, the ${n}-th time: did it come to that? */
static int
strike(struct sweep *s, const char *call, int n)
{
	int lose = strcmp(s->mode, "lose") == 0, status, hit;
	int killed = lose || strcmp(s->mode, "kill") == 0;
	char what[64], env[800];

	(void)unlink(s->trace);
	(void)snprintf(what, sizeof(what), killed ? "signal=SIGKILL" :
	    "error=%s", s->mode);
	/*
	 * An error is put in the place of a call that is made void first; the
	 * store's own filter must not see that, so it comes from a filter.
	 */
	(void)snprintf(env, sizeof(env), "strace -D %s -qq -o %s -e trace=%s%s "
	    "-e inject=%s:%s:when=%d", !killed ? "-f --seccomp-bpf" :
	    lose ? "-y -s 4096" : "", s->trace, lose ? LOSE_CALLS : "", call,
	    call, what, n);
	assert_int_equal(setenv("ERRAND_TRACE", env, 1), 0);
	rig.round = s->runs;
	status = play(s);
	(void)unsetenv("ERRAND_TRACE");
	hit = killed ? status == 1000 + SIGKILL :
	    file_has(s->trace, "(INJECTED)");
	judge_end(s, status, killed);
	if (lose)
		s->lost += lose_names(s->trace, s->l.d.dir, s->dir);
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

/* Die at a point whenever the play comes to it.  How often that was. */
static int
sweep_point(struct sweep *s, const char *name)
{
	int n, status;

	for (n = 1; n < TIMES_MAX; n++) {
		point_set(s, name, n);
		rig.round = s->runs;
		status = play(s);
		assert_int_equal(setenv("ERRAND_CRASH", s->words, 1), 0);
		judge_end(s, status, 0);
		look(s);
		if (status != DIED)
			break;
		s->hits++;
	}
	return (n - 1);
}

/* Every point is reached from one beginning or another. */
static void
sweep_points(struct sweep *s, char *const *names, int count)
{
	int *reached, i, kind;

	assert_non_null(reached = calloc((size_t)count + 1, sizeof(int)));
	for (kind = 0; kind < BASES; kind++) {
		make_base(s, (enum base)kind);
		for (i = 0; i < count; i++) {
			if (reached[i] == 0)
				reached[i] = sweep_point(s, names[i]);
		}
	}
	for (i = 0; i < count; i++) {
		(void)printf("# point %s %d\n", names[i], reached[i]);
		if (reached[i] == 0)
			rig_trouble("point %s is never reached", names[i]);
	}
	free(reached);
}

/*
 * Allocation ${n} fails, and others after it: ${many} in all.  Did it come to
 * that?
 */
static int
strike_nomem(struct sweep *s, unsigned long n, unsigned long many)
{
	char env[500];
	int status, hit;

	(void)snprintf(env, sizeof(env), "%s nomem=%lu:%lu", s->words, n,
	    many);
	assert_int_equal(setenv("ERRAND_CRASH", env, 1), 0);
	rig.round = n;
	s->nomem = many < NOMEM_EVER;
	status = play(s);
	s->nomem = 0;
	assert_int_equal(setenv("ERRAND_CRASH", s->words, 1), 0);
	hit = file_has(s->l.d.log, NO_MEMORY);
	judge_end(s, status, 0);
	look(s);
	s->hits += (unsigned int)hit;
	return (hit);
}

/*
 * One allocation that fails, three of them, or all from some place on: each
 * place of the opening, then as many as there is time for.
 */
static void
sweep_nomem(struct sweep *s, unsigned long runs)
{
	static const unsigned long many[] = { 1, 1, 3, NOMEM_EVER };
	unsigned long n, most = 2 * NOMEM_ALL, i;

	for (n = 1; n <= NOMEM_ALL; n++)
		(void)strike_nomem(s, n, many[n % 4]);
	while (strike_nomem(s, most, 1))
		most *= 2;
	for (i = 0; i < runs; i++)
		(void)strike_nomem(s, NOMEM_ALL + 1 +
		    rig_random((uint32_t)most), many[i % 4]);
}

/*
 * No inode is left for another pack: what needs one is refused, what does not
 * goes on, and when there are inodes again nothing has to be done.
 */
static void
no_inodes(struct sweep *s)
{
	struct load *l = &s->l;
	uint64_t refused = 0;
	char path[300];
	int i, status, fd = 0;

	run("cp -a '%s/base' '%s/store'; mkdir '%s/fill'", s->dir, s->dir,
	    s->dir);
	(void)snprintf(l->d.dir, sizeof(l->d.dir), "%s/store", s->dir);
	world_copy(&s->w, &s->base);
	l->w = &s->w;
	assert_int_equal(scene_start(l), 0);
	for (i = 0; fd != -1; i++) {
		(void)snprintf(path, sizeof(path), "%s/fill/%d", s->dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd != -1)
			close(fd);
	}
	l->lame = 1;
	for (i = 0; i < 6 && !l->over; i++) {
		scene_ask(l, INGEST, 2);
		scene_ask(l, SETTLE, 1);
	}
	if (l->over)
		rig_broken("the store ended for want of inodes");
	refused = l->refused;
	if (refused == 0)
		rig_trouble("no want of inodes");
	run("rm -r '%s/fill'", s->dir);
	scene_works(l);
	if ((status = scene_end(l, 0)) != 0)
		rig_broken("the store ends with %d", status);
	look(s);
	(void)printf("# %llu requests refused\n",
	    (unsigned long long)refused);
}

static void
options(struct sweep *s, int argc, char **argv)
{
	const char *words = getenv("ERRAND_CRASH");
	uint64_t seed = 1;
	int c;

	(void)snprintf(s->words, sizeof(s->words), "%s",
	    words != NULL ? words : "");
	while ((c = getopt(argc, argv, "es:l:")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'l')
			rig.log = optarg;
		else if (c == 'e')
			s->empty = 1;
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
	if (mounts_alone() == -1 ||
	    mount("tmpfs", s->dir, "tmpfs", 0, strcmp(s->mode, "inodes") == 0 ?
	    "mode=711,nr_inodes=200" : "mode=711") == -1)
		rig_trouble("a tmpfs: %s", strerror(errno));
}

int
main(int argc, char **argv)
{
	static struct sweep s;
	const char *const *calls;

	options(&s, argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	make_tmpfs(&s);
	world_init(&s.base, rig.seed);
	world_init(&s.w, rig.seed);
	if (strcmp(s.mode, "inodes") == 0) {
		make_base(&s, BASE_TAIL);
		no_inodes(&s);
	} else if (strcmp(s.mode, "nomem") == 0) {
		make_base(&s, BASE_TAIL);
		sweep_nomem(&s, argv[optind + 2] == NULL ? 100 :
		    strtoul(argv[optind + 2], NULL, 10));
	} else if (strcmp(s.mode, "point") == 0)
		sweep_points(&s, argv + optind + 2, argc - optind - 2);
	else {
		make_base(&s, s.empty ? BASE_EMPTY : BASE_TAIL);
		calls = (const char *const *)argv + optind + 2;
		sweep_calls(&s, *calls != NULL ? calls : all_calls);
	}
	(void)printf("# %s: %u runs, %u hits, %u names lost\n", s.mode,
	    s.runs, s.hits, s.lost);
	world_done(&s.base);
	world_done(&s.w);
	return (RIG_HELD);
}
