/*
 * The secret with which packs are authenticated (their MACs), in the file
 * "key".  No key of the index, no tenant's key, and not the host's signing key.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "key.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pack_rec.h"

static int
key_make(int dirfd, uint8_t *key)
{
	/* The packs of another key would be of no use. */
	if (faccessat(dirfd, "packs", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		log_warnx("the file key is gone: put it back from a backup, "
		    "or move packs and index away to begin anew");
		return (-1);
	}
	randombytes_buf(key, PACK_KEY_LEN);
	if (io_file_replace(dirfd, "key", 0600, key, PACK_KEY_LEN) == -1) {
		log_warn("the file key cannot be written");
		return (-1);
	}
	return (0);
}

int
key_load(int dirfd, uint8_t *key)
{
	uint8_t *buf;
	size_t len;
	int rc = -1;

	if (io_file_read(dirfd, "key", 4096, &buf, &len) == -1) {
		if (errno == ENOENT)
			return (key_make(dirfd, key));
		log_warn("the file key cannot be read");
		return (-1);
	}
	if (len == PACK_KEY_LEN) {
		memcpy(key, buf, PACK_KEY_LEN);
		rc = 0;
	} else
		log_warnx("the file key is damaged: put it back from a "
		    "backup");
	sodium_memzero(buf, len);
	free(buf);
	return (rc);
}
