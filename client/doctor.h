#ifndef ERRAND_DOCTOR_H
#define ERRAND_DOCTOR_H

#include <stddef.h>

/*
 * What a host must have, one question each.  A question is answered by trying,
 * in a process of its own where trying would change something; nothing is left
 * behind.
 */
enum doctor_level {
	DOCTOR_OK,
	DOCTOR_LESS,            /* errand works, and something does not hold */
	DOCTOR_BAD              /* jobs cannot run */
};

struct doctor_answer {
	enum doctor_level level;
	char text[600];         /* what was found */
	char mend[300];         /* what to do about it, "" when all is well */
};

struct doctor_question {
	const char *name;       /* for programs, and for people */
	void (*ask)(struct doctor_answer *);
};

/* All questions about this machine's kernel and files. */
const struct doctor_question *doctor_questions(size_t *);

/* doctor_fs.c: those about file systems, identities and disks. */
void doctor_overlay(struct doctor_answer *);
void doctor_loop(struct doctor_answer *);
void doctor_ids(struct doctor_answer *);
void doctor_state(struct doctor_answer *);

/* doctor_share.c: do so many jobs find what the kernel counts for all? */
void doctor_inotify(unsigned int, struct doctor_answer *);
void doctor_limits(struct doctor_answer *);

/* Say what was found; the second string mends it. */
void doctor_say(struct doctor_answer *, enum doctor_level, const char *,
    const char *, ...) __attribute__((format(printf, 4, 5)));

/**
 * doctor_in_userns(fn):
 * Run ${fn} as 0 in a new user, mount and pid namespace made by an ordinary
 * user (when we are root, 65534).  Return its result (0 to 100), -1 with errno
 * when the namespaces could not be made.
 */
int doctor_in_userns(int (*)(void));

#endif /* !ERRAND_DOCTOR_H */
