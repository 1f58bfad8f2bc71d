#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "lib/log.h"
#include "worker-store/pack.h"
#include "worker-store/pack_walk.h"

/*
 * A pack of three records, damaged as the input says: u32 offset, then bytes
 * that are written there; again and again.  Whatever a walk then finds sound
 * is one of the three, at its own place.
 */
#define RECORDS 3

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char top[] = "/tmp/errand-fuzz-XXXXXX";
static uint8_t image[8192];
static size_t image_len;
static uint64_t places[RECORDS];
static int dirfd = -1, packfd = -1;
static const uint8_t key[PACK_KEY_LEN] = { 7 };

static void
clean(void)
{
	(void)unlinkat(dirfd, "packs/00000001.pack", 0);
	(void)unlinkat(dirfd, "packs", AT_REMOVEDIR);
	(void)rmdir(top);
}

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
make(void)
{
	struct obj_ref ref;
	struct pack_loc loc;
	struct packs *ps;
	uint8_t raw[900];
	ssize_t n;

	log_init("fuzz", LOG_LEVEL_ERROR);
	must(sodium_init() != -1 && mkdtemp(top) != NULL);
	must((dirfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) != -1);
	atexit(clean);
	must((ps = packs_open(dirfd, key)) != NULL);
	must(packs_begin(ps, 1) == 0);
	packs_use(ps);
	memset(raw, 'a', sizeof(raw));
	must(obj_ref_of(OBJ_CHUNK, raw, sizeof(raw), &ref) == 0);
	places[0] = packs_end(ps);
	must(pack_append(ps, 5, &ref, raw, sizeof(raw), &loc) == 0);
	places[1] = packs_end(ps);
	must(pack_append_journal(ps, (const uint8_t *)"journal", 7) == 0);
	randombytes_buf_deterministic(raw, sizeof(raw), key);
	must(obj_ref_of(OBJ_CHUNK, raw, sizeof(raw), &ref) == 0);
	places[2] = packs_end(ps);
	must(pack_append(ps, 6, &ref, raw, sizeof(raw), &loc) == 0);
	must(pack_sync(ps) == 0);
	n = pack_pread(ps, 1, image, sizeof(image), 0);
	must(n > 0 && (size_t)n < sizeof(image));
	image_len = (size_t)n;
	packs_close(ps);
	must((packfd = openat(dirfd, "packs/00000001.pack", O_RDWR |
	    O_CLOEXEC)) != -1);
}

static void
damage(const uint8_t *data, size_t len, uint8_t *buf)
{
	size_t at, n;

	while (len >= 4) {
		at = (data[0] | (size_t)data[1] << 8) % image_len;
		n = data[2] % 100;
		data += 4;
		len -= 4;
		if (n > len)
			n = len;
		if (n > image_len - at)
			n = image_len - at;
		memcpy(buf + at, data, n);
		data += n;
		len -= n;
	}
}

static void
look(struct packs *ps)
{
	static uint8_t raw[OBJ_MAX];
	struct pack_walk w;
	int found, i, steps = 0;

	if (pack_walk_open(&w, ps, 1, 0, 0) == -1)
		return;
	while ((found = pack_walk_next(&w)) != PACK_END) {
		must(found != -1 && ++steps < 1000);
		if (found != PACK_RECORD)
			continue;
		for (i = 0; i < RECORDS && places[i] != w.at; i++)
			continue;
		must(i < RECORDS);
		must(w.rec.tenant == (i == 0 ? 5 : i == 1 ? 0 : 6));
		/* Bytes stored as they are have their id for a checksum. */
		if (i != 1 && pack_walk_object(&w, raw) == -1)
			must(i == 2 && errno == EBADMSG);
	}
	must(w.unreachable <= image_len);
	pack_walk_done(&w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t buf[sizeof(image)];
	struct packs *ps;
	size_t cut = image_len;

	if (packfd == -1) {
		make();
		cut = image_len;
	}
	memcpy(buf, image, image_len);
	/* An odd first byte cuts the file off there as well. */
	if (len > 3 && (data[0] & 1) != 0)
		cut = (data[1] | (size_t)data[2] << 8) % (image_len + 1);
	damage(data, len, buf);
	must(ftruncate(packfd, 0) == 0 &&
	    pwrite(packfd, buf, cut, 0) == (ssize_t)cut);
	must((ps = packs_open(dirfd, key)) != NULL);
	look(ps);
	packs_close(ps);
	return (0);
}
