#ifndef ERRAND_SNAP_DISPATCH_H
#define ERRAND_SNAP_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

struct client_open;
struct frame;
struct session;
struct snap_msg;
struct stream;

#define ROUTE_TENANT    0x1     /* on a tenant's connection */
#define ROUTE_CONTROL   0x2     /* on a control connection */
#define ROUTE_NO_DATA   0xff

/* What may be asked, where, and who answers.  Functions may be NULL. */
struct route {
	uint8_t verb;
	uint8_t where;
	uint8_t data;           /* channel of the client's DATA */
	uint8_t max;            /* at once */
	void (*open)(struct stream *, const struct client_open *);
	void (*take)(struct stream *, const uint8_t *, size_t);
	void (*end)(struct stream *);
	/* look again: output went out, an answer came to another stream */
	void (*kick)(struct stream *);
	void (*done)(struct stream *);
};

/* A frame of a stream.  0, or -1 with ${*why}: the protocol is broken. */
int dispatch_frame(struct session *, const struct frame *, const char **);

/* A JOB or LOG event: to every stream that watches the job. */
void dispatch_event(struct session *, const struct snap_msg *);

/* Let all streams look again. */
void dispatch_kick(struct session *);

#endif /* !ERRAND_SNAP_DISPATCH_H */
