/*
 * Sealed memory files, made and checked.  What another process hands us is
 * hostile until memfd_map has looked at it.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "io.h"
#include "memfd.h"

/* Newer than the oldest headers we build with. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS   (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/*
 * Not executable where the kernel can (6.3).  Before that the flag is EINVAL;
 * so is a bad name, hence only a success without it is remembered.
 */
static int
memfd_new(const char *name)
{
	static int plain;
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd;

	if (!plain) {
		fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
		if (fd != -1 || errno != EINVAL)
			return (fd);
	}
	if ((fd = memfd_create(name, flags)) != -1)
		plain = 1;
	return (fd);
}

/* write(2) beats a mapping: no page faults, no unmapping. */
int
memfd_make(const char *name, const void *buf, size_t len)
{
	int fd;

	if ((fd = memfd_new(name)) == -1)
		goto err0;
	if (io_write(fd, buf, len) == -1)
		goto err1;
	if (fcntl(fd, F_ADD_SEALS, SEALS) == -1)
		goto err1;
	return (fd);

err1:
	io_close(&fd);
err0:
	return (-1);
}

int
memfd_open(const char *name, size_t len, uint8_t **map)
{
	void *p = NULL;
	int fd;

	if (len > INT64_MAX) {
		errno = EFBIG;
		goto err0;
	}
	if ((fd = memfd_new(name)) == -1)
		goto err0;
	if (ftruncate(fd, (off_t)len) == -1)
		goto err1;
	if (len > 0) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			goto err1;
	}
	*map = p;
	return (fd);

err1:
	io_close(&fd);
err0:
	return (-1);
}

/* The kernel refuses F_SEAL_WRITE while a writable mapping exists. */
int
memfd_seal(int fd, uint8_t *map, size_t maplen, size_t len)
{

	if (map != NULL && munmap(map, maplen) == -1)
		return (-1);
	if (len > maplen) {
		errno = EINVAL;
		return (-1);
	}
	if (len < maplen && ftruncate(fd, (off_t)len) == -1)
		return (-1);
	return (fcntl(fd, F_ADD_SEALS, SEALS));
}

/*
 * Only memory files have seals, so F_GET_SEALS also tells a file on disk, a
 * pipe or a device from a memfd.  The seals come before the size: after them
 * it cannot change.
 */
static int
memfd_check(int fd, size_t max, size_t *len)
{
	struct stat st;
	int seals;

	if ((seals = fcntl(fd, F_GET_SEALS)) == -1 || (seals & SEALS) != SEALS)
		goto err0;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		goto err0;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		goto err0;
	*len = (size_t)st.st_size;
	return (0);

err0:
	errno = EPROTO;
	return (-1);
}

/*
 * MAP_PRIVATE: before Linux 6.7 a shared mapping of a write-sealed memfd is
 * refused, even a read-only one.
 */
int
memfd_map(int fd, size_t max, const uint8_t **map, size_t *len)
{
	void *p = NULL;
	size_t n;

	if (memfd_check(fd, max, &n) == -1)
		return (-1);
	if (n > 0) {
		p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			/* It was opened without the right to read. */
			if (errno == EACCES)
				errno = EPROTO;
			return (-1);
		}
	}
	*map = p;
	*len = n;
	return (0);
}

void
memfd_unmap(const uint8_t *map, size_t len)
{

	if (map != NULL)
		munmap((void *)(uintptr_t)map, len);
}
