#ifndef ERRAND_EXEC_MSG_H
#define ERRAND_EXEC_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/* Supervisor and errand-exec (fd 3). */
enum exec_op {
	EXEC_HELLO = 1,         /* worker's first */
	EXEC_PREPARE,           /* sup: + 1 or 2 fds: job channel, a mount for
				 * what the job writes.  Make a keeper and
				 * its sandbox, for one job of this tenant */
	EXEC_GONE,              /* exec: a keeper has ended */
	EXEC_OP__MAX
};

struct exec_msg {
	uint8_t op;
	union {
		struct {
			uint32_t version;
			char software[32];
			uint8_t userns;         /* user namespaces work */
			char note[LIMIT_TEXT];  /* why not */
			uint8_t bounded;        /* sandboxes are made without */
		} hello;
		struct {
			char sandbox[JOB_ID_LEN + 1];
			uint32_t host_uid;      /* the tenant's; names its
						 * directory under the work
						 * root */
			uint8_t net;
			uint8_t as_root;
			uint64_t scratch;       /* bytes of /tmp and its like,
						 * 0: the default */
			char image[IMAGE_NAME_MAX + 1]; /* "": the host's own
						 * files */
			uint32_t ids;           /* as_root: so many more are
						 * mapped, from 1 on */
		} prepare;
		struct {
			char sandbox[JOB_ID_LEN + 1];
			int32_t status;         /* as waitpid */
		} gone;
	} u;
};

ssize_t exec_msg_pack(const struct exec_msg *, uint8_t *, size_t);
int exec_msg_parse(const uint8_t *, size_t, struct exec_msg *);

#endif /* !ERRAND_EXEC_MSG_H */
