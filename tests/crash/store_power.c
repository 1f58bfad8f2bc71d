/*
 * Power loss: a store on a file system that is shut down at a random moment of
 * a load, without its journal or its caches being written; then mounted again
 * and looked through.  Mounts and unmounts the device it is given; needs root.
 *
 *	store_power [-n rounds] [-h hits] [-s seed] [-a point] -l log ext4|xfs
 *	    device dir
 *
 * At least so many rounds, and at least so many cuts in each kind of work; with
 * -a, all of them when the store is at that point of rewriting a pack.
 * Exit status: 0 all held, 1 something was lost or half there, 2 trouble.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>

#include <getopt.h>
#include <sched.h>

#include "alone.h"
#include "verify.h"

/* From linux/fs.h of newer kernels, and xfs_fs.h: the same for both. */
#define IOC_SHUTDOWN    _IOR('X', 125, uint32_t)
#define GOING_NOLOGFLUSH        2

#define FULL_EACH       100     /* rounds */

struct power {
	const char *fs;
	const char *device;
	const char *dir;
	const char *point;      /* where it is to be cut off, or NULL */
	uint64_t rounds;        /* at least */
	uint64_t least;         /* hits that each phase must have */
	int mountfd;            /* open while it is mounted */
	uint64_t hits[PHASES];
	struct load l;
	struct world w;
};

/*
 * Nobody else may come to have the mount: a file system is shut down for as
 * long as it is mounted anywhere.
 */
static void
fs_alone(void)
{
	if (mounts_alone() == -1)
		rig_trouble("mounts of its own: %s", strerror(errno));
}

static void
fs_mount(struct power *p)
{
	if (mount(p->device, p->dir, p->fs, 0,
	    strcmp(p->fs, "ext4") == 0 ? "commit=300" : NULL) == -1)
		rig_trouble("mount %s: %s", p->device, strerror(errno));
	p->mountfd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->mountfd != -1);
}

static void
fs_umount(struct power *p)
{
	int i;

	io_close(&p->mountfd);
	/* The dead process may not be quite gone yet. */
	for (i = 0; i < 1000; i++) {
		if (umount2(p->dir, 0) == 0)
			return;
		(void)usleep(1000);
	}
	rig_trouble("umount %s: %s", p->dir, strerror(errno));
}

static void
fs_cut(struct power *p)
{
	uint32_t how = GOING_NOLOGFLUSH;

	if (ioctl(p->mountfd, IOC_SHUTDOWN, &how) == -1)
		rig_trouble("shutdown: %s", strerror(errno));
}

static void
store_up(struct power *p)
{
	/* Only what this one says is of interest. */
	if (truncate(p->l.d.log, 0) == -1 && errno != ENOENT)
		rig_trouble("%s: %s", p->l.d.log, strerror(errno));
	if (drv_start(&p->l.d) == -1 || load_bind(&p->l) == -1)
		rig_broken("the store does not open again");
	verify_log(&p->l, 0);
}

/* Load of all kinds for a while, with a few requests under way. */
static void
warm_up(struct power *p)
{
	uint64_t end = io_mono_us() + rig_random(15000);
	size_t deep = 1 + rig_random(12);

	while (io_mono_us() < end) {
		while (load_open(&p->l) < deep) {
			size_t open = load_open(&p->l);

			load_mixed(&p->l);
			if (load_open(&p->l) == open)
				break;
		}
		load_pump(&p->l, io_mono_us() + 300);
	}
}

static const enum store_op phase_op[PHASES] = {
	[INGEST] = STORE_PUT,
	[PUBLISH] = STORE_PUBLISH,
	[SETTLE] = STORE_SETTLE,
};

/*
 * Is it collecting, or rewriting a pack?  It says in its log which points it
 * passes (trace=).
 */
static int
busy(struct power *p, enum phase phase)
{
	const char *begin = phase == COLLECT ? "\nat gc-" : "\nat rewrite-";
	const char *end = phase == COLLECT ? "\nat gc-over" :
	    "\nat rewrite-removed";
	const char *at, *last = NULL;
	uint8_t *buf;
	size_t len;

	assert_int_equal(io_file_read(AT_FDCWD, p->l.d.log, 1 << 26, &buf,
	    &len), 0);
	for (at = (char *)buf; (at = strstr(at, begin)) != NULL; at++)
		last = at;
	len = last != NULL && strncmp(last, end, strlen(end)) != 0;
	if (len && p->point != NULL)
		len = strncmp(last + strlen("\nat "), p->point,
		    strlen(p->point)) == 0;
	free(buf);
	return ((int)len);
}

static int
under_way(struct power *p, enum phase phase)
{
	if (phase >= COLLECT)
		return (busy(p, phase));
	return (p->l.open[phase_op[phase]] > 0);
}

/* Requests of a kind under way, so that the cut falls on them. */
static void
aim(struct power *p, enum phase phase)
{
	struct load *l = &p->l;
	uint64_t end = io_mono_us() + 2000000;
	int i, n = phase >= COLLECT ? 4 : 1 + (int)rig_random(4);

	for (;;) {
		if (phase < COLLECT)
			load_mixed(l);
		for (i = 0; i < n; i++)
			load_ask(l, phase == PUBLISH && rig_random(2) ?
			    INGEST : phase);
		if (under_way(p, phase) || io_mono_us() >= end)
			break;
		/* One collection after another would never let it rewrite. */
		for (i = 0; i < (phase >= COLLECT ? 500 : 1) &&
		    !under_way(p, phase); i++)
			load_pump(l, io_mono_us() + 200);
	}
}

/* Some time until the aim is usually answered. */
static uint64_t
delay(struct power *p, enum phase phase)
{
	uint64_t usual = p->point != NULL ? 0 : phase >= COLLECT ? 1500 :
	    p->l.usual[phase_op[phase]];

	return (rig_random((uint32_t)(usual + 20)));
}

/* The cut: everything that was answered before it stays answered. */
static void
cut(struct power *p, enum phase phase)
{
	struct load *l = &p->l;

	load_pump(l, io_mono_us() + delay(p, phase));
	fs_cut(p);
	l->lame = 1;
	load_pump(l, 0);
	p->hits[phase] += under_way(p, phase) != 0;
	/* Some time it goes on, and finds out. */
	if (rig_random(3) == 0) {
		load_mixed(l);
		load_pump(l, io_mono_us() + rig_random(3000));
	}
	(void)kill(l->d.pid, SIGKILL);
	l->over = 1;
	while (waitpid(l->d.pid, NULL, 0) == -1 && errno == EINTR)
		;
	l->d.pid = 0;
	load_pump(l, 0);
	io_close(&l->d.fd);
	load_unbind(l);
	load_forget(l);
}

/* Any phase, or the one that was hit least. */
static enum phase
choose(struct power *p)
{
	int phase, least = INGEST;

	if (p->point != NULL)
		return (REWRITE);
	for (phase = 0; phase < PHASES; phase++) {
		if (p->hits[phase] < p->hits[least])
			least = phase;
	}
	phase = (int)rig_random(2 * PHASES);
	return ((enum phase)(phase < PHASES ? phase : least));
}

/* Every phase must be hit some times, if it takes more rounds. */
static int
enough(const struct power *p)
{
	int phase;

	if (rig.round < p->rounds || rig.round >= 10 * p->rounds)
		return (rig.round >= p->rounds);
	for (phase = 0; phase < PHASES; phase++) {
		if (p->hits[phase] < p->least)
			return (0);
	}
	return (1);
}

static void
one_round(struct power *p)
{
	enum phase phase = choose(p);

	fs_mount(p);
	store_up(p);
	verify(&p->l, rig.round % FULL_EACH == 0);
	warm_up(p);
	aim(p, phase);
	cut(p, phase);
	fs_umount(p);
}

static void
last_look(struct power *p)
{
	fs_mount(p);
	store_up(p);
	verify(&p->l, 1);
	load_unbind(&p->l);
	if (drv_wait(&p->l.d) != 0)
		rig_broken("the store does not end well");
	fs_umount(p);
}

/* The directory of the store, on the file system. */
static void
make_store(struct power *p)
{
	struct drv *d = &p->l.d;

	d->fd = -1;
	(void)snprintf(d->dir, sizeof(d->dir), "%s/store", p->dir);
	fs_mount(p);
	assert_true(mkdir(d->dir, 0700) == 0 || errno == EEXIST);
	assert_int_equal(chmod(p->dir, 0711), 0);
	assert_int_equal(chown(d->dir, DRV_UID, DRV_UID), 0);
	fs_umount(p);
}

static void
report(const struct power *p)
{
	uint64_t jobs = 0, chain = 0;
	int i, few = 0;

	for (i = 0; i < TENANTS; i++) {
		jobs += p->w.tenants[i].n;
		chain += p->w.tenants[i].head;
	}
	(void)printf("# %s: %llu rounds, %llu jobs, %llu receipts; cuts:",
	    p->fs, (unsigned long long)rig.round, (unsigned long long)jobs,
	    (unsigned long long)chain);
	for (i = 0; i < PHASES; i++) {
		(void)printf(" %s %llu", phase_names[i],
		    (unsigned long long)p->hits[i]);
		few |= p->hits[i] < p->least;
	}
	(void)printf("\n");
	if (few)
		rig_trouble("too few cuts of a kind");
}

static void
options(struct power *p, int argc, char **argv)
{
	uint64_t seed = io_real_us();
	int c;

	p->rounds = 100;
	while ((c = getopt(argc, argv, "n:h:s:l:a:")) != -1) {
		if (c == 'n')
			p->rounds = strtoull(optarg, NULL, 10);
		else if (c == 'h')
			p->least = strtoull(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'l')
			rig.log = optarg;
		else if (c == 'a')
			p->point = optarg;
		else
			exit(RIG_TROUBLE);
	}
	if (argc - optind != 3 || rig.log == NULL)
		exit(RIG_TROUBLE);
	p->fs = argv[optind];
	p->device = argv[optind + 1];
	p->dir = argv[optind + 2];
	(void)snprintf(p->l.d.log, sizeof(p->l.d.log), "%s", rig.log);
	rig_seed(seed);
}

int
main(int argc, char **argv)
{
	static struct power p;
	char acked[300];

	options(&p, argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(acked, sizeof(acked), "%s.acked", rig.log);
	assert_non_null(rig.acked = fopen(acked, "w"));
	p.mountfd = -1;
	p.l.w = &p.w;
	world_init(&p.w, rig.seed);
	fs_alone();
	make_store(&p);
	for (; !enough(&p); rig.round++)
		one_round(&p);
	last_look(&p);
	report(&p);
	world_done(&p.w);
	(void)fclose(rig.acked);
	return (RIG_HELD);
}
