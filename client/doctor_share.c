/*
 * What the kernel counts for all jobs together.  Reads /proc/sys, and asks what
 * rights there can be.
 */
#include <sys/prctl.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/capability.h>

#include "doctor.h"
#include "lib/io.h"
#include "lib/sandbox.h"

static const struct share {
	const char *path;
	const char *name;       /* of the setting */
	unsigned long least;    /* that each job is promised */
} shares[] = {
	{ "/proc/sys/fs/inotify/max_user_instances",
	    "fs.inotify.max_user_instances", SANDBOX_INOTIFY_INSTANCES },
	{ "/proc/sys/fs/inotify/max_user_watches",
	    "fs.inotify.max_user_watches", SANDBOX_INOTIFY_WATCHES },
};

/* What it is set to: 0, or -1 where this kernel has no such thing. */
static int
setting(const char *path, unsigned long *n)
{
	uint8_t *buf;
	size_t len;

	if (io_file_read(AT_FDCWD, path, 64, &buf, &len) == -1)
		return (-1);
	*n = strtoul((const char *)buf, NULL, 10);
	free(buf);
	return (0);
}

static void
too_few(const struct share *s, unsigned long set, unsigned int slots,
    struct doctor_answer *a)
{
	char mend[200];

	(void)snprintf(mend, sizeof(mend), "sysctl -w %s=%lu, and the same "
	    "line in /etc/sysctl.d; or fewer slots", s->name,
	    slots * s->least);
	doctor_say(a, DOCTOR_LESS, mend, "%s=%lu is enough for %lu jobs with "
	    "the %lu that each may take, and there are %u slots", s->name, set,
	    set / s->least, s->least, slots);
}

void
doctor_inotify(unsigned int slots, struct doctor_answer *a)
{
	unsigned long set, fits = ULONG_MAX;
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if (setting(shares[i].path, &set) == -1)
			continue;
		if (set / shares[i].least < slots) {
			too_few(&shares[i], set, slots, a);
			return;
		}
		if (set / shares[i].least < fits)
			fits = set / shares[i].least;
	}
	if (fits == ULONG_MAX)
		doctor_say(a, DOCTOR_OK, "", "there is none here");
	else
		doctor_say(a, DOCTOR_OK, "", "enough for %lu jobs at once, of "
		    "%u slots", fits, slots);
}

/*
 * errandd gives each job a limit of its own of signals that wait and of message
 * queues, and is without one itself, so that jobs are not counted together.
 */
void
doctor_limits(struct doctor_answer *a)
{
	if (geteuid() != 0)
		doctor_say(a, DOCTOR_OK, "", "an ordinary user's jobs are "
		    "counted with the rest of what is the user's");
	else if (prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE, 0, 0, 0) == 1)
		doctor_say(a, DOCTOR_OK, "", "each job has its own of signals "
		    "that wait and of message queues");
	else
		doctor_say(a, DOCTOR_LESS, "give errandd CAP_SYS_RESOURCE "
		    "(--cap-add SYS_RESOURCE where a container is started)",
		    "errandd may not raise limits here: one job can take the "
		    "signals that wait and the message queues of all");
}
