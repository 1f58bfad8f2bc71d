#ifndef ERRAND_EXEC_CONFIG_H
#define ERRAND_EXEC_CONFIG_H

#include "lib/log.h"

/* What errandd said on the command line. */
struct exec_config {
	unsigned int uid;       /* what errand-exec becomes */
	unsigned int gid;
	const char *dir;        /* the work root, as the host names it */
	int rootless;
	enum log_level level;
};

#endif /* !ERRAND_EXEC_CONFIG_H */
