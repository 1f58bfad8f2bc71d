#ifndef ERRAND_ROLES_H
#define ERRAND_ROLES_H

/* The kinds of worker.  A new one is a row in roles.c. */
enum role_id { ROLE_STORE, ROLE_EXEC, ROLE_SNAPSHOT, ROLE__MAX };

struct role {
	const char *name;
	const char *program;    /* in worker_dir */
	const char *dir;        /* below state_dir; NULL: it needs none */
	int once;               /* its end is no fault: one process, one task */
	int images;             /* it is told which images there are */
};

extern const struct role roles[ROLE__MAX];

#endif /* !ERRAND_ROLES_H */
