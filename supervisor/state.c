/*
 * The state directory: its parts, its lock, the host's key.  Touches files
 * below state_dir and makes run_dir; the key is read nowhere else.
 */
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/text.h"
#include "state.h"
#include "sup.h"

#define KEY_FILE        "host.key"
#define PUB_FILE        "host.pub"
#define LOCK_TRIES      100     /* two seconds */

/* mkdir -p; parents that are made are for everybody to pass. */
static int
dirs_make(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	char *p;

	if (strlen(path) >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	strcpy(part, path);
	for (p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			return (-1);
		*p = '/';
	}
	return (mkdir(part, mode) == -1 && errno != EEXIST ? -1 : 0);
}

/*
 * Logs, store and what jobs write have nothing to do with one another.  Told
 * so, ext4 gives each an area of its own; else who makes a log there looks, for
 * minutes, at each inode that a sandbox before it gave back.
 */
static void
dir_spread(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
}

/* A directory of ours that nobody else can write to. */
static int
dir_open(int at, const char *path)
{
	struct stat sb;
	int fd;

	if ((fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return (-1);
	if (fstat(fd, &sb) == -1)
		goto err0;
	if (sb.st_uid != geteuid() || (sb.st_mode & 022) != 0) {
		errno = EPERM;
		goto err0;
	}
	return (fd);

err0:
	io_close(&fd);
	return (-1);
}

static int
sub_open(struct sup *sup, const char *name, mode_t mode)
{
	int fd;

	if (mkdirat(sup->state_fd, name, mode) == -1 && errno != EEXIST)
		goto err0;
	if ((fd = dir_open(sup->state_fd, name)) == -1)
		goto err0;
	if (fchmod(fd, mode) == -1) {
		io_close(&fd);
		goto err0;
	}
	return (fd);

err0:
	log_warn("%s/%s", sup->cfg->state_dir, name);
	return (-1);
}

/*
 * The store's directory becomes the store's.  Its parent is ours alone, so the
 * name cannot have become a link.
 */
static int
store_dir(struct sup *sup)
{
	const char *name = "store";
	uint32_t uid = sup->store_uid;

	if (mkdirat(sup->state_fd, name, 0700) == -1 && errno != EEXIST)
		goto err0;
	if (!sup->cfg->rootless && fchownat(sup->state_fd, name, uid, uid,
	    AT_SYMLINK_NOFOLLOW) == -1)
		goto err0;
	return (0);

err0:
	log_warn("%s/%s", sup->cfg->state_dir, name);
	return (-1);
}

/*
 * A daemon that was killed may have had a child that was not yet anything else
 * than its copy: that holds the lock for a moment longer.
 */
static int
lock_wait(int fd)
{
	const struct timespec step = { 0, 20 * 1000 * 1000 };
	int tries;

	for (tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return (0);
		if (errno != EWOULDBLOCK)
			return (-1);
		(void)nanosleep(&step, NULL);
	}
	return (-1);
}

static int
lock_take(struct sup *sup)
{
	int fd;

	if ((fd = openat(sup->state_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC |
	    O_NOFOLLOW, 0600)) == -1) {
		log_warn("%s/lock", sup->cfg->state_dir);
		return (-1);
	}
	if (lock_wait(fd) == -1) {
		log_warnx("%s is in use by another errandd; stop that one, or "
		    "give this one a state_dir of its own",
		    sup->cfg->state_dir);
		io_close(&fd);
		return (-1);
	}
	return (0);     /* held until the process ends */
}

static void
say_why(const char *path, int err)
{
	if (err == EPERM)
		log_warnx("%s must belong to uid %u and be writable by nobody "
		    "else; mend it with chown and chmod go-w", path,
		    (unsigned int)geteuid());
	else
		log_warnx("%s: %s", path, strerror(err));
}

static int
state_root(struct sup *sup)
{
	const char *path = sup->cfg->state_dir;

	if (dirs_make(path, sup->cfg->rootless ? 0700 : 0711) == -1)
		goto err0;
	if ((sup->state_fd = dir_open(AT_FDCWD, path)) == -1)
		goto err0;
	dir_spread(sup->state_fd);
	if (!sup->cfg->rootless)
		(void)fchmod(sup->state_fd, 0711);
	return (0);

err0:
	say_why(path, errno);
	return (-1);
}

/*
 * errand-store opens its directory as its own uid, so everybody must be able
 * to pass what is above it.
 */
int
state_passable(const struct config *cfg)
{
	char part[PATH_MAX];
	struct stat sb;
	char *p;

	if (cfg->rootless)
		return (0);
	snprintf(part, sizeof(part), "%s", cfg->state_dir);
	for (p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (stat(part, &sb) == 0 && (sb.st_mode & S_IXOTH) == 0) {
			log_warnx("%s is closed to others, and errand-store, "
			    "uid %u, must pass it to reach %s; mend it with "
			    "chmod o+x %s, or choose another state_dir", part,
			    cfg->worker_uids.first, cfg->state_dir, part);
			return (-1);
		}
		*p = '/';
	}
	return (0);
}

static int
run_root(struct sup *sup)
{
	const char *path = sup->cfg->run_dir;
	int fd;

	if (dirs_make(path, sup->cfg->rootless ? 0700 : 0755) == -1 ||
	    (fd = dir_open(AT_FDCWD, path)) == -1) {
		say_why(path, errno);
		return (-1);
	}
	io_close(&fd);
	return (0);
}

int
state_open(struct sup *sup)
{
	if (state_root(sup) == -1 || state_passable(sup->cfg) == -1 ||
	    run_root(sup) == -1 ||
	    lock_take(sup) == -1 || store_dir(sup) == -1)
		return (-1);
	if ((sup->keys_fd = sub_open(sup, "keys", 0700)) == -1 ||
	    (sup->logs_fd = sub_open(sup, "logs", 0700)) == -1 ||
	    (sup->work_fd = sub_open(sup, "run", 0711)) == -1)
		return (-1);
	/* What is flushed in them is lost without their own names. */
	if (fsync(sup->state_fd) == -1) {
		log_warn("%s", sup->cfg->state_dir);
		return (-1);
	}
	return (0);
}

void
state_close(struct sup *sup)
{
	io_close(&sup->keys_fd);
	io_close(&sup->logs_fd);
	io_close(&sup->work_fd);
	io_close(&sup->state_fd);
	sodium_memzero(sup->host_sk, sizeof(sup->host_sk));
}

void
state_tag(const struct sup *sup, char *out, size_t size)
{
	struct stat sb;

	if (fstat(sup->state_fd, &sb) == -1)
		memset(&sb, 0, sizeof(sb));
	snprintf(out, size, "%" PRIx64 "-%" PRIx64, (uint64_t)sb.st_dev,
	    (uint64_t)sb.st_ino);
}

static int
key_make(struct sup *sup)
{
	char hex[2 * 64 + 2];
	int rc;

	crypto_sign_keypair(sup->host_pk, sup->host_sk);
	text_hex(sup->host_pk, 32, hex);
	strcat(hex, "\n");
	if (io_file_replace(sup->keys_fd, PUB_FILE, 0644, hex,
	    strlen(hex)) == -1)
		return (-1);
	text_hex(sup->host_sk, 64, hex);
	strcat(hex, "\n");
	rc = io_file_replace(sup->keys_fd, KEY_FILE, 0600, hex, strlen(hex));
	sodium_memzero(hex, sizeof(hex));
	if (rc == 0)
		log_info("host key made: %s/keys/%s", sup->cfg->state_dir,
		    KEY_FILE);
	return (rc);
}

int
hostkey_open(struct sup *sup)
{
	uint8_t *buf;
	size_t len;
	int ok;

	if (io_file_read(sup->keys_fd, KEY_FILE, 129, &buf, &len) == -1) {
		if (errno == ENOENT && key_make(sup) == 0)
			return (0);
		log_warn("%s/keys/%s", sup->cfg->state_dir, KEY_FILE);
		return (-1);
	}
	if (len == 129 && buf[128] == '\n')
		buf[128] = '\0';
	ok = text_unhex((char *)buf, sup->host_sk, 64) == 0;
	sodium_memzero(buf, len);
	free(buf);
	if (!ok) {
		log_warnx("%s/keys/%s is damaged; restore it from a backup, or "
		    "remove it to get a new key (old receipts then verify "
		    "with the old public key only)", sup->cfg->state_dir,
		    KEY_FILE);
		return (-1);
	}
	crypto_sign_ed25519_sk_to_pk(sup->host_pk, sup->host_sk);
	return (0);
}
