/*
 * The other direction: objects in batches to the store, on the same channel.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "lib/memfd.h"
#include "lib/objrec.h"
#include "lib/size.h"
#include "proto/limits.h"
#include "proto/store_msg.h"
#include "storeclient.h"
#include "storeclient_internal.h"

/* A free place among the unanswered puts, waiting for one if need be. */
static uint64_t *
place(struct storeclient *sc)
{
	size_t i;

	for (;;) {
		for (i = 0; i < PUTS_MAX; i++) {
			if (sc->puts[i] == 0)
				return (&sc->puts[i]);
		}
		if (storeclient_wait(sc) == -1)
			return (NULL);
	}
}

static int
batch_send(struct storeclient *sc)
{
	uint64_t *slot;
	int fd;

	if (sc->put_objects == 0)
		return (0);
	if ((slot = place(sc)) == NULL)
		return (-1);
	if ((fd = memfd_make("objects", sc->put, sc->put_len)) == -1)
		return (storeclient_fail(sc, errno));
	*slot = storeclient_send(sc, STORE_PUT, (uint32_t)sc->put_objects, fd);
	io_close(&fd);
	sc->put_len = 0;
	sc->put_objects = 0;
	return (*slot == 0 ? -1 : 0);
}

int
storeclient_put(void *cookie, const struct obj_ref *ref, const void *buf,
    size_t len)
{
	struct objrec rec = { .ref = *ref, .codec = OBJREC_RAW,
	    .raw_len = (uint32_t)len, .len = (uint32_t)len };
	struct storeclient *sc = cookie;
	uint8_t *p;

	if (sc->failed != 0)
		return (storeclient_fail(sc, 0));
	if (sc->put_objects == LIMIT_PUT_OBJECTS ||
	    sc->put_len + OBJREC_HEAD + len > LIMIT_PUT_BYTES) {
		if (batch_send(sc) == -1)
			return (-1);
	}
	p = size_grow(sc->put, &sc->put_cap, sc->put_len + OBJREC_HEAD + len,
	    1);
	if (p == NULL)
		return (storeclient_fail(sc, errno));
	sc->put = p;
	objrec_encode(&rec, p + sc->put_len);
	memcpy(p + sc->put_len + OBJREC_HEAD, buf, len);
	sc->put_len += OBJREC_HEAD + len;
	sc->put_objects++;
	return (0);
}

int
storeclient_flush(struct storeclient *sc)
{
	size_t i;

	if (batch_send(sc) == -1)
		return (-1);
	for (i = 0; i < PUTS_MAX; i++) {
		while (sc->puts[i] != 0) {
			if (storeclient_wait(sc) == -1)
				return (-1);
		}
	}
	return (0);
}
