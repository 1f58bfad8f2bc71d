#ifndef ERRAND_TEST_RELAY_H
#define ERRAND_TEST_RELAY_H

/*
 * The real errand-store behind us: what errandd, the connection workers and
 * keepers say goes through, and what it answers is changed on the way.  On
 * the supervisor's channel:
 *
 *	s-id, s-op, s-twice	as their names say
 *	s-head			the end of each chain is forgotten
 *	s-existed JOB		every submission is that job
 *	s-stop OP		that request is not passed on, nor answered
 *	s-lie OP		not passed on, and answered OK
 *	s-drop OP		passed on, and the answer thrown away
 *
 * and on those bound to a tenant:
 *
 *	t-id, t-twice		as their names say
 *	t-garbage		64 KiB of ones
 *	t-flip			a byte of every object that is read
 *	t-unsealed		what is read could still be written
 *	t-record JOB		every record and receipt is that job's
 *	t-stop			no answer
 */

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>

#include "lib/memfd.h"
#include "proto/store_msg.h"

#define LINKS_MAX       512

/* A channel: the asker's side and the real store's. */
static struct { int asker, store; } links[LINKS_MAX];
static size_t nlinks;
static uint8_t relay_buf[CHAN_MSG_MAX];

static int
how(const char *name)
{
	return (strcmp(arg(1), name) == 0);
}

/* Start the real one with a channel of its own, while we still may. */
static void
relay_begin(char **argv)
{
	char real[PATH_MAX];
	int p[2];

	snprintf(real, sizeof(real), "%.4000s.real", argv[0]);
	if (chan_pair(p) == -1)
		fatal("pair");
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(p[1], CHAN_FD) == -1 ||
		    close_range(CHAN_FD + 1, ~0U, 0) == -1)
			fatal("descriptors");
		execv(real, argv);
		fatal("%s", real);
	}
	close(p[1]);
	links[0].asker = CHAN_FD;
	links[0].store = p[0];
	nlinks = 1;
}

static uint8_t
op_arg(size_t i)
{
	static const struct { const char *name; uint8_t op; } ops[] = {
		{ "BIND", STORE_BIND }, { "PUBLISH", STORE_PUBLISH },
		{ "SETTLE", STORE_SETTLE }, { "HEAD", STORE_HEAD },
		{ "STAT", STORE_STAT }, { "UNSETTLED", STORE_UNSETTLED },
	};
	size_t k;

	for (k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
		if (strcmp(ops[k].name, arg(i)) == 0)
			return (ops[k].op);
	return (0);
}

static void
pass(int to, const struct store_msg *m, const int *fds, size_t nfds)
{
	static uint8_t b[CHAN_MSG_MAX];
	ssize_t n;

	if ((n = store_msg_pack(m, b, sizeof(b))) == -1)
		leave("a changed message could not be packed");
	(void)tell(to, b, (size_t)n, fds, nfds);
}

/* A bound channel goes through us too. */
static void
link_new(int *fds, size_t nfds)
{
	int p[2];

	if (nfds != 1 || nlinks == LINKS_MAX || chan_pair(p) == -1)
		return;
	links[nlinks].asker = fds[0];
	links[nlinks++].store = p[0];
	fds[0] = p[1];
}

/* A request on its way to the store. */
static void
request_pass(size_t i, size_t len, int *fds, size_t nfds)
{
	struct store_msg m, r;
	size_t k;

	if (store_msg_parse(relay_buf, len, &m) == 0 && i == 0) {
		if (m.op == STORE_BIND)
			link_new(fds, nfds);
		if ((how("s-stop") || how("s-lie")) && m.op == op_arg(2)) {
			say("request %u is kept", m.op);
			memset(&r, 0, sizeof(r));
			r.op = STORE_OK;
			r.id = m.id;
			r.reply_to = m.op;
			if (how("s-lie"))
				pass(links[0].asker, &r, NULL, 0);
			goto done;
		}
	}
	(void)tell(links[i].store, relay_buf, len, fds, nfds);
done:
	for (k = 0; k < nfds; k++)
		close(fds[k]);
}

/* The same bytes but one, in a memfd that is sealed or not. */
static int
changed(int fd, int flip, int sealed)
{
	const uint8_t *map;
	uint8_t *to;
	size_t len;
	int new;

	if (memfd_map(fd, LIMIT_GET_BYTES * 2, &map, &len) == -1 ||
	    (new = memfd_open("changed", len, &to)) == -1)
		leave("what the store sent cannot be read");
	memcpy(to, map, len);
	memfd_unmap(map, len);
	if (flip && len > 0)
		to[len - 1] ^= 0x20;
	if (sealed && memfd_seal(new, to, len, len) == -1)
		leave("seal");
	say("a byte is changed or could be");
	return (new);
}

static void
sup_reply(struct store_msg *m, const int *fds, size_t nfds)
{
	int to = links[0].asker;

	if (how("s-drop") && m->reply_to == op_arg(2)) {
		say("answer to %u is thrown away", m->reply_to);
		return;
	}
	if (how("s-id"))
		m->id += 1000;
	else if (how("s-op") && m->op == STORE_OK) {
		memset(&m->u, 0, sizeof(m->u));
		m->reply_to = m->reply_to == STORE_SETTLE ? STORE_HEAD :
		    STORE_SETTLE;
	} else if (how("s-head") && m->op == STORE_OK &&
	    m->reply_to == STORE_HEAD) {
		say("forgets sequence %llu",
		    (unsigned long long)m->u.ok.sequence);
		memset(&m->u, 0, sizeof(m->u));
	} else if (how("s-existed") && m->op == STORE_OK &&
	    m->reply_to == STORE_PUBLISH) {
		m->u.ok.existed = 1;
		snprintf(m->u.ok.job, sizeof(m->u.ok.job), "%s", arg(2));
		say("it existed as %s", m->u.ok.job);
	}
	pass(to, m, fds, nfds);
	if (how("s-twice"))
		pass(to, m, NULL, 0);
}

static void
record_change(struct store_msg *m)
{
	static uint8_t b[LIMIT_RECORD];
	struct job_record r;
	ssize_t n;

	if (job_record_parse(m->u.ok.data.p, m->u.ok.data.len, &r) == -1)
		return;
	snprintf(r.id, sizeof(r.id), "%s", arg(2));
	snprintf(r.tenant, sizeof(r.tenant), "other");
	if ((n = job_record_pack(&r, b, sizeof(b))) == -1)
		leave("a record could not be packed");
	m->u.ok.data = (struct store_bytes){ b, (size_t)n };
	say("the record is another's");
}

static void
tenant_reply(size_t i, struct store_msg *m, int *fds, size_t nfds)
{
	static uint8_t ones[CHAN_MSG_MAX];
	int to = links[i].asker;

	if (how("t-stop"))
		return;
	if (how("t-garbage")) {
		memset(ones, 0xff, sizeof(ones));
		(void)tell(to, ones, sizeof(ones), NULL, 0);
		return;
	}
	if (how("t-id"))
		m->id += 1000;
	if (how("t-record") && m->op == STORE_OK &&
	    m->reply_to == STORE_JOB_GET)
		record_change(m);
	if ((how("t-flip") || how("t-unsealed")) && m->op == STORE_OK &&
	    m->reply_to == STORE_GET && nfds == 1)
		fds[0] = changed(fds[0], how("t-flip"), how("t-flip"));
	pass(to, m, fds, nfds);
	if (how("t-twice"))
		pass(to, m, NULL, 0);
}

static void
reply_pass(size_t i, size_t len, int *fds, size_t nfds)
{
	struct store_msg m;
	size_t k;

	if (store_msg_parse(relay_buf, len, &m) == -1 || m.op == STORE_HELLO)
		(void)tell(links[i].asker, relay_buf, len, fds, nfds);
	else if (i == 0)
		sup_reply(&m, fds, nfds);
	else
		tenant_reply(i, &m, fds, nfds);
	for (k = 0; k < nfds; k++)
		close(fds[k]);
}

static void
link_close(size_t i)
{
	if (i == 0)
		leave("the channel was closed");
	close(links[i].asker);
	close(links[i].store);
	links[i].asker = links[i].store = -1;
}

static void relay_serve(void) __attribute__((noreturn));

static void
relay_serve(void)
{
	static struct pollfd p[2 * LINKS_MAX];
	int fds[FDS_MAX];
	size_t i, n, nfds;
	ssize_t len;

	for (;;) {
		n = nlinks;
		for (i = 0; i < n; i++) {
			p[2 * i] = (struct pollfd){ links[i].asker, POLLIN, 0 };
			p[2 * i + 1] = (struct pollfd){ links[i].store, POLLIN,
			    0 };
		}
		if (poll(p, 2 * n, -1) == -1)
			continue;
		for (i = 0; i < 2 * n; i++) {
			if (p[i].revents == 0 || links[i / 2].asker == -1)
				continue;
			len = hear(p[i].fd, relay_buf, sizeof(relay_buf), fds,
			    &nfds);
			if (len == 0)
				link_close(i / 2);
			else if (len > 0 && i % 2 == 0)
				request_pass(i / 2, (size_t)len, fds, nfds);
			else if (len > 0)
				reply_pass(i / 2, (size_t)len, fds, nfds);
		}
	}
}

#endif /* !ERRAND_TEST_RELAY_H */
