/*
 * errand-exec: options and the order of start-up.  Begins with the host's
 * rights and has none of them when it serves.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <sodium.h>

#include "dispatch.h"
#include "lib/chan.h"
#include "lib/log.h"
#include "lib/worker_args.h"
#include "lib/sandbox.h"
#include "ns.h"
#include "proto/limits.h"
#include "sandbox.h"
#include "share.h"
#include "template.h"

#define HEAP_KEPT       (1 << 20)       /* what keepers free is used again:
                                         * see keeper_prepare.c */

/*
 * Theory of operation.
 *
 * errandd starts us with its channel on descriptor 3.  Four kinds of process
 * are made of this program, each a fork of the one before:
 *
 *	errand-exec     this one.  Its own uid, no capability, in the template's
 *	                mount namespace: what sandboxes are made of, the work
 *	                root, nothing else of the host.
 *	keeper          one per job, in a new user, mount, network (unless the
 *	                job has the host's), IPC and UTS namespace.  Uid 0 there
 *	                is the tenant's uid on the host, the only one mapped.
 *	                Lays out the tree, makes the overlay, reads the output,
 *	                collects the changes; talks to errandd and to the store.
 *	                Not in the job's cgroup.
 *	pid 1           in the keeper's user namespace, and in new pid, mount
 *	                and cgroup namespaces.  Makes the job's view of files,
 *	                reaps, delivers signals.  Forked, never executed.
 *	the command     in a user namespace below, as uid 1000 or 0, without
 *	                capabilities over any namespace but that empty one.
 *
 * Hostile input reaches keepers: the tree, the spec and what the command left.
 * They handle it with the tenant's own rights.  This process handles nothing
 * but errandd's messages: it makes keepers and reaps them.
 *
 * Where user namespaces are closed (cfg.bounded), errand-exec keeps the rights
 * of NS_BOUNDED_CAPS, and all of these are in the host's user namespace:
 * keeper, pid 1 and command have the tenant's uid itself.  Keeper and pid 1
 * have rights to mount until the job is in its workspace, then none; the
 * command has none.
 *
 * Who dies takes those below along: keepers and pid 1 ask the kernel for it,
 * and a pid namespace ends with its pid 1.
 */

/* Why there are no user namespaces, if so. */
static char note[LIMIT_TEXT];

/* Jobs inherit what is ignored or blocked, so nothing is. */
static void
signals(void)
{
	sigset_t none;
	int sig;

	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == -1 ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		fatal("signals");
}

/* Keepers hold five descriptors, and we hold some for each. */
static void
descriptors(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/*
 * Every right over the host, where user namespaces can be made without any;
 * elsewhere, as root, all but those that stand in for them (ns.h).  Safe: see
 * sandbox_drop.c; the filter of system calls is the same in both.
 */
static int
shed(struct worker_args *cfg)
{

	if (!cfg->rootless)
		cfg->bounded = ns_trial_as(cfg->uid, cfg->gid, note,
		    sizeof(note)) == -1;
	if (!cfg->bounded)
		return (sandbox_drop(cfg->uid, cfg->gid));
	return (sandbox_bound(cfg->uid, cfg->gid, NS_BOUNDED_CAPS));
}

int
main(int argc, char **argv)
{
	struct worker_args cfg;
	struct exec_filters filters;
	struct event_base *base;
	struct dispatch *d;

	if (worker_args_parse(argc, argv, &cfg) == -1)
		return (WORKER_USAGE);
	log_init("exec", cfg.level);
	log_times();

	/* Shed: the mounts of the host, then every right over it. */
	(void)umask(077);
	signals();
	descriptors();
	share_unlimit();
	if (cfg.dir == NULL)
		fatalx("no work root: -d is missing");
	if (template_build(&cfg) == -1)
		fatalx("no mount namespace for sandboxes");
	if (cfg.rootless) {
		cfg.uid = geteuid();
		cfg.gid = getegid();
	}
	if (shed(&cfg) == -1)
		fatal("privileges cannot be dropped to user %u, group %u",
		    cfg.uid, cfg.gid);

	/* Acquire. */
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	if (sodium_init() == -1)
		fatalx("libsodium cannot be initialised");
	if ((base = event_base_new()) == NULL)
		fatalx("the event loop cannot be made");
	if ((d = dispatch_new(base, CHAN_FD, &cfg, &filters)) == NULL)
		fatal("the channel");

	/* Fence. */
	exec_fence(&filters);

	/* Serve. */
	dispatch_ready(d, note);
	if (event_base_dispatch(base) == -1)
		fatalx("the event loop failed");
	dispatch_free(d);
	event_base_free(base);
	exec_filters_done(&filters);
	return (0);
}
