#ifndef ERRAND_TEST_STAND_IN_H
#define ERRAND_TEST_STAND_IN_H

/*
 * What the stand-ins for the workers share.  A stand-in lies in the place of a
 * worker's program in a copy of the worker directory, with the real program
 * beside it as NAME.real.  If NAME.scenario is there when it starts, it takes
 * that file away (so that one process plays it, unless its first word is '*')
 * and plays it; else it executes the real program.
 *
 * It tells what it does and hears on stderr, which is the daemon's log:
 *
 *	stand-in store wrong-id: heard HEAD
 *
 * so that a test can look for it there.
 */

#include <sys/socket.h>
#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/chan.h"
#include "lib/log.h"
#include "proto/job_types.h"

/* No stand-in needs all of it. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define ARGS_MAX        128
#define FDS_MAX         64      /* more than a channel allows */

struct options {
	unsigned int uid;
	unsigned int gid;
	const char *dir;
	int rootless;
	int level;
};

struct scenario {
	char text[8192];
	size_t n;
	char *word[ARGS_MAX + 1];       /* the name, then arguments */
};

static const char *stand_in_role;
static struct scenario scene;

/* ${i}-th argument of the scenario, "" if it has none. */
static const char *
arg(size_t i)
{
	return (i < scene.n ? scene.word[i] : "");
}

static int
scene_is(const char *name)
{
	return (strcmp(arg(0), name) == 0);
}

static void say(const char *, ...) __attribute__((format(printf, 1, 2)));

/* One write for each line; no call that the fences do not allow. */
static void
say(const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n, m;

	n = snprintf(buf, sizeof(buf), "stand-in %s %s: ", stand_in_role,
	    arg(0));
	va_start(ap, fmt);
	m = vsnprintf(buf + n, sizeof(buf) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n += m;
	if ((size_t)n > sizeof(buf) - 2)
		n = sizeof(buf) - 2;
	buf[n++] = '\n';
	if (write(STDERR_FILENO, buf, (size_t)n) == -1)
		_exit(1);
}

static void
scene_split(void)
{
	char *p = scene.text, *end;

	while (scene.n < ARGS_MAX) {
		p += strspn(p, " \n");
		if (*p == '\0')
			break;
		scene.word[scene.n++] = p;
		end = p + strcspn(p, " \n");
		p = end + (*end != '\0');
		*end = '\0';
	}
}

/* Take the scenario beside our program, or become the real one. */
static void
scene_take(char **argv)
{
	char path[PATH_MAX], mine[PATH_MAX], real[PATH_MAX];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%.4000s.scenario", argv[0]);
	snprintf(mine, sizeof(mine), "%.4000s.%d", path, (int)getpid());
	snprintf(real, sizeof(real), "%.4000s.real", argv[0]);
	if (rename(path, mine) == 0 && (fd = open(mine, O_RDONLY)) != -1) {
		n = read(fd, scene.text, sizeof(scene.text) - 1);
		close(fd);
	}
	if (n <= 0) {
		execv(real, argv);
		fatal("%s", real);
	}
	if (scene.text[0] == '*') {
		scene.text[0] = ' ';
		(void)rename(mine, path);
	} else
		(void)unlink(mine);
	scene_split();
}

/* Begin: options as errandd gives them, and the scenario. */
static void
stand_in_begin(const char *role, int argc, char **argv, struct options *o)
{
	int ch;

	stand_in_role = role;
	log_init(role, LOG_LEVEL_INFO);
	scene_take(argv);
	memset(o, 0, sizeof(*o));
	while ((ch = getopt(argc, argv, "u:g:d:i:n:rRl:")) != -1) {
		switch (ch) {
		case 'u': o->uid = (unsigned int)atol(optarg); break;
		case 'g': o->gid = (unsigned int)atol(optarg); break;
		case 'd': o->dir = optarg; break;
		case 'r': o->rootless = 1; break;
		case 'l': o->level = atoi(optarg); break;
		case 'i':
		case 'n':
		case 'R': break;    /* nothing to it */
		default: fatalx("errandd passed an option that is not known");
		}
	}
	(void)signal(SIGPIPE, SIG_IGN);
}

/* Bytes of a message that the packers would refuse to make. */
struct raw {
	size_t n;
	uint8_t b[CHAN_MSG_MAX];
};

static void
raw_byte(struct raw *r, uint8_t c)
{
	if (r->n < sizeof(r->b))
		r->b[r->n++] = c;
}

static void
raw_varint(struct raw *r, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		raw_byte(r, (uint8_t)(v | 0x80));
	raw_byte(r, (uint8_t)v);
}

static void
raw_num(struct raw *r, unsigned int field, uint64_t v)
{
	raw_varint(r, (uint64_t)field << 3);
	raw_varint(r, v);
}

static void
raw_bytes(struct raw *r, unsigned int field, const void *p, size_t n)
{
	const uint8_t *b = p;

	raw_varint(r, (uint64_t)field << 3 | 2);
	raw_varint(r, n);
	while (n-- > 0)
		raw_byte(r, *b++);
}

union control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

/* As chan_send_wait, but nothing is refused: empty packets, too many fds. */
static int
tell(int chan, const void *buf, size_t len, const int *fds, size_t nfds)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	static union control ctl;
	struct cmsghdr *cm;
	ssize_t n;

	if (nfds > 0) {
		memset(&ctl, 0, sizeof(ctl));
		msg.msg_control = ctl.buf;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cm), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(chan, &msg, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return (n == -1 ? -1 : 0);
}

/* The next message; 0 at the end.  Blocks; ${*nfds} is set. */
static ssize_t
hear(int chan, uint8_t *buf, size_t room, int *fds, size_t *nfds)
{
	struct iovec iov = { buf, room };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	static union control ctl;
	struct cmsghdr *cm;
	ssize_t n;

	msg.msg_control = ctl.buf;
	msg.msg_controllen = sizeof(ctl.buf);
	*nfds = 0;
	do
		n = recvmsg(chan, &msg, 0);
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return (n == -1 && errno == EAGAIN ? -1 : 0);
	for (cm = CMSG_FIRSTHDR(&msg); cm != NULL; cm = CMSG_NXTHDR(&msg, cm)) {
		if (cm->cmsg_type != SCM_RIGHTS)
			continue;
		*nfds = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(cm), *nfds * sizeof(int));
	}
	return (n);
}

static void leave(const char *) __attribute__((noreturn));

static void
leave(const char *why)
{
	say("%s", why);
	_exit(0);
}

/* Read until the other end has had enough of us. */
static void wait_end(int) __attribute__((noreturn));

static void
wait_end(int chan)
{
	uint8_t buf[CHAN_MSG_MAX];
	int fds[FDS_MAX];
	size_t n;

	while (hear(chan, buf, sizeof(buf), fds, &n) > 0)
		continue;
	leave("the channel was closed");
}

/*
 * Bytes that are no message: "ff" 64 KiB of ones, "empty" a packet without
 * any, "op" a field that no message has, "tail" something after ${len} good
 * bytes, "zero" a page of zeros.
 */
static int
send_garbage(int chan, const char *kind, const uint8_t *good, size_t len)
{
	static struct raw r;

	memset(&r, 0, sizeof(r));
	if (strcmp(kind, "empty") == 0)
		return (tell(chan, "", 0, NULL, 0));
	if (strcmp(kind, "ff") == 0) {
		r.n = sizeof(r.b);
		memset(r.b, 0xff, r.n);
	} else if (strcmp(kind, "zero") == 0) {
		r.n = 4096;
	} else if (strcmp(kind, "op") == 0) {
		raw_bytes(&r, 500, "", 0);
	} else {
		memcpy(r.b, good, len);
		r.n = len;
		raw_num(&r, 900, 1);
	}
	return (tell(chan, r.b, r.n, NULL, 0));
}

#endif /* !ERRAND_TEST_STAND_IN_H */
