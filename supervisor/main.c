/*
 * errandd, the supervisor.
 *
 * It is the only process with rights of its own, and the one that never looks
 * at what a client sent.  It accepts connections and hands each to an
 * errand-snapshot process, which serves that one client and ends (listen.c,
 * conn.c, pool.c); it says who the client is (the kernel told it) and gives
 * the worker a channel to errand-store that is bound to that tenant
 * (snap_dispatch.c).  It admits jobs, has them made durable, has errand-exec
 * run them, and has their end and a signed receipt made durable (jobs.c and
 * job_*.c); between, it does for a sandbox what needs root: the uid map, the
 * cgroup, the directory (priv.c, cgroup.c).  Workers that end or break a rule
 * are replaced (child.c).
 *
 * Channels: one to errand-store (store_client.c), one to errand-exec
 * (exec_dispatch.c), one to each errand-snapshot (snap_dispatch.c), one to the
 * keeper of each running job (job_dispatch.c).  All are served by one event
 * loop; nothing blocks in it but small writes to its own files.
 *
 * It does not end because of a worker, a client or a lack of memory: a part
 * that cannot do something refuses it.  Only this file may end the process,
 * and only before it has said that it is ready.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "child.h"
#include "disk_image.h"
#include "config.h"
#include "config_check.h"
#include "conn.h"
#include "exec_dispatch.h"
#include "jobs.h"
#include "keep.h"
#include "lib/io.h"
#include "lib/log.h"
#include "listen.h"
#include "notify.h"
#include "pool.h"
#include "priv.h"
#include "sandbox_pool.h"
#include "sandbox_leave.h"
#include "serve.h"
#include "state.h"
#include "stop.h"
#include "store_client.h"
#include "sup.h"
#include "tenants.h"

#define EXIT_USAGE      2

struct options {
	const char *file;
	int check;              /* -n */
	int foreground;         /* -d */
	int user;               /* --user */
	int level;              /* -l */
};

/* Events that live as long as the process. */
static struct event ev_term, ev_int, ev_hup;
static int ready_fd = -1;       /* the process that started us waits on it */

static void
usage(FILE *f)
{
	fprintf(f, "usage: errandd [-f FILE] [-n] [-d] [-l LEVEL] [--user]\n"
	    "  -f FILE   configuration (default " SYSCONFDIR "/errandd.conf)\n"
	    "  -n        check the configuration and exit\n"
	    "  -d        stay in the foreground, log to stderr\n"
	    "  -l LEVEL  error, warn, info or debug\n"
	    "  --user    rootless: for this user alone\n");
}

static int
level_parse(const char *s)
{
	static const char *const names[] = { "error", "warn", "info",
	    "debug" };
	int i;

	for (i = 0; i < 4; i++)
		if (strcmp(s, names[i]) == 0 ||
		    (s[0] == '0' + i && s[1] == '\0'))
			return (i);
	fprintf(stderr, "errandd: -l %s: write error, warn, info or debug\n",
	    s);
	exit(EXIT_USAGE);
}

static void
options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "user", no_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int ch;

	memset(o, 0, sizeof(*o));
	o->level = LOG_LEVEL_INFO;
	while ((ch = getopt_long(argc, argv, "f:ndl:V", longs, NULL)) != -1)
		switch (ch) {
		case 'f': o->file = optarg; break;
		case 'n': o->check = 1; break;
		case 'd': o->foreground = 1; break;
		case 'l': o->level = level_parse(optarg); break;
		case 'u': o->user = 1; break;
		case 'h': usage(stdout); exit(0);
		case 'V':
			printf("errandd %s, protocol %d\n", ERRAND_VERSION,
			    PROTO_VERSION);
			exit(0);
		default: usage(stderr); exit(EXIT_USAGE);
		}
	if (optind != argc) {
		fprintf(stderr, "errandd: %s: takes options alone\n",
		    argv[optind]);
		usage(stderr);
		exit(EXIT_USAGE);
	}
}

/*
 * The second process has said how it stands, on ${fd}: why the store cannot be
 * opened, or nothing when all is well.
 */
static void
first_leave(const struct sup *sup, int fd)
{
	char text[LIMIT_TEXT + 1];
	ssize_t n;

	if ((n = read(fd, text, sizeof(text) - 1)) <= 0) {
		log_warnx("did not start; %s/errandd.log says why",
		    sup->cfg->state_dir);
		_exit(1);
	}
	text[n] = '\0';
	if (text[0] != '\0')
		log_warnx("runs, but its store cannot be opened: %s; till then "
		    "clients are refused", text);
	log_info("%s; sockets in %s, log in %s/errandd.log", text[0] == '\0' ?
	    "ready" : "not ready", sup->cfg->run_dir, sup->cfg->state_dir);
	_exit(0);
}

/*
 * Leave the terminal: the first process waits until the second says that it
 * is ready, or that its store cannot be opened, and ends with its word for it.
 */
static void
background(const struct sup *sup)
{
	int pair[2], log;

	if (pipe2(pair, O_CLOEXEC) == -1)
		fatal("pipe");
	switch (fork()) {
	case -1:
		fatal("fork");
	case 0:
		break;
	default:
		io_close(&pair[1]);
		first_leave(sup, pair[0]);
	}
	io_close(&pair[0]);
	ready_fd = pair[1];
	(void)setsid();
	if ((log = openat(sup->state_fd, "errandd.log", O_WRONLY | O_APPEND |
	    O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) == -1)
		fatal("%s/errandd.log", sup->cfg->state_dir);
	(void)dup2(log, STDERR_FILENO);
	io_close(&log);
}

static void
descriptors_prepare(void)
{
	struct rlimit rl;
	int fd;

	do {
		if ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1)
			fatal("/dev/null");
	} while (fd <= STDERR_FILENO);
	(void)dup2(fd, STDIN_FILENO);
	io_close(&fd);
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static void
on_stop(evutil_socket_t sig, short what, void *cookie)
{
	(void)sig;
	(void)what;
	stop_begin(cookie);
}

static void
on_reload(evutil_socket_t sig, short what, void *cookie)
{
	struct sup *sup = cookie;

	(void)sig;
	(void)what;
	if (tenants_reload(sup->tenants) == -1)
		log_warnx("tenants stay as they were");
	else if (tenants_refused(sup->tenants, NULL) == NULL)
		log_info("tenants were read again");
	else
		log_warnx("tenants were read again, but not all of them");
}

static void
signals_open(struct sup *sup)
{
	(void)signal(SIGPIPE, SIG_IGN);
	evsignal_assign(&ev_term, sup->base, SIGTERM, on_stop, sup);
	evsignal_assign(&ev_int, sup->base, SIGINT, on_stop, sup);
	evsignal_assign(&ev_hup, sup->base, SIGHUP, on_reload, sup);
	if (event_add(&ev_term, NULL) == -1 ||
	    event_add(&ev_int, NULL) == -1 || event_add(&ev_hup, NULL) == -1)
		fatalx("signals");
}

static struct serve *serve;

/* To the process that started us, if it waits. */
static void
first_tell(const char *text)
{
	if (ready_fd == -1)
		return;
	if (write(ready_fd, text, strlen(text) + 1) == -1)
		log_warn("say ready");
	io_close(&ready_fd);
}

static void
ready_say(struct sup *sup)
{
	log_info("ready on %s, cgroups %s", sup->cfg->run_dir,
	    cgroups_kind(sup->cgroups));
	notify("READY=1");
	first_tell("");
}

static void
on_recovered(struct sup *sup)
{
	sup->recovered = 1;
	jobs_store_back(sup->jobs);
	conns_store_back(sup->conns);
	keep_kick(sup->keep);
	serve_look(serve);
}

static void
on_store_up(struct sup *sup)
{
	jobs_recover(sup, on_recovered);
}

/* Who waits for the store waits in vain. */
static void
on_store_stuck(struct sup *sup)
{
	conns_store_stuck(sup->conns);
	serve_stuck(serve);
	first_tell(store_client_note(sup->store));
}

static void
on_exec_up(struct sup *sup)
{
	serve_look(serve);
	jobs_kick(sup->jobs);
}

/* Everything that can be wrong is found here, before we say ready. */
static void
acquire(struct sup *sup, const struct options *o)
{
	char tag[40];

	if (state_open(sup) == -1 || hostkey_open(sup) == -1 ||
	    (sup->tenants = tenants_open(sup->cfg, sup->state_fd)) == NULL ||
	    (sup->listeners = listen_open(sup)) == NULL)
		fatalx("cannot start");
	if (!o->foreground)
		background(sup);
	log_times();
	if ((sup->base = event_base_new()) == NULL)
		fatalx("event_base_new");
	signals_open(sup);
	state_tag(sup, tag, sizeof(tag));
	if ((sup->cgroups = cgroups_open(sup->base, sup->cfg, tag)) == NULL)
		fatal("cgroups");
	if ((sup->disks = disk_images_open(sup->base, sup->state_fd,
	    sup->cfg->defaults.disk)) == NULL)
		fatal("disks");
	if ((sup->leavers = leavers_new(sup)) == NULL)
		fatal("leavers");
	workdir_sweep_priv(sup->work_fd);
}

static void
workers_make(struct sup *sup, const struct options *o)
{
	if ((serve = serve_new(sup, ready_say, o->user &&
	    !o->foreground)) == NULL ||
	    (sup->jobs = jobs_new(sup)) == NULL ||
	    (sup->keep = keep_new(sup)) == NULL ||
	    (sup->sandboxes = sandbox_pool_new(sup)) == NULL ||
	    (sup->pool = pool_new(sup)) == NULL ||
	    (sup->conns = conns_new(sup, stop_child_down)) == NULL ||
	    (sup->store = store_client_new(sup, on_store_up,
	    stop_child_down, on_store_stuck)) == NULL ||
	    (sup->exec = exec_link_new(sup, on_exec_up,
	    stop_child_down)) == NULL)
		fatal("workers");
	jobs_on_gone(sup->jobs, stop_job_gone);
	child_event(store_client_child(sup->store), CHILD_WANT);
	child_event(exec_link_child(sup->exec), CHILD_WANT);
	pool_refill(sup->pool);
}

static void
release(struct sup *sup)
{
	serve_free(serve);
	listen_close(sup->listeners);
	conns_free(sup->conns);
	jobs_free(sup->jobs);
	sandbox_pool_free(sup->sandboxes);
	pool_free(sup->pool);
	exec_link_free(sup->exec);
	store_client_free(sup->store);
	keep_free(sup->keep);
	cgroups_close(sup->cgroups);
	disk_images_close(sup->disks);
	leavers_free(sup->leavers);
	tenants_close(sup->tenants);
	state_close(sup);
	event_del(&ev_term);
	event_del(&ev_int);
	event_del(&ev_hup);
	event_base_free(sup->base);
}

int
main(int argc, char **argv)
{
	struct options o;
	struct config *cfg;
	struct sup sup;
	int rc;

	options_parse(argc, argv, &o);
	log_init("errandd", (enum log_level)o.level);
	descriptors_prepare();
	(void)umask(022);

	if ((cfg = config_load(o.file, o.user)) == NULL)
		return (1);
	rc = config_check(cfg, !o.check) == -1;
	if (o.check) {
		rc |= tenants_check(cfg) == -1;
		config_free(cfg);
		return (rc);
	}
	if (rc != 0)
		return (rc);
	if (!o.user && geteuid() != 0)
		fatalx("must be started as root; as an ordinary user start "
		    "errandd --user");
	if (o.user && geteuid() == 0)
		fatalx("--user is for ordinary users; as root start errandd "
		    "without it");
	if (sodium_init() == -1)
		fatalx("sodium_init");

	memset(&sup, 0, sizeof(sup));
	sup.cfg = cfg;
	sup.log_level = o.level;
	sup.started_us = io_mono_us();
	sup.keys_fd = sup.logs_fd = sup.work_fd = sup.state_fd = -1;
	sup.store_uid = cfg->rootless ? getuid() : cfg->worker_uids.first;
	sup.exec_uid = cfg->rootless ? getuid() : cfg->worker_uids.first + 1;

	acquire(&sup, &o);
	workers_make(&sup, &o);
	if (event_base_dispatch(sup.base) == -1)
		log_warnx("event loop");
	release(&sup);
	config_free(cfg);
	return (0);
}
