/*
 * errand-store: options and the order of start-up.  Gives up all rights first,
 * then opens the directory.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <sodium.h>

#include "batch.h"
#include "journal.h"
#include "lib/chan.h"
#include "lib/log.h"
#include "lib/sandbox.h"
#include "lib/worker_args.h"
#include "peer.h"
#include "sandbox.h"
#include "store.h"
#include "word.h"

/*
 * Theory of operation.
 *
 * errandd starts us with its channel on descriptor 3.  We alone open the
 * index (LMDB) and the packs.  There is one thread and one event loop:
 *
 *	channel -> dispatch.c -> a handler -> reply
 *	                             |
 *	          walks (what is below a root)
 *	                             |
 *	          batch (PUBLISH, SETTLE) -> barrier -> replies
 *
 * errandd gives us, with BIND, one end of a channel for each worker that
 * serves a tenant; the tenant is a property of the channel, and every key of
 * the index begins with it.
 *
 * A put goes to the open pack at once and is answered; its index entries are
 * pending, in memory, where everybody finds them.  When all channels are
 * drained, the batch runs: flush the pack, one transaction with all pending
 * entries and all requests, reply.  A crash loses what was pending and cuts
 * off the pack's tail when the store is opened again; what was answered as
 * durable stays.
 *
 * The bytes of tenants are hashed and, for trees and lists, decoded here; they
 * are never decompressed here unless this process compressed them.
 */

/*
 * Every channel is a descriptor, and one that cannot be received for want of
 * room would be taken for a violation.
 */
static void
raise_nofile(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("descriptor limit");
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		log_warn("descriptor limit");
}

/*
 * Channels before the batch and the walks: see batch.h.  When there is no
 * memory for epoll, libevent would go on with calls that the fence forbids.
 */
static struct event_base *
loop_new(void)
{
	struct event_config *cfg;
	struct event_base *base;

	if ((cfg = event_config_new()) == NULL ||
	    event_config_avoid_method(cfg, "poll") == -1 ||
	    event_config_avoid_method(cfg, "select") == -1 ||
	    (base = event_base_new_with_config(cfg)) == NULL ||
	    event_base_priority_init(base, STORE_PRIOS) == -1)
		fatalx("the event loop cannot be made");
	event_config_free(cfg);
	return (base);
}

int
main(int argc, char **argv)
{
	struct worker_args o;
	struct event_base *base;
	struct store *st;
	struct peer *sup;
	int status, landlock;

	if (worker_args_parse(argc, argv, &o) == -1)
		return (WORKER_USAGE);
	log_init("store", o.level);
	log_times();
	if (o.dir == NULL)
		fatalx("no directory for the store: -d is missing");

	/* Shed: before a byte of the store is looked at. */
	(void)umask(077);
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		fatal("SIGPIPE");
	raise_nofile();
	if (sandbox_drop(o.uid, o.gid) == -1)
		fatal("privileges cannot be dropped to user %u, group %u",
		    o.uid, o.gid);

	/* Acquire: what takes more calls than serving does. */
	if (sodium_init() == -1)
		fatalx("libsodium cannot be initialised");
	base = loop_new();
	word_on_signals();
	if ((st = store_open(base, o.dir, o.rebuild)) == NULL) {
		word_trouble(log_last());
		fatalx("the store in %s cannot be opened", o.dir);
	}
	if ((sup = peer_new(st, CHAN_FD, PEER_SUP, 0, 0)) == NULL)
		fatal("no channel on descriptor %d", CHAN_FD);

	/* Fence. */
	landlock = sandbox_fence(st->dirfd);

	/* Serve: until fd 3 closes; then finish what is under way. */
	word_over();
	peer_hello(sup, landlock);
	if (event_base_dispatch(base) == -1)
		fatalx("the event loop failed");
	journal_drain(st->journal);
	if (!st->broken)
		(void)batch_run(st->batch);
	status = st->status;
	store_close(st);
	event_base_free(base);
	return (status);
}
