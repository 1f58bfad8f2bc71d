/*
 * kill_counter DIR [ABSTRACT]
 *
 * Counts from outside what jobs do.  It listens on a port of 127.0.0.1, which
 * it prints, and on the abstract socket ABSTRACT.  Who connects sends a line
 * with a name; the name is appended to DIR/count.  When DIR/NAME.go exists the
 * answer is "go", so a job can be made to wait for its test.  It ends with its
 * parent.
 */

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS 64
#define LOOK_MS 10      /* how often it looks for DIR/NAME.go */

struct client {
	int fd;                 /* -1: free */
	size_t len;
	int counted;
	char name[64];
};

static struct client clients[CLIENTS];
static int dir, count;

static int
listen_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int s;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(s, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(s, CLIENTS) == -1 ||
	    getsockname(s, (struct sockaddr *)&sin, &len) == -1)
		err(1, "listen");
	printf("%d\n", ntohs(sin.sin_port));
	fflush(stdout);
	return (s);
}

static int
listen_abstract(const char *name)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int s;

	if (len > sizeof(sun.sun_path) - 1)
		errx(1, "%s: too long", name);
	memcpy(sun.sun_path + 1, name, len);
	if ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(s, (struct sockaddr *)&sun, (socklen_t)(sizeof(
	    sa_family_t) + 1 + len)) == -1 || listen(s, CLIENTS) == -1)
		err(1, "@%s", name);
	return (s);
}

static void
take(int s)
{
	int fd, i;

	if ((fd = accept4(s, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	for (i = 0; i < CLIENTS && clients[i].fd != -1; i++)
		;
	if (i == CLIENTS) {
		close(fd);
		return;
	}
	clients[i] = (struct client){ .fd = fd };
}

static void
drop(struct client *c)
{
	close(c->fd);
	c->fd = -1;
}

/* More of a name, or the end. */
static void
hear(struct client *c)
{
	ssize_t n;

	n = read(c->fd, c->name + c->len, sizeof(c->name) - 1 - c->len);
	if (n <= 0) {
		drop(c);
		return;
	}
	c->len += (size_t)n;
	if (c->counted || c->name[c->len - 1] != '\n')
		return;
	c->counted = 1;
	if (write(count, c->name, c->len) == -1)
		err(1, "count");
	c->name[c->len - 1] = '\0';
}

static void
answer(struct client *c)
{
	char file[80];

	if (c->fd == -1 || !c->counted)
		return;
	snprintf(file, sizeof(file), "%s.go", c->name);
	if (strchr(file, '/') != NULL || faccessat(dir, file, F_OK, 0) == -1)
		return;
	(void)!write(c->fd, "go\n", 3);
	drop(c);
}

static void
serve(const int *socks, int n)
{
	struct pollfd p[CLIENTS + 2];
	int i;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = socks[i], .events = POLLIN };
	for (i = 0; i < CLIENTS; i++)
		p[n + i] = (struct pollfd){ .fd = clients[i].fd,
		    .events = POLLIN };
	if (poll(p, (nfds_t)(n + CLIENTS), LOOK_MS) == -1 && errno != EINTR)
		err(1, "poll");
	for (i = 0; i < CLIENTS; i++) {
		if (p[n + i].fd != -1 && p[n + i].revents != 0)
			hear(&clients[i]);
		answer(&clients[i]);
	}
	for (i = 0; i < n; i++)
		if (p[i].revents != 0)
			take(socks[i]);
}

int
main(int argc, char **argv)
{
	int socks[2], n = 0, i;

	if (argc < 2)
		errx(2, "usage: kill_counter DIR [ABSTRACT]");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	if ((dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1 ||
	    (count = openat(dir, "count", O_WRONLY | O_APPEND | O_CREAT |
	    O_CLOEXEC, 0644)) == -1)
		err(1, "%s", argv[1]);
	for (i = 0; i < CLIENTS; i++)
		clients[i].fd = -1;
	socks[n++] = listen_port();
	if (argc > 2)
		socks[n++] = listen_abstract(argv[2]);
	for (;;)
		serve(socks, n);
}
