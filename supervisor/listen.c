/*
 * The two sockets in run_dir: makes, accepts on and removes them, and asks the
 * kernel who a peer is.  Reads nothing from a client.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "conn.h"
#include "lib/io.h"
#include "lib/log.h"
#include "listen.h"
#include "sup.h"

#define BACKLOG         128
#define ACCEPT_MAX      16      /* at a time, then others' turn */
#define PAUSE_MS        200     /* without descriptors */

enum { SOCK_CLIENTS, SOCK_CONTROL, SOCK__MAX };

static const char *const names[SOCK__MAX] = {
	[SOCK_CLIENTS] = "errand.sock",
	[SOCK_CONTROL] = "control.sock",
};

/*
 * Invariants:
 *  1. fd != -1 exactly when the socket at path is ours.
 *  2. While running, either the accept event or the pause timer is pending.
 */
struct listener {
	struct listeners *ls;
	int fd;
	int admin;
	struct sockaddr_un sun;
	struct event ready;
	struct event pause;
};

struct listeners {
	struct sup *sup;
	struct listener l[SOCK__MAX];
};

static int
address(struct listener *l, const char *dir, const char *name)
{
	int n;

	l->sun.sun_family = AF_UNIX;
	n = snprintf(l->sun.sun_path, sizeof(l->sun.sun_path), "%s/%s", dir,
	    name);
	if (n > 0 && (size_t)n < sizeof(l->sun.sun_path))
		return (0);
	log_warnx("%s/%s: a socket's path has at most %zu bytes; choose a "
	    "shorter run_dir", dir, name, sizeof(l->sun.sun_path) - 1);
	return (-1);
}

/* Is there one already?  0: the way is free. */
static int
stale_remove(const struct listener *l)
{
	const char *path = l->sun.sun_path;
	struct stat sb;
	int fd, rc;

	if (lstat(path, &sb) == -1) {
		if (errno == ENOENT)
			return (0);
		log_warn("%s", path);
		return (-1);
	}
	if (!S_ISSOCK(sb.st_mode)) {
		log_warnx("%s is in the way and is no socket; move it away or "
		    "choose another run_dir", path);
		return (-1);
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) == -1) {
		log_warn("socket");
		return (-1);
	}
	rc = connect(fd, (const struct sockaddr *)&l->sun, sizeof(l->sun));
	if (rc == 0 || errno == EAGAIN) {
		log_warnx("%s is in use by another daemon; stop that one, or "
		    "give this one a run_dir of its own", path);
		io_close(&fd);
		return (-1);
	}
	io_close(&fd);
	if (unlink(path) == -1) {
		log_warn("%s", path);
		return (-1);
	}
	return (0);
}

/* Who may connect: everybody, or root and the operators' group. */
static int
mode_set(const struct listener *l, const struct config *cfg)
{
	const char *path = l->sun.sun_path;
	struct group *gr;

	if (!l->admin)
		return (chmod(path, cfg->rootless ? 0600 : 0666));
	if (cfg->admin_group == NULL || cfg->rootless)
		return (chmod(path, 0600));
	if ((gr = getgrnam(cfg->admin_group)) == NULL) {
		errno = ENOENT;
		return (-1);
	}
	if (chown(path, (uid_t)-1, gr->gr_gid) == -1)
		return (-1);
	return (chmod(path, 0660));
}

static int
listener_open(struct listener *l, const struct config *cfg)
{
	mode_t old;
	int rc;

	if (stale_remove(l) == -1)
		goto err0;
	if ((l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		goto err1;
	old = umask(0177);      /* closed until its mode is set */
	rc = bind(l->fd, (struct sockaddr *)&l->sun, sizeof(l->sun));
	(void)umask(old);
	if (rc == -1 || mode_set(l, cfg) == -1 ||
	    listen(l->fd, BACKLOG) == -1)
		goto err2;
	return (0);

err2:
	io_close(&l->fd);
err1:
	log_warn("%s", l->sun.sun_path);
err0:
	return (-1);
}

/* It cannot be done now: look again a little later. */
static void
pause_accept(struct listener *l)
{
	struct timeval tv = { 0, PAUSE_MS * 1000 };

	event_del(&l->ready);
	(void)evtimer_add(&l->pause, &tv);
}

static void
on_pause(evutil_socket_t fd, short what, void *cookie)
{
	struct listener *l = cookie;

	(void)fd;
	(void)what;
	(void)event_add(&l->ready, NULL);
}

/* Whom the kernel says this is; a rootless daemon serves its own user only. */
static int
peer_check(const struct listener *l, int fd, uint32_t *uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return (-1);
	*uid = cred.uid;
	if (l->ls->sup->cfg->rootless && cred.uid != getuid()) {
		log_warnx("uid %u refused: this daemon serves uid %u only",
		    (unsigned int)cred.uid, (unsigned int)getuid());
		return (-1);
	}
	return (0);
}

static void
on_ready(evutil_socket_t sock, short what, void *cookie)
{
	struct listener *l = cookie;
	struct conns *cs = l->ls->sup->conns;
	uint32_t uid;
	int fd, i;

	(void)what;
	for (i = 0; i < ACCEPT_MAX; i++) {
		fd = accept4(sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd == -1) {
			if (errno == EAGAIN || errno == ECONNABORTED ||
			    errno == EINTR)
				return;
			log_warn("accept");
			pause_accept(l);
			return;
		}
		if (peer_check(l, fd, &uid) == -1)
			io_close(&fd);
		else
			conns_accept(cs, fd, uid, l->admin);
	}
}

struct listeners *
listen_open(struct sup *sup)
{
	struct listeners *ls;
	struct listener *l;
	int i;

	if ((ls = calloc(1, sizeof(*ls))) == NULL) {
		log_warn("sockets");
		return (NULL);
	}
	ls->sup = sup;
	for (i = 0; i < SOCK__MAX; i++)
		ls->l[i].fd = -1;
	for (i = 0; i < SOCK__MAX; i++) {
		l = &ls->l[i];
		l->ls = ls;
		l->admin = i == SOCK_CONTROL;
		if (address(l, sup->cfg->run_dir, names[i]) == -1 ||
		    listener_open(l, sup->cfg) == -1) {
			listen_close(ls);
			return (NULL);
		}
	}
	return (ls);
}

int
listen_start(struct listeners *ls)
{
	struct listener *l;
	int i;

	for (i = 0; i < SOCK__MAX; i++) {
		l = &ls->l[i];
		event_assign(&l->ready, ls->sup->base, l->fd,
		    EV_READ | EV_PERSIST, on_ready, l);
		evtimer_assign(&l->pause, ls->sup->base, on_pause, l);
		if (event_add(&l->ready, NULL) == -1) {
			log_warnx("%s: event", l->sun.sun_path);
			return (-1);
		}
	}
	return (0);
}

void
listen_stop(struct listeners *ls)
{
	int i;

	for (i = 0; i < SOCK__MAX; i++) {
		if (!event_initialized(&ls->l[i].ready))
			continue;
		event_del(&ls->l[i].ready);
		evtimer_del(&ls->l[i].pause);
	}
}

void
listen_close(struct listeners *ls)
{
	int i;

	if (ls == NULL)
		return;
	listen_stop(ls);
	for (i = 0; i < SOCK__MAX; i++) {
		if (ls->l[i].fd != -1)
			(void)unlink(ls->l[i].sun.sun_path);
		io_close(&ls->l[i].fd);
	}
	free(ls);
}
