/*
 * Pack files: appending, flushing, reading.  The only file that writes below
 * packs/; the bytes of a record are pack_rec.c's.
 */
#include <sys/stat.h>
#include <sys/uio.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "lib/crash.h"
#include "lib/io.h"
#include "lib/log.h"
#include "lib/objrec.h"
#include "lib/size.h"
#include "pack.h"

#define BUF_LEN         (512U * 1024)
#define EARLY           (256U * 1024)   /* then the disk may begin */
#define NAME_LEN        16
#define FILES           64              /* sealed packs held open */
#define SAMPLE          512
#define NOISE           200

_Static_assert(PACK_REC_HEAD >= OBJREC_HEAD, "squeeze needs the room");
_Static_assert(BUF_LEN >= EARLY + 2 * (PACK_REC_HEAD + OBJ_MAX),
    "one record more fits");

struct pack_file {
	uint32_t number;        /* 0: the slot is free */
	int fd;
	uint64_t used;          /* when, in reads */
};

struct packs {
	int dirfd;
	uint8_t key[PACK_KEY_LEN];
	uint32_t number;        /* 0: none is open */
	int fd;
	uint32_t next_number;   /* begun and not yet used */
	int next_fd;
	uint64_t committed;
	uint64_t synced;
	uint64_t written;
	uint8_t *buf;           /* what comes after written */
	size_t fill;
	struct pack_file files[FILES];
	uint64_t reads;
	uint64_t flushes;
	uint8_t stored[OBJ_MAX];
};

static void
name_of(uint32_t number, char *name)
{
	(void)snprintf(name, NAME_LEN, "%08" PRIu32 ".pack",
	    number % 100000000);
}

/* The number in a file's name, 0 if it is not a pack's. */
static uint32_t
number_of(const char *name)
{
	char want[NAME_LEN];
	unsigned long n;

	n = strtoul(name, NULL, 10);
	if (n == 0 || n > 99999999)
		return (0);
	name_of((uint32_t)n, want);
	return (strcmp(name, want) == 0 ? (uint32_t)n : 0);
}

static int
file_open(struct packs *ps, uint32_t number, int flags)
{
	char name[NAME_LEN];

	name_of(number, name);
	return (openat(ps->dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

struct packs *
packs_open(int dirfd, const uint8_t *key)
{
	struct packs *ps;
	size_t i;

	if ((ps = calloc(1, sizeof(*ps))) == NULL)
		goto err0;
	ps->fd = ps->next_fd = -1;
	memcpy(ps->key, key, PACK_KEY_LEN);
	for (i = 0; i < FILES; i++)
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
	for (i = 0; i < FILES; i++)
		io_close(&ps->files[i].fd);
	io_close(&ps->fd);
	io_close(&ps->next_fd);
	io_close(&ps->dirfd);
	free(ps->buf);
	free(ps);
}

int
packs_last(struct packs *ps, uint32_t *last)
{
	struct dirent *de;
	DIR *dir;
	uint32_t n;
	int fd;

	*last = 0;
	if ((fd = openat(ps->dirfd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		goto err0;
	if ((dir = fdopendir(fd)) == NULL)
		goto err1;
	errno = 0;
	while ((de = readdir(dir)) != NULL) {
		if ((n = number_of(de->d_name)) > *last)
			*last = n;
	}
	if (errno != 0)
		goto err2;
	closedir(dir);
	return (0);

err2:
	closedir(dir);
	fd = -1;
err1:
	io_close(&fd);
err0:
	log_warn("directory packs cannot be read");
	return (-1);
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x < *y ? -1 : *x > *y);
}

int
packs_list(struct packs *ps, uint32_t **numbers, size_t *count)
{
	struct dirent *de;
	size_t cap = 0;
	uint32_t n;
	void *p;
	DIR *dir;
	int fd;

	*numbers = NULL;
	*count = 0;
	if ((fd = openat(ps->dirfd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		goto err0;
	if ((dir = fdopendir(fd)) == NULL)
		goto err1;
	errno = 0;
	while ((de = readdir(dir)) != NULL) {
		if ((n = number_of(de->d_name)) == 0)
			continue;
		if ((p = size_grow(*numbers, &cap, *count + 1,
		    sizeof(n))) == NULL)
			goto err2;
		*numbers = p;
		(*numbers)[(*count)++] = n;
	}
	if (errno != 0)
		goto err2;
	closedir(dir);
	if (*count > 0)
		qsort(*numbers, *count, sizeof(n), by_number);
	return (0);

err2:
	closedir(dir);
	free(*numbers);
	*numbers = NULL;
	fd = -1;
err1:
	io_close(&fd);
err0:
	log_warn("directory packs cannot be read");
	return (-1);
}

/* Check the first bytes of a pack.  0, or -1 after logging. */
static int
head_check(struct packs *ps, int fd, uint32_t number)
{
	uint8_t head[PACK_HEAD];

	if (io_pread(fd, head, sizeof(head), 0) == -1) {
		log_warn("pack %" PRIu32 ": its header cannot be read",
		    number);
		return (-1);
	}
	if (pack_head_check(head, number, ps->key) == 0)
		return (0);
	if (errno == EPROTONOSUPPORT)
		log_warnx("pack %" PRIu32 " was written by a newer version; "
		    "install that version again", number);
	else
		log_warnx("pack %" PRIu32 ": its header is damaged, or was "
		    "made with another key", number);
	return (-1);
}

/* Compare a file's length with what the index counts on. */
static int
length_check(int fd, uint32_t number, uint64_t want, uint64_t *len)
{
	struct stat st;

	if (fstat(fd, &st) == -1) {
		log_warn("pack %" PRIu32, number);
		return (-1);
	}
	*len = (uint64_t)st.st_size;
	if (*len >= want)
		return (0);
	log_warnx("pack %" PRIu32 " has %" PRIu64 " bytes and should have %"
	    PRIu64 ": what was in the rest is lost", number, *len, want);
	return (-1);
}

int
packs_attach(struct packs *ps, uint32_t number, uint64_t committed)
{
	uint64_t len;
	int fd;

	ps->number = number;
	if ((fd = file_open(ps, number, O_RDWR)) == -1) {
		log_warn("pack %" PRIu32 " cannot be opened", number);
		goto err0;
	}
	if (length_check(fd, number, committed, &len) == -1)
		goto err1;
	if (head_check(ps, fd, number) == -1) {
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
	return (0);

err1:
	io_close(&fd);
err0:
	return (1);
}

int
packs_check(struct packs *ps, uint32_t number, uint64_t want)
{
	uint64_t len;
	int fd, rc;

	if ((fd = file_open(ps, number, O_RDONLY)) == -1) {
		log_warn("pack %" PRIu32 " cannot be opened: the objects in "
		    "it are lost", number);
		return (1);
	}
	rc = length_check(fd, number, want, &len) == -1;
	if (head_check(ps, fd, number) == -1)
		rc = errno == EPROTONOSUPPORT ? -1 : 1;
	io_close(&fd);
	return (rc);
}

int
packs_prune(struct packs *ps, uint32_t open)
{
	char name[NAME_LEN];
	struct stat st;
	uint32_t last;

	if (packs_last(ps, &last) == -1)
		return (-1);
	if (last <= open)
		return (0);
	name_of(last, name);
	if (fstatat(ps->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		log_warn("pack %" PRIu32, last);
		return (-1);
	}
	if (last != open + 1 || st.st_size > PACK_HEAD) {
		log_warnx("pack %" PRIu32 " is newer than the index: make the "
		    "index anew from the packs with \"errandctl store "
		    "rebuild-index\"", last);
		return (-1);
	}
	if (unlinkat(ps->dirfd, name, 0) == -1) {
		log_warn("pack %" PRIu32 " cannot be removed", last);
		return (-1);
	}
	CRASH_POINT("pack-pruned");
	return (0);
}

int
packs_begin(struct packs *ps, uint32_t number)
{
	uint8_t head[PACK_HEAD];
	int fd;

	pack_head_encode(number, ps->key, head);
	if ((fd = file_open(ps, number, O_RDWR | O_CREAT | O_TRUNC)) == -1)
		goto err0;
	if (io_pwrite(fd, head, sizeof(head), 0) == -1)
		goto err1;
	CRASH_POINT("pack-begun");
	ps->flushes += 2;
	if (!MUTANT("no-pack-head-sync") && fsync(fd) == -1)
		goto err1;
	CRASH_POINT("pack-head-synced");
	if (!MUTANT("no-pack-dir-sync") && fsync(ps->dirfd) == -1)
		goto err1;
	CRASH_POINT("pack-dir-synced");
	io_close(&ps->next_fd);
	ps->next_fd = fd;
	ps->next_number = number;
	return (0);

err1:
	io_close(&fd);
err0:
	log_warn("pack %" PRIu32 " cannot be begun", number);
	return (-1);
}

void
packs_use(struct packs *ps)
{
	io_close(&ps->fd);
	ps->fd = ps->next_fd;
	ps->next_fd = -1;
	ps->number = ps->next_number;
	ps->committed = ps->synced = ps->written = PACK_HEAD;
	ps->fill = 0;
}

uint32_t
packs_number(const struct packs *ps)
{
	return (ps->number);
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

int
pack_write(struct packs *ps)
{
	if (ps->fill == 0)
		return (0);
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
 * 221 different values on average, and hardly ever as few as NOISE.
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
	return (0);
}

int
pack_append(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
    const uint8_t *raw, size_t len, struct pack_loc *loc)
{
	struct pack_rec rec = { .tenant = tenant, .ref = *ref };
	uint8_t *at;

	if (room(ps) == -1)
		return (-1);
	at = ps->buf + ps->fill;
	if (squeeze(ref, raw, len, at + PACK_REC_HEAD, &rec) == -1)
		return (-1);
	pack_rec_encode(&rec, at + PACK_REC_HEAD, ps->key, ps->number,
	    packs_end(ps), at);
	loc->pack = ps->number;
	loc->off = (uint32_t)packs_end(ps);
	loc->len = rec.len;
	loc->raw_len = rec.raw_len;
	loc->codec = rec.codec;
	ps->fill += PACK_REC_HEAD + rec.len;
	return (0);
}

void
pack_rewind(struct packs *ps, uint64_t end)
{
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
	int saved;

	if (packs_unsynced(ps) == 0)
		return (0);
	if (pack_write(ps) == -1)
		goto err0;
	CRASH_POINT("pack-written");
	ps->flushes++;
	if (!MUTANT("no-data-barrier") && fdatasync(ps->fd) == -1)
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

/* A descriptor to read a pack by: the one longest unused makes room. */
static int
fd_of(struct packs *ps, uint32_t number)
{
	struct pack_file *f, *old = &ps->files[0];
	size_t i;

	if (number == ps->number && ps->fd != -1)
		return (ps->fd);
	ps->reads++;
	for (i = 0; i < FILES; i++) {
		f = &ps->files[i];
		if (f->number == number) {
			f->used = ps->reads;
			return (f->fd);
		}
		if (f->used < old->used)
			old = f;
	}
	io_close(&old->fd);
	old->number = 0;
	if ((old->fd = file_open(ps, number, O_RDONLY)) == -1)
		return (-1);
	old->number = number;
	old->used = ps->reads;
	return (old->fd);
}

ssize_t
pack_pread(struct packs *ps, uint32_t number, uint8_t *buf, size_t len,
    uint64_t off)
{
	size_t have = 0;
	ssize_t n;
	int fd;

	if ((fd = fd_of(ps, number)) == -1)
		return (-1);
	while (have < len) {
		n = pread(fd, buf + have, len - have, (off_t)(off + have));
		if (n == -1 && errno != EINTR)
			return (-1);
		if (n == 0)
			break;
		if (n > 0)
			have += (size_t)n;
	}
	return ((ssize_t)have);
}

int
pack_size(struct packs *ps, uint32_t number, uint64_t *len)
{
	struct stat st;
	int fd;

	if ((fd = fd_of(ps, number)) == -1 || fstat(fd, &st) == -1)
		return (-1);
	*len = (uint64_t)st.st_size;
	return (0);
}

const uint8_t *
packs_key(const struct packs *ps)
{
	return (ps->key);
}

/* Both parts of a record in one call.  A short file is a damaged one. */
static int
read_at(int fd, uint64_t off, uint8_t *head, uint8_t *body, size_t len)
{
	struct iovec iov[2] = {
		{ head, PACK_REC_HEAD },
		{ body, len }
	};
	ssize_t n;

	do
		n = preadv(fd, iov, 2, (off_t)off);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (-1);
	if ((size_t)n != PACK_REC_HEAD + len) {
		errno = EBADMSG;
		return (-1);
	}
	return (0);
}

/* Does the header say what the index says? */
static int
agrees(const struct pack_rec *rec, uint32_t tenant, const struct obj_ref *ref,
    const struct pack_loc *loc)
{
	return (rec->tenant == tenant && obj_ref_equal(&rec->ref, ref) &&
	    rec->codec == loc->codec && rec->len == loc->len &&
	    rec->raw_len == loc->raw_len);
}

/*
 * Read a record and check all of it: ${*body} is what is stored, in ${raw} when
 * that is the object itself.
 */
static int
read_checked(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
    const struct pack_loc *loc, uint8_t *raw, uint8_t **stored)
{
	uint8_t head[PACK_REC_HEAD];
	struct pack_rec rec;
	struct objrec packed;
	struct obj_ref is;
	uint8_t *body = loc->codec == OBJREC_RAW ? raw : ps->stored;
	int fd;

	if (loc->raw_len > OBJ_MAX || loc->len > loc->raw_len)
		goto damaged;
	if ((fd = fd_of(ps, loc->pack)) == -1) {
		if (errno == ENOENT)
			goto damaged;
		goto err0;
	}
	if (read_at(fd, loc->off, head, body, loc->len) == -1) {
		if (errno == EIO || errno == EBADMSG)
			goto damaged;
		goto err0;
	}
	if (pack_rec_decode(head, ps->key, loc->pack, loc->off, &rec) == -1 ||
	    !agrees(&rec, tenant, ref, loc) ||
	    pack_rec_verify(head, &rec, body) == -1)
		goto damaged;
	packed.ref = *ref;
	packed.codec = rec.codec;
	packed.raw_len = rec.raw_len;
	packed.len = rec.len;
	if (body != raw && objrec_unpack(&packed, body, raw) == -1) {
		if (errno == ENOMEM)
			goto err0;
		goto damaged;
	}
	if (obj_ref_of(ref->kind, raw, rec.raw_len, &is) == -1 ||
	    !obj_ref_equal(&is, ref))
		goto damaged;
	*stored = body;
	return (0);

damaged:
	errno = EBADMSG;
err0:
	return (-1);
}

int
pack_read(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
    const struct pack_loc *loc, uint8_t *raw)
{
	uint8_t *stored;

	return (read_checked(ps, tenant, ref, loc, raw, &stored));
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
	uint8_t raw[OBJ_MAX], *stored, *at;

	if (read_checked(ps, tenant, ref, loc, raw, &stored) == -1 ||
	    room(ps) == -1)
		return (-1);
	at = ps->buf + ps->fill;
	memcpy(at + PACK_REC_HEAD, stored, loc->len);
	pack_rec_encode(&rec, at + PACK_REC_HEAD, ps->key, ps->number,
	    packs_end(ps), at);
	*to = *loc;             /* which may be the same */
	to->pack = ps->number;
	to->off = (uint32_t)packs_end(ps);
	ps->fill += PACK_REC_HEAD + to->len;
	return (0);
}

/* Nobody may read the file through a descriptor that is held open. */
static void
fd_drop(struct packs *ps, uint32_t number)
{
	size_t i;

	for (i = 0; i < FILES; i++) {
		if (ps->files[i].number != number)
			continue;
		io_close(&ps->files[i].fd);
		ps->files[i].number = 0;
		ps->files[i].used = 0;
	}
}

int
packs_remove(struct packs *ps, uint32_t number)
{
	char name[NAME_LEN];

	fd_drop(ps, number);
	name_of(number, name);
	if (unlinkat(ps->dirfd, name, 0) == -1 && errno != ENOENT)
		goto err0;
	ps->flushes++;
	if (!MUTANT("no-remove-dirsync") && fsync(ps->dirfd) == -1)
		goto err0;
	return (0);

err0:
	log_warn("pack %" PRIu32 " cannot be removed", number);
	return (-1);
}

static int
is_named(const uint32_t *named, size_t n, uint32_t number)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (named[mid] < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo < n && named[lo] == number);
}

int
packs_sweep(struct packs *ps, const uint32_t *named, size_t n, uint32_t open)
{
	struct dirent *de;
	uint32_t number;
	DIR *dir;
	int fd, rc = 0;

	if ((fd = openat(ps->dirfd, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		goto err0;
	if ((dir = fdopendir(fd)) == NULL)
		goto err1;
	while ((de = readdir(dir)) != NULL) {
		number = number_of(de->d_name);
		if (number == 0 || number >= open ||
		    is_named(named, n, number))
			continue;
		log_info("pack %" PRIu32 " has been rewritten: removed",
		    number);
		if (packs_remove(ps, number) == -1)
			rc = -1;
	}
	closedir(dir);
	return (rc);

err1:
	io_close(&fd);
err0:
	log_warn("directory packs cannot be read");
	return (-1);
}
