#ifndef ERRAND_EXEC_MSG_H
#define ERRAND_EXEC_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/job_types.h"

/* Supervisor and errand-exec (fd 3). */
enum exec_op {
	EXEC_HELLO = 1,         /* worker's first */
	EXEC_RUN,               /* sup: + 3 or 4 fds: job channel, store
				 * channel, log (append only), values (sealed
				 * memfd) */
	EXEC_GONE,              /* exec: a keeper has ended */
	EXEC_OP__MAX
};

#define EXEC_RUN_VALUES 0x1     /* the fourth descriptor is there */

struct exec_msg {
	uint8_t op;
	union {
		struct {
			uint32_t version;
			char software[32];
			uint8_t userns;         /* user namespaces work */
			char note[LIMIT_TEXT];  /* why not */
		} hello;
		struct {
			char job[JOB_ID_LEN + 1];
			uint32_t flags;
			uint32_t host_uid;      /* the tenant's; names its
						 * directory under the work
						 * root */
			uint8_t net;
			uint8_t as_root;
			struct obj_ref root;
			struct obj_ref spec;
			uint64_t spec_len;
			struct job_limits limits;
		} run;
		struct {
			char job[JOB_ID_LEN + 1];
			int32_t status;         /* as waitpid */
		} gone;
	} u;
};

ssize_t exec_msg_pack(const struct exec_msg *, uint8_t *, size_t);
int exec_msg_parse(const uint8_t *, size_t, struct exec_msg *);

#endif /* !ERRAND_EXEC_MSG_H */
