#ifndef ERRAND_TEST_SNAP_WORLD_H
#define ERRAND_TEST_SNAP_WORLD_H

/*
 * A real errand-snapshot with everything around it played by the test: the
 * supervisor, the store, and the client at the other end of the connection.
 * One loop, world_step, serves all three; tests say what they wait for.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/chan.h"
#include "lib/content.h"
#include "lib/frame.h"
#include "lib/io.h"
#include "lib/joblog.h"
#include "lib/le.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/tree.h"
#include "proto/client_msg.h"
#include "proto/snapshot_msg.h"
#include "proto/store_msg.h"
#include "worker-snapshot/session.h"

/* No test needs all of it. */
#pragma GCC diagnostic ignored "-Wunused-function"

#define WORKER_UID      1879048200U
#define NCHANNELS       8       /* of DATA */
#define MAXOBJ          8192
#define MAXJOBS         32
#define MAXSTREAMS      128
#define WAIT_MS         20000

struct obj {
	struct obj_ref ref;
	uint8_t *raw;
	size_t len;
};

/* What the client saw on a stream. */
struct seen {
	uint32_t id;
	uint8_t *data[NCHANNELS];
	size_t len[NCHANNELS];
	unsigned int nreplies;
	unsigned int njobs;             /* JOB among them */
	struct client_reply first;
	struct client_reply last;
	int done;                       /* last REPLY */
	int reset;
	struct err err;
};

struct world {
	/* the process */
	pid_t pid;
	int status;
	int exited;
	/* supervisor */
	int sup;
	int hello;
	struct snap_msg in;
	struct snap_msg out;
	struct err deny;                /* code: refuse BIND */
	int bind_wait;                  /* do not answer BIND yet */
	uint64_t bind_id;
	char bind_tenant[TENANT_NAME_MAX + 1];
	unsigned int nmsgs;             /* the worker sent, on both channels */
	char job[JOB_ID_LEN + 1];       /* id of the next job */
	struct job_submit submit;
	uint8_t *values;
	size_t nvalues;
	int log_fd;                     /* the job's, or -1 */
	int ended;                      /* WATCHED says so */
	char watched[JOB_ID_LEN + 1];
	unsigned int nwatch;
	char signalled[JOB_ID_LEN + 1];
	int input_fd;                   /* the job's end of the pipe, or -1 */
	int input_mute;                 /* INPUT is not answered */
	int input_err;                  /* or so */
	uint64_t input_id, input_offset;
	int ninput_end, input_how;
	uint16_t rows, cols;
	int signal;
	struct snap_live live[4];
	unsigned int nlive;
	/* store */
	int store;
	struct obj *objs;
	size_t nobjs;
	struct job_record jobs[MAXJOBS];        /* newest first */
	size_t njobs;
	int mute;                       /* the store does not even read */
	int put_wait;                   /* keep PUTs unanswered */
	uint64_t puts[256];
	unsigned int nputs;             /* unanswered */
	unsigned int puts_max;
	uint64_t put_bytes;             /* in memfds that are unanswered */
	/* client */
	int sock;
	struct frame_conn *fc;
	int eof;
	int hello_seen;
	struct client_hello host;
	int goaway;
	struct err bye;
	int no_read;                    /* the client does not read */
	int no_credit;                  /* it reads but grants nothing */
	int raw;                        /* frames are not checked, and those
					 * of streams only counted */
	unsigned int nframes;
	size_t raw_len;
	uint8_t raw_buf[2 * FRAME_BODY_MAX];
	struct seen streams[MAXSTREAMS];
	size_t nstreams;
};

/* The one there is, for who looks for what nothing points at. */
static struct world *volatile world_now;

/* --- objects --- */

static struct obj *
obj_find(struct world *w, const struct obj_ref *ref)
{
	size_t i;

	for (i = 0; i < w->nobjs; i++) {
		if (obj_ref_equal(&w->objs[i].ref, ref))
			return (&w->objs[i]);
	}
	return (NULL);
}

static void
obj_add(struct world *w, const struct obj_ref *ref, const void *raw,
    size_t len)
{
	struct obj *o;

	if (obj_find(w, ref) != NULL)
		return;
	assert_true(w->nobjs < MAXOBJ);
	o = &w->objs[w->nobjs++];
	o->ref = *ref;
	o->raw = malloc(len);
	o->len = len;
	memcpy(o->raw, raw, len);
}

static int
world_sink(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	obj_add(cookie, ref, buf, len);
	return (0);
}

static int
bytes_sink(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	uint8_t **p = cookie;   /* p[0] grows at p[1] */
	size_t n;

	assert_int_equal(objrec_pack(ref, buf, len, p[1], &n), 0);
	p[1] += n;
	return (0);
}

#endif /* !ERRAND_TEST_SNAP_WORLD_H */
