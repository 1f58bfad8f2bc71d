/*
 * What the index keeps of packs: how long they are, and how much of them is
 * still needed.  Reaches the file through index.c only.
 */
#include <errno.h>

#include "index.h"
#include "index_key.h"
#include "index_pack.h"
#include "lib/le.h"
#include "lib/log.h"
#include "pack_rec.h"

#define KEY_LEN         4
#define LEN_1           9
#define LEN_2           17
#define VALUE_LEN       25

#define END             "open pack"
#define END_LEN         12

static int
decode(uint32_t number, const uint8_t *v, size_t len, struct ix_pack *pack)
{
	if (len != LEN_1 && len != LEN_2 && len != VALUE_LEN)
		goto err0;
	pack->number = number;
	pack->len = le_get64(v);
	pack->sealed = v[8];
	if (pack->len < PACK_HEAD)
		goto err0;
	pack->live = len == LEN_1 ? pack->len - PACK_HEAD : le_get64(v + 9);
	pack->journal = len == VALUE_LEN ? le_get64(v + 17) : 0;
	return (0);

err0:
	log_warnx("index: a malformed entry in pack");
	errno = EUCLEAN;
	return (-1);
}

int
ix_pack_get(struct ix *ix, uint32_t number, struct ix_pack *pack)
{
	uint8_t key[KEY_LEN];
	const void *v;
	size_t len;

	be_put32(key, number);
	if (ix_get(ix, IX_PACK, key, sizeof(key), &v, &len) == -1)
		return (-1);
	return (decode(number, v, len, pack));
}

static int
put(struct ix *ix, const struct ix_pack *pack)
{
	uint8_t key[KEY_LEN], v[VALUE_LEN];

	be_put32(key, pack->number);
	le_put64(v, pack->len);
	v[8] = pack->sealed;
	le_put64(v + 9, pack->live);
	le_put64(v + 17, pack->journal);
	return (ix_put(ix, IX_PACK, key, sizeof(key), v, sizeof(v)));
}

static int
end_put(struct ix *ix, const struct ix_pack *open)
{
	uint8_t v[END_LEN];

	le_put32(v, open->number);
	le_put64(v + 4, open->len);
	return (ix_put(ix, IX_TOP, END, sizeof(END) - 1, v, sizeof(v)));
}

int
ix_pack_put(struct ix *ix, const struct ix_pack *pack)
{
	struct ix_pack was, is = *pack;

	is.live = 0;
	if (ix_pack_get(ix, pack->number, &was) == 0)
		is.live = was.live;
	else if (errno != ENOENT)
		return (-1);
	if (!pack->sealed && end_put(ix, pack) == -1)
		return (-1);
	return (put(ix, &is));
}

int
ix_pack_end_check(struct ix *ix, const struct ix_pack *open)
{
	const void *v;
	size_t len;

	if (ix_get(ix, IX_TOP, END, sizeof(END) - 1, &v, &len) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (len == END_LEN && le_get32(v) == open->number &&
	    le_get64((const uint8_t *)v + 4) == open->len)
		return (0);
	log_warnx("index: it says two things of where the open pack ends");
	errno = EUCLEAN;
	return (-1);
}

int
ix_pack_live(struct ix *ix, uint32_t number, int64_t delta)
{
	struct ix_pack pack;
	uint64_t n = delta < 0 ? (uint64_t)-delta : (uint64_t)delta;

	if (ix_pack_get(ix, number, &pack) == -1) {
		/* The pack of a damaged object may have been given up. */
		return (errno == ENOENT && delta < 0 ? 0 : -1);
	}
	if (delta >= 0)
		pack.live += n;
	else
		pack.live -= n < pack.live ? n : pack.live;
	return (put(ix, &pack));
}

int
ix_pack_del(struct ix *ix, uint32_t number)
{
	uint8_t key[KEY_LEN];

	be_put32(key, number);
	return (ix_del(ix, IX_PACK, key, sizeof(key)));
}

struct packs_cookie {
	ix_pack_fn *fn;
	void *cookie;
};

static int
on_pack(void *arg, const uint8_t *key, size_t klen, const uint8_t *v,
    size_t len)
{
	struct packs_cookie *c = arg;
	struct ix_pack pack;

	if (klen != KEY_LEN) {
		errno = EUCLEAN;
		return (-1);
	}
	if (decode(be_get32(key), v, len, &pack) == -1)
		return (-1);
	return (c->fn(c->cookie, &pack));
}

int
ix_packs(struct ix *ix, ix_pack_fn *fn, void *cookie)
{
	struct packs_cookie c = { fn, cookie };

	return (ix_scan(ix, IX_PACK, "", 0, 0, on_pack, &c));
}
