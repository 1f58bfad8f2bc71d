/*
 * The kernel's Landlock interface, for this process.  Seccomp is in sandbox.c,
 * the loss of ids and capabilities in sandbox_drop.c.
 */
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "io.h"
#include "sandbox.h"

/*
 * The interface as of ABI 7, spelled out here: the headers we build with may
 * be years older than the kernel we run on.  The kernel takes a longer struct
 * when what it does not know is zero.
 */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset     444
#define SYS_landlock_add_rule           445
#define SYS_landlock_restrict_self      446
#endif

#define LL_ABI_MAX              7
#define LL_VERSION              (1U << 0)
#define LL_RULE_PATH_BENEATH    1

#define LL_FS_EXECUTE           (UINT64_C(1) << 0)
#define LL_FS_WRITE_FILE        (UINT64_C(1) << 1)
#define LL_FS_READ_FILE         (UINT64_C(1) << 2)
#define LL_FS_READ_DIR          (UINT64_C(1) << 3)
#define LL_FS_ABI1              ((UINT64_C(1) << 13) - 1)
#define LL_FS_MAKE_CHAR         (UINT64_C(1) << 6)
#define LL_FS_MAKE_SOCK         (UINT64_C(1) << 9)
#define LL_FS_MAKE_BLOCK        (UINT64_C(1) << 11)
#define LL_FS_REFER             (UINT64_C(1) << 13)
#define LL_FS_TRUNCATE          (UINT64_C(1) << 14)
#define LL_FS_IOCTL_DEV         (UINT64_C(1) << 15)

/* Rights that a rule on something other than a directory may name. */
#define LL_FS_FILE              (LL_FS_EXECUTE | LL_FS_WRITE_FILE | \
	LL_FS_READ_FILE | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV)

/* What some processes do nowhere. */
#define LL_FS_NEVER             (LL_FS_EXECUTE | LL_FS_MAKE_CHAR | \
	LL_FS_MAKE_SOCK | LL_FS_MAKE_BLOCK)

#define LL_NET_BIND_TCP         (UINT64_C(1) << 0)
#define LL_NET_CONNECT_TCP      (UINT64_C(1) << 1)

#define LL_SCOPE_ABSTRACT_UNIX  (UINT64_C(1) << 0)
#define LL_SCOPE_SIGNAL         (UINT64_C(1) << 1)

/* What a domain does not touch. */
#define LEAVE_NET               1U
#define LEAVE_FILES             2U      /* and signals */

struct ll_ruleset {
	uint64_t        fs;
	uint64_t        net;
	uint64_t        scoped;
};

struct ll_path {
	uint64_t        allowed;
	int32_t         fd;
} __attribute__((packed));

/* Everything that ABI ${abi} can forbid. */
static struct ll_ruleset
handled(int abi)
{
	struct ll_ruleset rs = { .fs = LL_FS_ABI1 | LL_FS_REFER };

	if (abi >= 3)
		rs.fs |= LL_FS_TRUNCATE;
	if (abi >= 4)
		rs.net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
	if (abi >= 5)
		rs.fs |= LL_FS_IOCTL_DEV;
	if (abi >= 6)
		rs.scoped = LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL;
	return (rs);
}

static int
allow_path(int ruleset, uint64_t all, const struct sandbox_path *path)
{
	struct ll_path rule = { .fd = path->fd };
	struct stat st;

	if (fstat(path->fd, &st) == -1)
		return (-1);
	rule.allowed = LL_FS_READ_FILE | LL_FS_READ_DIR;
	if (path->writable)
		rule.allowed = all & ~LL_FS_EXECUTE;
	if (path->exec)
		rule.allowed |= LL_FS_EXECUTE;
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= LL_FS_FILE;
	if ((all & LL_FS_READ_FILE) == 0)
		rule.allowed = LL_FS_REFER;
	return ((int)syscall(SYS_landlock_add_rule, ruleset,
	    LL_RULE_PATH_BENEATH, &rule, 0));
}

/* The kernel's ABI, at most ours; 0 for none that is of use, -1 on error. */
static int
abi_get(void)
{
	long abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_VERSION);
	if (abi == -1)
		return (errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -1);
	/* ABI 1 forbids every rename between directories. */
	if (abi < 2)
		return (0);
	return (abi > LL_ABI_MAX ? LL_ABI_MAX : (int)abi);
}

/* What of a domain is left out. */
static struct ll_ruleset
ruleset(int abi, unsigned int leave)
{
	struct ll_ruleset rs = handled(abi);

	if (leave & LEAVE_NET)
		rs.net = 0;
	if (leave & LEAVE_FILES) {
		rs.fs = LL_FS_NEVER | LL_FS_REFER;
		rs.scoped &= ~LL_SCOPE_SIGNAL;
	}
	return (rs);
}

static int
allow_paths(int fd, const struct ll_ruleset *rs,
    const struct sandbox_path *paths, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (allow_path(fd, rs->fs, &paths[i]) == -1)
			return (-1);
	}
	return (0);
}

/* In the upper half of the call's first argument; see sandbox.h. */
static uint32_t sign;

void
sandbox_landlock_sign(uint32_t word)
{

	sign = word;
}

/*
 * Safe with any rights: a domain only ever takes rights away, and the rules
 * are given by descriptors that we already hold.
 */
static int
enter(int fd)
{

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (-1);
	return ((int)syscall(SYS_landlock_restrict_self,
	    (uint64_t)sign << 32 | (uint32_t)fd, 0));
}

/* The ABI, and a ruleset that has these paths in ${*fd}. */
static int
prepare(const struct sandbox_path *paths, size_t n, unsigned int leave,
    int *fd)
{
	struct ll_ruleset rs;
	int abi;

	*fd = -1;
	if ((abi = abi_get()) <= 0)
		return (abi);
	rs = ruleset(abi, leave);
	if ((*fd = (int)syscall(SYS_landlock_create_ruleset, &rs, sizeof(rs),
	    0)) == -1)
		return (-1);
	if (allow_paths(*fd, &rs, paths, n) == -1) {
		io_close(fd);
		return (-1);
	}
	return (abi);
}

static int
restrict_to(const struct sandbox_path *paths, size_t n, unsigned int leave)
{
	int abi, fd;

	if ((abi = prepare(paths, n, leave, &fd)) > 0 && enter(fd) == -1)
		abi = -1;
	io_close(&fd);
	return (abi);
}

int
sandbox_landlock(const struct sandbox_path *paths, size_t n)
{

	return (restrict_to(paths, n, 0));
}

int
sandbox_landlock_files(const struct sandbox_path *paths, size_t n)
{

	return (restrict_to(paths, n, LEAVE_NET));
}

int
sandbox_landlock_light(const struct sandbox_path *paths, size_t n)
{

	return (restrict_to(paths, n, LEAVE_FILES));
}

int
sandbox_landlock_prepare(const struct sandbox_path *paths, size_t n, int *fd)
{

	return (prepare(paths, n, LEAVE_NET, fd));
}

int
sandbox_landlock_enter(int abi, int fd, const struct sandbox_path *paths,
    size_t n)
{
	const struct ll_ruleset rs = ruleset(abi, LEAVE_NET);

	return (allow_paths(fd, &rs, paths, n) == -1 ? -1 : enter(fd));
}
