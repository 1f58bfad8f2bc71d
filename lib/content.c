/*
 * The content of a file as chunks and lists, for bytes in memory.  The parts
 * that read a file, and that go back from objects, are content_fd.c and
 * content_read.c.
 */
#include <string.h>

#include "content.h"
#include "content_internal.h"
#include "cut.h"
#include "list.h"
#include "object_internal.h"

#define PROBE           (CONTENT_ZERO_MIN / 2)

_Static_assert(CUT_MIN < CONTENT_ZERO_MIN, "the shortest chunk holds no run");

/* Length of the zeros at the beginning of the ${len} bytes at ${p}. */
static size_t
zeros_ahead(const uint8_t *p, size_t len)
{
	uint64_t v[4];
	size_t i = 0;

	while (len - i >= sizeof(v)) {
		memcpy(v, p + i, sizeof(v));
		if ((v[0] | v[1] | v[2] | v[3]) != 0)
			break;
		i += sizeof(v);
	}
	while (i < len && p[i] == 0)
		i++;
	return (i);
}

/* Length of the zeros at the end of the ${len} bytes at ${p}. */
static size_t
zeros_behind(const uint8_t *p, size_t len)
{
	uint64_t v[4];
	size_t i = len;

	while (i >= sizeof(v)) {
		memcpy(v, p + i - sizeof(v), sizeof(v));
		if ((v[0] | v[1] | v[2] | v[3]) != 0)
			break;
		i -= sizeof(v);
	}
	while (i > 0 && p[i - 1] == 0)
		i--;
	return (len - i);
}

/*
 * Where the first run of at least CONTENT_ZERO_MIN zeros begins, or ${len}.
 * Such a run covers a whole step of PROBE bytes, so looking at the first bytes
 * of every step finds it.
 */
static size_t
find_run(const uint8_t *p, size_t len)
{
	size_t i, begin, end, floor = 0;

	for (i = 0; len - i >= PROBE; i += PROBE) {
		if (p[i] != 0 || zeros_ahead(p + i, PROBE) < PROBE)
			continue;
		begin = i - zeros_behind(p + floor, i - floor);
		end = i + zeros_ahead(p + i, len - i);
		if (end - begin >= CONTENT_ZERO_MIN)
			return (begin);
		/* What was looked at is not looked at again. */
		floor = end;
		i = end - end % PROBE;
		if (len - i < PROBE)
			break;
	}
	return (len);
}

int
encode_zeros(struct encoder *e, uint64_t len)
{
	struct list_item item = { .type = LIST_ITEM_ZERO, .len = len };

	return (list_builder_add(e->lb, &item));
}

static int
emit_chunk(struct encoder *e, const uint8_t *p, size_t len)
{
	struct list_item item = { .type = LIST_ITEM_REF, .len = len };

	if (obj_emit(OBJ_CHUNK, p, len, e->sink, e->cookie, &item.ref) == -1)
		return (-1);
	return (list_builder_add(e->lb, &item));
}

/*
 * Cut as much as can be cut of the ${len} bytes at ${p}, which are all of a
 * stretch between runs if ${last}.  Return 0 and the length in ${done}, or -1.
 */
static int
emit_stretch(struct encoder *e, const uint8_t *p, size_t len, int last,
    size_t *done)
{
	size_t n;

	*done = 0;
	while (*done < len) {
		if ((n = cut_next(p + *done, len - *done, last)) == 0)
			break;
		if (emit_chunk(e, p + *done, n) == -1)
			return (-1);
		*done += n;
	}
	return (0);
}

int
encode_window(struct encoder *e, const uint8_t *p, size_t len, int last,
    size_t *done)
{
	size_t i = 0, n, run, end;

	while (i < len) {
		if (e->in_run) {
			n = zeros_ahead(p + i, len - i);
			if (n > 0 && encode_zeros(e, n) == -1)
				return (-1);
			e->in_run = (i += n) == len;
			continue;
		}
		run = i + find_run(p + i, len - i);
		/* Zeros at the end may yet become a run: they stay. */
		end = run;
		if (run == len && !last)
			end = len - zeros_behind(p + i, len - i);
		if (emit_stretch(e, p + i, end - i, run < len || last,
		    &n) == -1)
			return (-1);
		i += n;
		if (run == len)
			break;
		e->in_run = 1;
	}
	*done = i;
	return (0);
}

int
content_from_mem(const void *p, size_t len, obj_sink_fn *sink, void *cookie,
    struct obj_ref *ref)
{
	struct encoder e = { .sink = sink, .cookie = cookie };
	size_t done;
	int rc;

	/* Most files are one chunk, too short for a run: no list is needed. */
	if (len > 0 && len <= CUT_MIN)
		return (obj_emit(OBJ_CHUNK, p, len, sink, cookie, ref));
	if (len == 0) {
		memset(ref, 0, sizeof(*ref));
		return (0);
	}
	if ((e.lb = list_builder_new()) == NULL)
		return (-1);
	if ((rc = encode_window(&e, p, len, 1, &done)) == 0)
		rc = list_builder_finish(e.lb, sink, cookie, ref);
	list_builder_free(e.lb);
	return (rc);
}
