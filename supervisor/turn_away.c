/*
 * What a client is told for which there is no place.  Writes once to its socket
 * and reads nothing from it.
 */
#include <sys/socket.h>

#include <stdio.h>

#include "lib/frame.h"
#include "lib/io.h"
#include "proto/client_msg.h"
#include "turn_away.h"

static int
say(struct frame_conn *fc, const struct err *err)
{
	struct client_hello h = { .proto_min = PROTO_VERSION,
	    .proto_max = PROTO_VERSION, .software = ERRAND_VERSION };
	uint8_t buf[2 * LIMIT_TEXT];
	ssize_t n;

	if ((n = client_hello_pack(&h, buf, sizeof(buf))) == -1 ||
	    frame_send(fc, 0, FRAME_HELLO, 0, buf, (size_t)n) == -1)
		return (-1);
	if ((n = err_pack(err, buf, sizeof(buf))) == -1)
		return (-1);
	return (frame_send(fc, 0, FRAME_GOAWAY, 0, buf, (size_t)n));
}

static int
no_frame(void *cookie, const struct frame *f)
{
	(void)cookie;
	(void)f;
	return (-1);
}

void
turn_away(int fd, const struct err *err)
{
	struct frame_conn *fc = frame_conn_new(FRAME_HOST, no_frame, NULL);
	const uint8_t *p;
	size_t len;

	if (fc != NULL && say(fc, err) == 0 && (len = frame_out(fc, &p)) > 0)
		(void)send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	frame_conn_free(fc);
	io_close(&fd);
}
