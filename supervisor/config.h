#ifndef ERRAND_CONFIG_H
#define ERRAND_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/text.h"
#include "proto/job_types.h"

#define CONFIG_UIDS_MAX 16      /* local users of one tenant */

/* first 0: there is none */
struct uid_range {
	uint32_t first, last;
};

/* What a tenant may keep, and how long; 0: the default, or no limit. */
struct keep_conf {
	uint64_t store;         /* bytes of objects, uncompressed */
	uint64_t objects;
	uint64_t jobs;          /* that are kept */
	uint64_t logs;          /* bytes */
	uint64_t keep_us;       /* an ended job */
	uint64_t cache_size;    /* bytes of one of its caches */
	uint64_t cache_total;   /* of all of them */
};

/* image "NAME" { path = ... } */
struct image_conf {
	char name[IMAGE_NAME_MAX + 1];
	char *arg;              /* NAME=PATH, the path without links in it:
				 * errand-exec is told so */
};

/* What errandd.conf says, with every default filled in. */
struct config {
	char *path;             /* the file, or NULL: built-in values */
	char *state_dir;
	char *run_dir;
	char *tenants_dir;
	char *worker_dir;       /* where the workers' programs are */
	char *admin_group;      /* or NULL */
	char *cgroup_root;      /* or NULL: below our own cgroup */
	char *host_name;
	struct uid_range worker_uids;
	struct uid_range tenant_uids;
	uint32_t slots;         /* jobs that run at once */
	uint32_t tenant_slots;  /* of one tenant, by default */
	uint32_t idle_workers;  /* snapshot workers kept warm */
	uint32_t idle_sandboxes;        /* kept ready, at most */
	uint32_t tenant_sandboxes;      /* of those, of one tenant */
	uint64_t stop_timeout_us;
	uint64_t client_lease_us; /* a lost client may come back */
	int local_auto;         /* make tenants of local users */
	int rootless;
	struct job_limits defaults;
	struct keep_conf keep;
	uint32_t nimages;
	struct image_conf images[IMAGES_MAX];
};

/* One tenants.d/NAME.conf. */
struct tenant_conf {
	char name[TENANT_NAME_MAX + 1];
	uint32_t id;            /* 0: none was assigned yet */
	uint32_t host_uid;      /* 0: likewise */
	struct uid_range image_uids;    /* jobs of an image have these too */
	uint32_t nuids;
	uint32_t uids[CONFIG_UIDS_MAX];
	uint32_t slots;         /* 0: the default */
	uint8_t net_host;
	uint8_t automatic;
	struct keep_conf keep;
	struct job_limits limits; /* 0 in a member: the default */
};

/**
 * config_load(path, rootless):
 * Read ${path}, or the installed file if it exists when ${path} is NULL (in
 * rootless mode then no file at all).  Every fault is logged with file, line
 * and remedy.  Return NULL if there was one.
 */
struct config *config_load(const char *, int);
void config_free(struct config *);

/**
 * config_range_apart(a, b):
 * Have they no id in common?  With a range that is none they have not.
 */
int config_range_apart(const struct uid_range *, const struct uid_range *);

/**
 * config_tenant_read(dir, name, tc, why, size):
 * Read DIR/NAME.conf.  Return 0, or -1 after logging file, line and remedy,
 * the first of them also in ${why}.
 */
int config_tenant_read(const char *, const char *, struct tenant_conf *,
    char *, size_t);

/**
 * config_tenant_text(tc, len):
 * The same file as text, malloced.  NULL for lack of memory.
 */
char *config_tenant_text(const struct tenant_conf *, size_t *);

#endif /* !ERRAND_CONFIG_H */
