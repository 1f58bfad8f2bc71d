/*
 * Questions about file systems, identities and room.  Mounts only in namespaces
 * that end with the process; reads /etc/subuid, /etc/passwd and statvfs.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "lib/text.h"

#define LOW_SPACE       (UINT64_C(1) << 30)

/* What errandd takes unless it is told otherwise; see errandd.conf(5). */
#define IDS_FIRST       UINT64_C(1879048192)
#define IDS_LAST        UINT64_C(1879179263)

static int
overlay(void)
{
	static const char *const dirs[] = { "/tmp/l", "/tmp/u", "/tmp/w",
	    "/tmp/m" };
	size_t i;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m") == -1)
		return (2);
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (mkdir(dirs[i], 0755) == -1)
			return (2);
	return (mount("overlay", "/tmp/m", "overlay", 0,
	    "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr") == 0 ?
	    0 : 1);
}

void
doctor_overlay(struct doctor_answer *a)
{
	int rc = doctor_in_userns(overlay);

	if (rc == 0)
		doctor_say(a, DOCTOR_OK, "", "can be mounted in a user "
		    "namespace");
	else if (rc == -1)
		doctor_say(a, DOCTOR_LESS, "mend user namespaces first",
		    "not tried: no user namespace");
	else
		doctor_say(a, DOCTOR_BAD, "load the module overlay (modprobe "
		    "overlay); the kernel must be 5.11 or newer",
		    "cannot be mounted in a user namespace");
}

void
doctor_loop(struct doctor_answer *a)
{
	static const char mend[] = "install e2fsprogs and load the module "
	    "loop; in a container, let it use loop devices";

	if (access("/usr/sbin/mkfs.ext4", X_OK) != 0 &&
	    access("/sbin/mkfs.ext4", X_OK) != 0)
		doctor_say(a, DOCTOR_LESS, mend, "no mkfs.ext4: --disk is "
		    "refused");
	else if (access("/dev/loop-control", F_OK) != 0)
		doctor_say(a, DOCTOR_LESS, mend, "no loop devices: --disk is "
		    "refused");
	else if (getuid() != 0)
		doctor_say(a, DOCTOR_OK, "", "hold when errandd is started by "
		    "root; in a daemon of yours they are soft");
	else
		doctor_say(a, DOCTOR_OK, "", "hold");
}

/* Does a line NAME:FIRST:COUNT reach into our range? */
static int
subid_clash(const char *line)
{
	const char *p = strchr(line, ':');
	uint64_t first, count;
	char *end;

	if (p == NULL)
		return (0);
	first = strtoull(p + 1, &end, 10);
	count = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
	return (count > 0 && first <= IDS_LAST && first + count > IDS_FIRST);
}

static int
file_clash(const char *path, char *who, size_t size)
{
	char line[512];
	FILE *f;
	int hit = 0;

	if ((f = fopen(path, "re")) == NULL)
		return (0);
	while (!hit && fgets(line, sizeof(line), f) != NULL)
		if ((hit = subid_clash(line)) != 0)
			snprintf(who, size, "%s in %s", strtok(line, ":"),
			    path);
	fclose(f);
	return (hit);
}

static int
passwd_clash(char *who, size_t size)
{
	struct passwd *p;
	int hit = 0;

	setpwent();
	while (!hit && (p = getpwent()) != NULL)
		if (p->pw_uid >= IDS_FIRST && p->pw_uid <= IDS_LAST) {
			snprintf(who, size, "user %s", p->pw_name);
			hit = 1;
		}
	endpwent();
	return (hit);
}

void
doctor_ids(struct doctor_answer *a)
{
	char who[120];

	if (file_clash("/etc/subuid", who, sizeof(who)) ||
	    file_clash("/etc/subgid", who, sizeof(who)) ||
	    passwd_clash(who, sizeof(who)))
		doctor_say(a, DOCTOR_BAD, "give errandd others with "
		    "worker_uids and tenant_uids in errandd.conf",
		    "%s has ids of the range that errandd takes by default "
		    "(%" PRIu64 " to %" PRIu64 ")", who, IDS_FIRST, IDS_LAST);
	else
		doctor_say(a, DOCTOR_OK, "", "%" PRIu64 " to %" PRIu64
		    " are nobody's", IDS_FIRST, IDS_LAST);
}

/* An ordinary user's own daemon keeps its state in his home directory. */
static const char *
user_place(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (getuid() == 0 || access(RUNDIR "/errand.sock", F_OK) == 0)
		return (NULL);
	return (state != NULL && access(state, F_OK) == 0 ? state : home);
}

/* Where the daemon keeps its state, or would. */
void
doctor_state(struct doctor_answer *a)
{
	static const char *const places[] = { STATEDIR, "/var/lib", "/" };
	const char *at = user_place();
	struct statvfs s;
	uint64_t room;
	size_t i;

	if (at != NULL && statvfs(at, &s) == -1)
		at = NULL;
	for (i = 0; at == NULL && i < sizeof(places) / sizeof(places[0]); i++)
		if (statvfs(places[i], &s) == 0)
			at = places[i];
	if (at == NULL) {
		doctor_say(a, DOCTOR_LESS, "", "cannot be told");
		return;
	}
	room = (uint64_t)s.f_bavail * s.f_frsize;
	if (room < LOW_SPACE || (s.f_files > 0 && s.f_favail < 10000))
		doctor_say(a, DOCTOR_LESS, "make room, or put state_dir "
		    "elsewhere in errandd.conf", "%s free (%llu inodes) for "
		    "%s", text_bytes(room), (unsigned long long)s.f_favail,
		    at);
	else
		doctor_say(a, DOCTOR_OK, "", "%s free for %s",
		    text_bytes(room), at);
}
