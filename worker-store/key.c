/*
 * The secret with which packs are authenticated (their MACs), in the file
 * "key".  No key of the index, no tenant's key, and not the host's signing key.
 * The index has a hash of it, by which another one is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "index.h"
#include "key.h"
#include "lib/io.h"
#include "lib/log.h"
#include "pack_rec.h"

#define HASH_LEN        16
#define HASH_ROOM       (256 * 1024)

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

static void
hash_of(const uint8_t *key, uint8_t *hash)
{
	static const uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] =
	    "errand.key";

	(void)crypto_generichash_blake2b_salt_personal(hash, HASH_LEN, key,
	    PACK_KEY_LEN, NULL, 0, NULL, person);
}

/*
 * Has the index this hash?  1, or 0 when it has none yet; -1 with errno:
 * EKEYREJECTED when it has another.
 */
static int
noted(struct ix *ix, const uint8_t *hash)
{
	const void *v;
	size_t len;
	int rc = 1;

	if (ix_read(ix) == -1)
		return (-1);
	if (ix_get(ix, IX_META, "key", 3, &v, &len) == -1)
		rc = errno == ENOENT ? 0 : -1;
	else if (len != HASH_LEN || memcmp(v, hash, HASH_LEN) != 0) {
		errno = EKEYREJECTED;
		rc = -1;
	}
	ix_read_end(ix);
	return (rc);
}

int
key_check(struct ix *ix, const uint8_t *key)
{
	uint8_t hash[HASH_LEN];
	int rc;

	hash_of(key, hash);
	if ((rc = noted(ix, hash)) == -1 && errno == EKEYREJECTED)
		log_warnx("the file key is not the one that the index was "
		    "made with: put that one back from a backup; if it is the "
		    "index that is another store's, make it anew with "
		    "\"errandctl store rebuild-index\"");
	return (rc == -1 ? -1 : 0);
}

int
key_note(struct ix *ix, const uint8_t *key)
{
	uint8_t hash[HASH_LEN];
	int rc;

	hash_of(key, hash);
	if ((rc = noted(ix, hash)) != 0)
		return (rc == -1 ? -1 : 0);
	if (ix_write(ix, HASH_ROOM) == -1)
		return (-1);
	if (ix_put(ix, IX_META, "key", 3, hash, sizeof(hash)) == -1) {
		ix_abort(ix);
		return (-1);
	}
	return (ix_commit(ix));
}
