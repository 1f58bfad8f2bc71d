/*
 * What the kernel counts for all jobs together.  Reads /proc/sys only.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

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

static unsigned long
setting(const char *path)
{
	unsigned long n;
	uint8_t *buf;
	size_t len;

	if (io_file_read(AT_FDCWD, path, 64, &buf, &len) == -1)
		return (0);
	n = strtoul((const char *)buf, NULL, 10);
	free(buf);
	return (n);
}

void
doctor_inotify(unsigned int slots, struct doctor_answer *a)
{
	unsigned long n, fits = 0;
	char mend[200];
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if ((n = setting(shares[i].path)) == 0)
			continue;
		n /= shares[i].least;
		if (n < slots) {
			(void)snprintf(mend, sizeof(mend), "sysctl -w %s=%lu, "
			    "and the same line in /etc/sysctl.d; or fewer "
			    "slots", shares[i].name, slots * shares[i].least);
			doctor_say(a, DOCTOR_LESS, mend, "%s=%lu is enough "
			    "for %lu jobs with the %lu that each may take, "
			    "and there are %u slots", shares[i].name,
			    setting(shares[i].path), n, shares[i].least,
			    slots);
			return;
		}
		if (fits == 0 || n < fits)
			fits = n;
	}
	if (fits == 0)
		doctor_say(a, DOCTOR_OK, "", "there is none here");
	else
		doctor_say(a, DOCTOR_OK, "", "enough for %lu jobs at once, of "
		    "%u slots", fits, slots);
}
