/*
 * The kinds of worker, one row each.  Data only.
 */
#include <stddef.h>

#include "roles.h"

const struct role roles[ROLE__MAX] = {
	[ROLE_STORE] = {
		.name = "store", .program = "errand-store",
		.dir = "store", .once = 0,
	},
	[ROLE_EXEC] = {
		.name = "exec", .program = "errand-exec",
		.dir = "run", .once = 0, .images = 1,
	},
	[ROLE_SNAPSHOT] = {
		.name = "snapshot", .program = "errand-snapshot",
		.dir = NULL, .once = 1,
	},
};
