/*
 * errand-snapshot speaks the client protocol on one connection, for one
 * tenant, and ends with it.
 *
 * Theory of operation.  The supervisor starts a few of these ahead of time,
 * each with a channel on fd 3 and a uid of its own, and hands one the
 * descriptor of a connection that it accepted (SERVE).  Of the client's bytes
 * this process reads the first frame and no more: HELLO, with the name of the
 * tenant that the client asks to be.  It passes that on (BIND); who the client
 * is, the supervisor decides from what the kernel says about the socket.  The
 * answer (BOUND) brings a channel to the store, which the store has bound to
 * the tenant: nothing that is sent there can concern another.  Then the
 * connection is served:
 *
 *	client socket   conn.c          bytes <-> frames, silence, closing
 *	frames          dispatch.c      which request may be made, who answers
 *	requests        upload.c submit.c follow.c jobs.c get.c admin.c
 *	fd 3            sup.c           requests and events of the supervisor
 *	store channel   store_client.c  requests to the store
 *
 * Everything is one event loop (libevent); nothing blocks but reads of a job's
 * log, a regular file.  Bulk data comes and goes in sealed memfds.  Whatever
 * the client can make grow has a bound, stated where it grows: uploads by
 * credit that returns only when the store has answered, downloads and output
 * by what may wait on a stream, requests by their number.
 *
 * The client is the enemy here, and after it this process itself: it has no
 * capability, an empty root, no way to open, connect or execute anything, and
 * two channels that say nothing to anybody about other tenants.
 *
 * It ends, with status 0, when the connection does, whoever closed it and
 * why; jobs do not notice.  It ends when the supervisor's channel does,
 * without finishing anything.  101 says that one of our own processes broke
 * the rules of a channel, 111 that the system failed us at the start.
 */

#include <sys/syscall.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "lib/chan.h"
#include "lib/log.h"
#include "lib/sandbox.h"
#include "lib/worker_args.h"
#include "sandbox.h"
#include "session.h"

int
main(int argc, char **argv)
{
	struct worker_args o;
	struct event_base *base;
	struct session *s;
	int abi, status;

	if (worker_args_parse(argc, argv, &o) == -1)
		return (WORKER_USAGE);
	log_init("snapshot", o.level);
	log_times();

	/* Shed: an empty root, then become nobody in particular. */
	if (!o.rootless)
		snap_root(o.dir);
	if (sandbox_drop(o.uid, o.gid) == -1)
		fatal("become user %u", o.uid);

	/* Acquire: the loop and the channel. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		fatal("signal");
	if ((base = event_base_new()) == NULL)
		fatalx("no event loop can be made");
	if ((s = session_new(base, CHAN_FD)) == NULL)
		fatal("channel on descriptor %d", CHAN_FD);

	/* Fence. */
	abi = snap_fence();

	/* Serve: say HELLO, then one connection. */
	session_ready(s, abi);
	if (event_base_dispatch(base) == -1)
		fatalx("the event loop failed");
	status = session_status(s);
	session_free(s);
	event_base_free(base);

	/*
	 * Exit handlers, and what sanitizers put before a function that does
	 * not return, may want calls that the fence forbids.
	 */
	(void)syscall(SYS_exit_group, status);
	return (status);
}
