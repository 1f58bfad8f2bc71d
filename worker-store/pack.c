/*
 * The open pack: appending and flushing.  The only file that writes bytes of
 * records; what they are is pack_rec.c's, files come and go in pack_dir.c.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/objrec.h"
#include "pack_internal.h"
#include "stint.h"

#define BUF_LEN         (512U * 1024)
#define EARLY           (256U * 1024)   /* then the disk may begin */
#define SAMPLE          256
#define NOISE           140

_Static_assert(PACK_REC_HEAD >= OBJREC_HEAD, "squeeze needs the room");
_Static_assert(BUF_LEN >= EARLY + 2 * (PACK_REC_HEAD + OBJ_MAX),
    "one record more fits");

struct packs *
packs_open(int dirfd, const uint8_t *key)
{
	struct packs *ps;
	size_t i;

	if ((ps = calloc(1, sizeof(*ps))) == NULL)
		goto err0;
	ps->fd = ps->next_fd = ps->dead_fd = -1;
	memcpy(ps->key, key, PACK_KEY_LEN);
	for (i = 0; i < PACK_FILES; i++)
		ps->files[i].fd = -1;
	if ((ps->buf = malloc(BUF_LEN)) == NULL)
		goto err1;
	if (mkdirat(dirfd, "packs", 0700) == 0) {
		if (fsync(dirfd) == -1)
			goto err2;
	} else if (errno != EEXIST)
		goto err2;
	ps->dirfd = openat(dirfd, "packs", O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW);
	if (ps->dirfd == -1)
		goto err2;
	return (ps);

err2:
	free(ps->buf);
err1:
	free(ps);
err0:
	log_warn("directory packs cannot be opened");
	return (NULL);
}

void
packs_close(struct packs *ps)
{
	size_t i;

	if (ps == NULL)
		return;
	for (i = 0; i < PACK_FILES; i++)
		io_close(&ps->files[i].fd);
	io_close(&ps->fd);
	io_close(&ps->next_fd);
	io_close(&ps->dead_fd);
	io_close(&ps->dirfd);
	free(ps->buf);
	free(ps);
}

int
packs_attach(struct packs *ps, uint32_t number, uint64_t committed,
    uint64_t journal)
{
	uint64_t len;
	int fd;

	ps->number = number;
	if ((fd = pack_file_open(ps, number, O_RDWR)) == -1)
		return (pack_unopened(number));
	if (pack_length_check(fd, number, committed, &len) == -1)
		goto err1;
	if (pack_head_read(ps, fd, number) == -1) {
		if (errno == EPROTONOSUPPORT) {
			io_close(&fd);
			return (-1);
		}
		goto err1;
	}
	if (len > committed) {
		log_info("pack %" PRIu32 ": %" PRIu64 " bytes of an "
		    "unfinished batch dropped", number, len - committed);
		if (ftruncate(fd, (off_t)committed) == -1)
			goto err1;
		CRASH_POINT("pack-tail-cut");
	}
	ps->fd = fd;
	ps->committed = ps->synced = ps->written = committed;
	ps->journal = journal;
	return (0);

err1:
	io_close(&fd);
	return (1);
}

void
packs_use(struct packs *ps)
{
	io_close(&ps->fd);
	ps->fd = ps->next_fd;
	ps->next_fd = -1;
	ps->number = ps->next_number;
	ps->committed = ps->synced = ps->written = PACK_HEAD;
	ps->journal = 0;
	ps->fill = ps->nbare = 0;
}

uint32_t
packs_number(const struct packs *ps)
{
	return (ps->number);
}

const uint8_t *
packs_key(const struct packs *ps)
{
	return (ps->key);
}

uint64_t
packs_end(const struct packs *ps)
{
	return (ps->written + ps->fill);
}

uint64_t
packs_unsynced(const struct packs *ps)
{
	return (packs_end(ps) - ps->synced);
}

uint64_t
packs_journal(const struct packs *ps)
{

	return (ps->journal);
}

int
packs_full(const struct packs *ps)
{
	return (ps->fd == -1 || packs_end(ps) > TEST_NUMBER("pack-seal",
	    PACK_FILE_MAX - PACK_SPARE));
}

uint64_t
packs_flushes(const struct packs *ps)
{
	return (ps->flushes);
}

/*
 * Let the disk begin with what was just handed to the kernel, while we hash
 * what comes next; the barrier then waits for less.  Whole pages only: one
 * that is being written would hold up who adds to it.
 */
static void
begin_writing(const struct packs *ps)
{
	const uint64_t page = 4096;
	uint64_t from = ps->written & ~(page - 1);
	uint64_t to = (ps->written + ps->fill) & ~(page - 1);

	if (ps->fill >= EARLY)
		(void)sync_file_range(ps->fd, (off_t)from, (off_t)(to - from),
		    SYNC_FILE_RANGE_WRITE);
}

/* The MACs that headers in the buffer still lack. */
static void
seal(struct packs *ps)
{
	pack_rec_seal(ps->bare, ps->nbare, ps->key, ps->number);
	ps->nbare = 0;
}

int
pack_write(struct packs *ps)
{
	if (ps->fill == 0)
		return (0);
	seal(ps);
	if (io_pwrite(ps->fd, ps->buf, ps->fill, (off_t)ps->written) == -1)
		return (-1);
	begin_writing(ps);
	ps->written += ps->fill;
	ps->fill = 0;
	return (0);
}

/* Make room in the buffer for the largest record. */
static int
room(struct packs *ps)
{
	const size_t most = PACK_REC_HEAD + OBJ_MAX;

	if (ps->fd == -1 || packs_end(ps) > PACK_FILE_MAX - most) {
		errno = ENOSPC;
		return (-1);
	}
	if (ps->fill >= EARLY + most)
		return (pack_write(ps));
	return (0);
}

/*
 * Do the bytes look like noise?  Then compressing them is not even tried: that
 * costs more than all the rest of a small object.  SAMPLE random bytes have
 * 162 different values on average, and hardly ever as few as NOISE.
 */
static int
is_noise(const uint8_t *raw, size_t len)
{
	uint8_t seen[256] = { 0 };
	unsigned int values = 0;
	size_t i;

	if (len < SAMPLE)
		return (0);
	for (i = 0; i < SAMPLE; i++)
		seen[raw[i]] = 1;
	for (i = 0; i < sizeof(seen); i++)
		values += seen[i];
	return (values > NOISE);
}

/*
 * Trees and lists are ids for the greater part, and zstd takes a quarter off
 * them at best: for more time than hashing them takes, each time that somebody
 * writes or looks into one.
 */
static int
mostly_ids(const struct obj_ref *ref)
{
	return (ref->kind == OBJ_TREE || ref->kind == OBJ_LIST);
}

/* Make the stored bytes at ${out}, and what their header says of them. */
static int
squeeze(const struct obj_ref *ref, const uint8_t *raw, size_t len,
    uint8_t *out, struct pack_rec *rec)
{
	struct objrec packed;
	size_t n;

	if (mostly_ids(ref) || is_noise(raw, len)) {
		memcpy(out, raw, len);
		rec->codec = OBJREC_RAW;
		rec->raw_len = rec->len = (uint32_t)len;
		return (0);
	}
	/* Its own header ends where the bytes begin, and is written over. */
	out -= OBJREC_HEAD;
	if (objrec_pack(ref, raw, len, out, &n) == -1 ||
	    objrec_decode(out, &packed) == -1)
		return (-1);
	rec->codec = packed.codec;
	rec->raw_len = packed.raw_len;
	rec->len = packed.len;
	return (0);
}

/* A record whose bytes are in their place behind the header. */
static void
place(struct packs *ps, const struct pack_rec *rec, struct pack_loc *loc)
{
	uint8_t *at = ps->buf + ps->fill;

	pack_rec_fill(rec, at + PACK_REC_HEAD, at);
	ps->bare[ps->nbare++] = (struct pack_rec_place){ at, packs_end(ps) };
	if (ps->nbare == HASH_MANY_MAX)
		seal(ps);
	loc->pack = ps->number;
	loc->off = (uint32_t)packs_end(ps);
	loc->len = rec->len;
	loc->raw_len = rec->raw_len;
	loc->codec = rec->codec;
	ps->fill += PACK_REC_HEAD + rec->len;
}

int
pack_append(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
    const uint8_t *raw, size_t len, struct pack_loc *loc)
{
	struct pack_rec rec = { .tenant = tenant, .ref = *ref };

	if (room(ps) == -1 || squeeze(ref, raw, len, ps->buf + ps->fill +
	    PACK_REC_HEAD, &rec) == -1)
		return (-1);
	place(ps, &rec, loc);
	return (0);
}

int
pack_copy(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
    const struct pack_loc *loc, struct pack_loc *to)
{
	struct pack_rec rec = {
		.tenant = tenant,
		.ref = *ref,
		.codec = loc->codec,
		.raw_len = loc->raw_len,
		.len = loc->len
	};
	uint8_t raw[OBJ_MAX], *stored;

	if (pack_read_stored(ps, tenant, ref, loc, raw, &stored) == -1 ||
	    room(ps) == -1)
		return (-1);
	memcpy(ps->buf + ps->fill + PACK_REC_HEAD, stored, loc->len);
	place(ps, &rec, to);    /* which may be ${loc} */
	return (0);
}

/*
 * Their own hash keeps damaged bytes away from whoever reads them: the header
 * has none of bytes that are stored as they are.
 */
void
pack_journal_id(const uint8_t *p, size_t len, uint8_t *id)
{
	static const uint8_t person[crypto_generichash_blake2b_PERSONALBYTES] =
	    "errand.journal";

	(void)crypto_generichash_blake2b_salt_personal(id, OBJ_ID_LEN, p, len,
	    NULL, 0, NULL, person);
}

int
pack_append_journal(struct packs *ps, const uint8_t *p, size_t len)
{
	struct pack_rec rec = {
		.ref = { .kind = PACK_JOURNAL },
		.codec = OBJREC_RAW,
		.raw_len = (uint32_t)len,
		.len = (uint32_t)len
	};
	uint8_t *at;

	if (room(ps) == -1)
		return (-1);
	at = ps->buf + ps->fill;
	pack_journal_id(p, len, rec.ref.id);
	memcpy(at + PACK_REC_HEAD, p, len);
	pack_rec_encode(&rec, p, ps->key, ps->number, packs_end(ps), at);
	ps->fill += PACK_REC_HEAD + len;
	ps->journal += PACK_REC_HEAD + len;
	return (0);
}

void
pack_rewind(struct packs *ps, uint64_t end)
{
	while (ps->nbare > 0 && ps->bare[ps->nbare - 1].off >= end)
		ps->nbare--;
	if (end >= ps->written) {
		ps->fill = (size_t)(end - ps->written);
		return;
	}
	ps->fill = 0;
	ps->written = end;
	if (ps->synced > end)
		ps->synced = end;
	/* Only to give the room back: it will be written over otherwise. */
	if (ftruncate(ps->fd, (off_t)end) == -1)
		log_warn("pack %" PRIu32 " cannot be truncated", ps->number);
}

int
pack_sync(struct packs *ps)
{
	struct stint s;
	int rc, saved;

	if (packs_unsynced(ps) == 0)
		return (0);
	if (pack_write(ps) == -1)
		goto err0;
	CRASH_POINT("pack-written");
	ps->flushes++;
	stint_begin(&s);
	rc = MUTANT("no-data-barrier") ? 0 : fdatasync(ps->fd);
	stint_flushed(&s);
	if (rc == -1)
		goto err0;
	CRASH_POINT("pack-synced");
	ps->synced = ps->written;
	return (0);

err0:
	saved = errno;
	log_warn("pack %" PRIu32 " cannot be flushed", ps->number);
	pack_rewind(ps, ps->committed);
	errno = saved;
	return (-1);
}

void
pack_committed(struct packs *ps)
{
	ps->committed = ps->synced;
}
