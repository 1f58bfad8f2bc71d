/*
 * The loss of ids, groups and capabilities, of this process and for good.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "sandbox.h"

#define CAP_NUMBER_MAX  63      /* two words of 32 hold no more */

/* Uid 0 means nothing to capabilities, for ever. */
#define SECUREBITS      (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | \
	SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | \
	SECBIT_KEEP_CAPS_LOCKED | \
	SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int
ids_are(uid_t uid, gid_t gid)
{
	uid_t ru, eu, su;
	gid_t rg, eg, sg;

	if (getresuid(&ru, &eu, &su) == -1 || getresgid(&rg, &eg, &sg) == -1)
		return (0);
	return (ru == uid && eu == uid && su == uid &&
	    rg == gid && eg == gid && sg == gid);
}

/*
 * What needs CAP_SETPCAP, and so comes before it is lost.  Best effort: an
 * ordinary user may do neither, and has nothing that these could bring back,
 * since no_new_privs is set as well.
 */
static void
drop_future_caps(uint64_t but)
{
	int cap;

	for (cap = 0; cap <= CAP_NUMBER_MAX; cap++) {
		if ((but >> cap & 1) == 0 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1)
			break;
	}
	(void)prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0);
}

/*
 * Groups first, while we may; the user last.  With the ids that we have
 * already, there is nothing to become, and the supplementary groups are those
 * that the user is entitled to anyway.
 */
static int
become(uid_t uid, gid_t gid)
{
	int same = ids_are(uid, gid);

	if (setgroups(0, NULL) == -1 && !(same && errno == EPERM))
		return (-1);
	if (same)
		return (0);
	if (setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1)
		return (-1);
	return (0);
}

static int
caps_set(uint64_t caps, uint64_t may)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	int i;

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	memset(data, 0, sizeof(data));
	for (i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(caps >> 32 * i);
		data[i].permitted = (uint32_t)((caps | may) >> 32 * i);
	}
	return ((int)syscall(SYS_capset, &head, data));
}

static int
caps_are(uint64_t caps, uint64_t may)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	int i;

	if (syscall(SYS_capget, &head, data) == -1)
		return (0);
	for (i = 0; i < 2; i++) {
		if (data[i].effective != (uint32_t)(caps >> 32 * i) ||
		    data[i].permitted != (uint32_t)((caps | may) >> 32 * i) ||
		    data[i].inheritable != 0)
			return (0);
	}
	return (1);
}

/* Trust nothing that was said above: look, and try to come back. */
static int
verify(uid_t uid, gid_t gid)
{

	if (!ids_are(uid, gid) || !caps_are(0, 0))
		goto err0;
	if (setresuid(0, 0, 0) == 0 || setuid(0) == 0 || seteuid(0) == 0)
		goto err0;
	if (setresgid(0, 0, 0) == 0 || setegid(0) == 0)
		goto err0;
	return (0);

err0:
	errno = EPERM;
	return (-1);
}

static int
leave(unsigned int uid, unsigned int gid, uint64_t caps)
{

	/* -1 would mean "leave it", and 0 is what we are here to lose. */
	if (uid == 0 || gid == 0 || uid == (uid_t)-1 || gid == (gid_t)-1) {
		errno = EINVAL;
		return (-1);
	}
	drop_future_caps(caps);
	if (become(uid, gid) == -1 || caps_set(caps, 0) == -1)
		return (-1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (-1);
	return (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

/*
 * Safe because every step only takes something away, in an order in which no
 * step needs what an earlier one took, and because the result is checked by
 * looking at it.  On failure the process has some rights left: end it.
 */
int
sandbox_drop(unsigned int uid, unsigned int gid)
{

	if (leave(uid, gid, 0) == -1)
		return (-1);
	return (verify(uid, gid));
}

/*
 * Safe as sandbox_drop is; what stays is for the caller to justify.  It cannot
 * grow: the bounding set has nothing else, and nothing is gained by exec.
 */
int
sandbox_bound(unsigned int uid, unsigned int gid, uint64_t caps)
{

	if (leave(uid, gid, caps) == -1)
		return (-1);
	if (ids_are(uid, gid) && caps_are(caps, 0))
		return (0);
	errno = EPERM;
	return (-1);
}

int
sandbox_caps_may(uint64_t caps, uint64_t may)
{

	if (caps_set(caps, may) == -1)
		return (-1);
	if (caps_are(caps, may))
		return (0);
	errno = EPERM;
	return (-1);
}

int
sandbox_caps(uint64_t caps)
{

	return (sandbox_caps_may(caps, 0));
}
