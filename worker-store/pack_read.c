/*
 * Reading from packs, by descriptors that are held open.  Everything of a
 * record is checked each time it is read.  Writes nothing.
 */
#include <sys/stat.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/io.h"
#include "lib/objrec.h"
#include "pack_internal.h"

/* A descriptor to read a pack by: the one longest unused makes room. */
static int
fd_of(struct packs *ps, uint32_t number)
{
	struct pack_file *f, *old = &ps->files[0];
	size_t i;

	if (number == ps->number && ps->fd != -1)
		return (ps->fd);
	ps->reads++;
	for (i = 0; i < PACK_FILES; i++) {
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
	if ((old->fd = pack_file_open(ps, number, O_RDONLY)) == -1)
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
int
pack_read_stored(struct packs *ps, uint32_t tenant, const struct obj_ref *ref,
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

	return (pack_read_stored(ps, tenant, ref, loc, raw, &stored));
}

void
pack_read_drop(struct packs *ps, uint32_t number)
{
	size_t i;

	for (i = 0; i < PACK_FILES; i++) {
		if (ps->files[i].number != number)
			continue;
		io_close(&ps->files[i].fd);
		ps->files[i].number = 0;
		ps->files[i].used = 0;
	}
}
