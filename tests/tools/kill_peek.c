/*
 * kill_peek PID BYTES
 *
 * Is there, in a socket that the (stopped) process PID has open, an unread
 * packet of at least BYTES bytes?  Exits 0 if so, 1 if not, 2 when it cannot
 * tell.  This is how a test knows that a message has arrived before the one
 * it is for could act on it.
 */

#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Unread bytes of one descriptor; 0 when it is no socket. */
static int
waiting(int pidfd, const char *pid, const char *name)
{
	char path[300], what[64];
	ssize_t len;
	int fd, n = 0;

	snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, name);
	len = readlink(path, what, sizeof(what));
	if (len < 8 || strncmp(what, "socket:", 7) != 0)
		return (0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(name), 0);
	if (fd == -1)
		return (0);
	if (ioctl(fd, FIONREAD, &n) == -1)
		n = 0;
	close(fd);
	return (n);
}

int
main(int argc, char **argv)
{
	char path[64];
	struct dirent *d;
	int pidfd, min, n, most = 0;
	DIR *dir;

	if (argc != 3)
		errx(2, "usage: kill_peek PID BYTES");
	min = atoi(argv[2]);
	if ((pidfd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0)) == -1)
		err(2, "%s", argv[1]);
	snprintf(path, sizeof(path), "/proc/%s/fd", argv[1]);
	if ((dir = opendir(path)) == NULL)
		err(2, "%s", path);
	while ((d = readdir(dir)) != NULL) {
		n = waiting(pidfd, argv[1], d->d_name);
		most = n > most ? n : most;
	}
	closedir(dir);
	printf("%d\n", most);
	return (most < min);
}
