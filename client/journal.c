/*
 * The journal of an apply as bytes.  Reads and writes the user's key file and
 * nothing else.
 *
 * Little-endian: magic, job id, u64 device, u64 inode, u32 operations; per
 * operation u8 type, 3 zero, u32 slot, u32 path length, old, new, path, NUL;
 * 32 bytes keyed BLAKE2b.  Old and new: u8 kind, u8 racy, u16 mode, u64 inode,
 * u64 size, i64 mtime, reference.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "journal.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/size.h"
#include "lib/tree.h"
#include "reserved.h"
#include "state.h"

#define MAGIC           "errand apply 1\n"      /* 16 bytes with its end */
#define HEAD            (16 + JOB_ID_LEN + 8 + 8 + 4)
#define FILE_LEN        (4 + 8 + 8 + 8 + OBJ_REF_LEN)
#define OP_LEN          (12 + 2 * FILE_LEN)
#define MAC_LEN         32

int
journal_add(struct journal *j, const struct jop *op)
{
	struct jop *v;

	if ((v = size_grow(j->ops, &j->cap, j->n + 1, sizeof(*v))) == NULL)
		return (-1);
	j->ops = v;
	v[j->n++] = *op;
	return (0);
}

void
journal_done(struct journal *j)
{
	free(j->ops);
	free(j->buf);
	memset(j, 0, sizeof(*j));
}

static uint8_t *
put_file(uint8_t *p, const struct jfile *f)
{
	p[0] = f->kind;
	p[1] = f->racy;
	le_put16(p + 2, (uint16_t)f->mode);
	le_put64(p + 4, f->ino);
	le_put64(p + 12, f->size);
	le_put64(p + 20, (uint64_t)f->mtime_ns);
	obj_ref_encode(&f->ref, p + 28);
	return (p + FILE_LEN);
}

static uint8_t *
put_op(uint8_t *p, const struct jop *op)
{
	memset(p, 0, 4);
	p[0] = op->type;
	le_put32(p + 4, op->slot);
	le_put32(p + 8, op->path_len);
	p = put_file(p + 12, &op->old);
	p = put_file(p, &op->new);
	memcpy(p, op->path, op->path_len);
	p[op->path_len] = '\0';
	return (p + op->path_len + 1);
}

int
journal_pack(const struct journal *j, const uint8_t *key, uint8_t **buf,
    size_t *len)
{
	size_t need = HEAD + MAC_LEN, i;
	uint8_t *p;

	for (i = 0; i < j->n; i++)
		need += OP_LEN + j->ops[i].path_len + 1;
	if ((*buf = p = malloc(need)) == NULL)
		return (-1);
	memcpy(p, MAGIC, 16);
	memcpy(p + 16, j->job, JOB_ID_LEN);
	p += 16 + JOB_ID_LEN;
	le_put64(p, j->dev);
	le_put64(p + 8, j->ino);
	le_put32(p + 16, (uint32_t)j->n);
	p += 20;
	for (i = 0; i < j->n; i++)
		p = put_op(p, &j->ops[i]);
	crypto_generichash(p, MAC_LEN, *buf, need - MAC_LEN, key, JOURNAL_KEY);
	*len = need;
	return (0);
}

static int
get_file(const uint8_t *p, struct jfile *f)
{
	f->kind = p[0];
	f->racy = p[1];
	f->mode = le_get16(p + 2);
	f->ino = le_get64(p + 4);
	f->size = le_get64(p + 12);
	f->mtime_ns = (int64_t)le_get64(p + 20);
	if (f->kind > TREE_LINK || f->racy > 1 || f->mode > 07777)
		return (-1);
	return (obj_ref_decode(p + 28, &f->ref));
}

static int
path_ok(const char *path, size_t len)
{
	size_t n;

	if (len == 0 || path[len] != '\0' || reserved_path(path, len))
		return (0);
	for (;; path += n + 1, len -= n + 1) {
		for (n = 0; n < len && path[n] != '/'; n++)
			;
		if (tree_name_fault((const uint8_t *)path, n) != NULL)
			return (0);
		if (n == len)
			return (1);
	}
}

static int
get_ops(struct journal *j, const uint8_t *p, const uint8_t *end, uint32_t n)
{
	static const uint8_t zero[3];
	struct jop op = { 0 };

	for (; n > 0; n--) {
		if (end - p < OP_LEN)
			return (-1);
		op.type = p[0];
		op.slot = le_get32(p + 4);
		op.path_len = le_get32(p + 8);
		op.path = (const char *)p + OP_LEN;
		if (op.type < JOP_CREATE || op.type > JOP_CHMOD ||
		    memcmp(p + 1, zero, sizeof(zero)) != 0 ||
		    get_file(p + 12, &op.old) == -1 ||
		    get_file(p + 12 + FILE_LEN, &op.new) == -1 ||
		    (size_t)(end - p) - OP_LEN <= op.path_len ||
		    !path_ok(op.path, op.path_len))
			return (-1);
		if (journal_add(j, &op) == -1)
			return (-1);
		p += OP_LEN + op.path_len + 1;
	}
	return (p == end ? 0 : -1);
}

int
journal_parse(const uint8_t *buf, size_t len, const uint8_t *key,
    struct journal *j)
{
	uint8_t mac[MAC_LEN], *p;

	memset(j, 0, sizeof(*j));
	errno = EPROTO;
	if (len < HEAD + MAC_LEN || memcmp(buf, MAGIC, 16) != 0)
		return (-1);
	len -= MAC_LEN;
	crypto_generichash(mac, MAC_LEN, buf, len, key, JOURNAL_KEY);
	if (sodium_memcmp(mac, buf + len, MAC_LEN) != 0) {
		errno = EACCES;
		return (-1);
	}
	if ((p = malloc(len)) == NULL)
		return (-1);
	memcpy(p, buf, len);
	j->buf = (char *)p;
	memcpy(j->job, p + 16, JOB_ID_LEN);
	j->dev = le_get64(p + 16 + JOB_ID_LEN);
	j->ino = le_get64(p + 24 + JOB_ID_LEN);
	if (!text_job_id_valid(j->job) || get_ops(j, p + HEAD, p + len,
	    le_get32(p + 32 + JOB_ID_LEN)) == -1) {
		journal_done(j);
		errno = EPROTO;
		return (-1);
	}
	return (0);
}

/* A key becomes the key by having its name; two makers agree on the first. */
static int
make_key(const char *path)
{
	char tmp[PATH_MAX + 32];
	uint8_t key[JOURNAL_KEY];
	int fd, rc = -1;

	snprintf(tmp, sizeof(tmp), "%s.%ld", path, (long)getpid());
	(void)unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	randombytes_buf(key, sizeof(key));
	if (io_write(fd, key, sizeof(key)) == 0 && fsync(fd) == 0 &&
	    (link(tmp, path) == 0 || errno == EEXIST))
		rc = 0;
	close(fd);
	(void)unlink(tmp);
	return (rc);
}

int
journal_key(uint8_t *key)
{
	char path[PATH_MAX];
	int fd, rc;

	if (state_path("apply.key", path) == -1)
		return (-1);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 && errno == ENOENT && make_key(path) == 0)
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rc = io_read(fd, key, JOURNAL_KEY);
	close(fd);
	return (rc);
}
