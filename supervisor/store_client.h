#ifndef ERRAND_STORE_CLIENT_H
#define ERRAND_STORE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "proto/store_msg.h"

struct child;
struct store_client;
struct sup;

/*
 * The reply to a request, from the event loop: STORE_OK or STORE_ERROR.  When
 * the store was lost meanwhile it is an ERROR with code WORKER_LOST: whether
 * the request was carried out is then unknown.  ${fd} is -1 or a descriptor,
 * closed afterwards.
 */
typedef void store_reply_fn(void *, const struct store_msg *, int fd);

/*
 * Supervise the store worker; ${up} is called each time it is ready, ${stuck}
 * when it said that it cannot open its files.
 */
struct store_client *store_client_new(struct sup *, void (*up)(struct sup *),
    void (*down)(struct sup *), void (*stuck)(struct sup *));
void store_client_free(struct store_client *);
struct child *store_client_child(struct store_client *);
int32_t store_client_landlock(const struct store_client *);

/* What it said last about opening, or ""; does it say that it cannot? */
const char *store_client_note(const struct store_client *);
int store_client_trouble(const struct store_client *);

/* Start it again with the order to make its index from the packs. */
void store_client_rebuild(struct store_client *);

int store_client_up(const struct store_client *);

/**
 * store_request(sc, m, fd, fn, cookie):
 * Send the request ${m} (its id is set here) with ${fd} (taken; -1: none).
 * Return its id, or 0 with errno: EAGAIN when the store is not up or has too
 * much to do, then ${fn} is not called.
 */
uint64_t store_request(struct store_client *, struct store_msg *, int,
    store_reply_fn *, void *);

/* Nobody waits for that reply any more (0 is none). */
void store_forget(struct store_client *, uint64_t);

#endif /* !ERRAND_STORE_CLIENT_H */
