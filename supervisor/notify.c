/*
 * Our state in a datagram to the service manager.  Uses the socket that
 * NOTIFY_SOCKET names, and no other.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "lib/log.h"
#include "notify.h"

void
notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun;
	size_t n;
	int fd;

	if (path == NULL || (path[0] != '/' && path[0] != '@'))
		return;
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if ((n = strlen(path)) >= sizeof(sun.sun_path))
		return;
	memcpy(sun.sun_path, path, n);
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	if ((fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
	    (struct sockaddr *)&sun, (socklen_t)(offsetof(struct sockaddr_un,
	    sun_path) + n)) == -1)
		log_warn("notify %s", path);
	io_close(&fd);
}
