#ifndef ERRAND_TESTS_SCENE_H
#define ERRAND_TESTS_SCENE_H

/*
 * A short play that goes through everything the store does, the same each
 * time: for deaths and errors at every single place of it.
 */
#include "verify.h"

#define ANSWER_US       60000000        /* longer is for ever */

/* Wait until everything is answered, or the store is gone. */
static inline void
scene_wait(struct load *l)
{
	uint64_t end = io_mono_us() + ANSWER_US;

	while (load_open(l) > 0 && !l->over) {
		load_pump(l, io_mono_us() + 200);
		if (io_mono_us() >= end)
			rig_broken("no answer in %d s",
			    ANSWER_US / 1000000);
	}
}

/*
 * After a refusal, where the chains end must be asked for anew: what errandd
 * does, too.
 */
static inline void
scene_heads(struct load *l)
{
	int t;

	for (t = 0; t < TENANTS && l->refused > 0 && !l->over; t++)
		verify_head(l, t);
}

/* ${times} requests of a kind for each tenant. */
static inline void
scene_ask(struct load *l, enum phase kind, int times)
{
	struct tenant *tn;
	int64_t n;
	int t, i;

	for (t = 0; t < TENANTS && !l->over; t++) {
		tn = &l->w->tenants[t];
		for (i = 0; i < times; i++) {
			if (kind == INGEST)
				ask_put(l, t, tn->n++, 0);
			else if (kind == SETTLE) {
				if ((n = to_settle(tn)) != -1)
					ask_put(l, t, (uint32_t)n, 1);
			} else if (tn->jobs[tn->n - 1].state == PUBLISHED)
				ask_publish(l, t, tn->n - 1,
				    tn->jobs[tn->n - 1].record + 1);
		}
	}
	scene_wait(l);
	if (l->lame)
		scene_heads(l);
}

/* Let it do what it does when nobody asks, until it commits no more. */
static inline void
scene_rest(struct load *l)
{
	struct store_msg m = { .op = STORE_STAT };
	static struct drv_reply r;
	uint64_t was = UINT64_MAX, now = 0;

	while (!l->over && was != now) {
		was = now;
		(void)usleep(2000);
		if (drv_call(&l->d, l->d.fd, &m, -1, &r) != ERR_NONE)
			l->over = 1;
		else
			now = r.m.u.ok.stat.commits;
	}
}

/* Until it neither collects nor rewrites. */
static inline void
scene_collected(struct load *l)
{
	static struct drv_reply r;
	uint64_t end = io_mono_us() + ANSWER_US;
	int op = -1, idle = 0;

	if (!l->over && (op = care_open(l)) == -1)
		l->over = 1;
	/* One begins some moments after the other. */
	while (!l->over && idle < 8) {
		l->over = care_step(l, op, CARE_STAT, &r) == -1;
		if (!l->over && care_value(&r, "gc_busy") == 0 &&
		    care_value(&r, "gc_waiting") == 0 &&
		    care_value(&r, "rewrite_pack") == 0)
			idle++;
		else
			idle = 0;
		if (io_mono_us() >= end)
			rig_broken("collected or rewritten for %d s",
			    ANSWER_US / 1000000);
		(void)usleep(1000);
	}
	io_close(&op);
}

/* Forget old jobs, delete what nothing refers to, give back the room. */
static inline void
scene_collect(struct load *l)
{
	int t;

	for (t = 0; t < TENANTS && !l->over; t++)
		ask_expire(l, t, 2);
	scene_wait(l);
	if (!l->over)
		ask_collect(l);
	scene_wait(l);
	if (l->lame)
		scene_heads(l);
	scene_collected(l);
	scene_rest(l);
}

static inline void
scene_play(struct load *l)
{
	int t;

	scene_ask(l, INGEST, 3);
	for (t = 0; t < TENANTS && !l->over; t++)
		ask_garbage(l, t);
	scene_wait(l);
	scene_ask(l, PUBLISH, 1);
	scene_ask(l, SETTLE, 2);
	scene_collect(l);
	scene_ask(l, INGEST, 1);
	scene_rest(l);
}

/* It works, whatever was before. */
static inline void
scene_works(struct load *l)
{
	l->lame = 0;
	if (l->refused > 0)
		verify(l, 0);
	l->refused = 0;
	scene_ask(l, INGEST, 1);
	scene_ask(l, SETTLE, 1);
}

/* Start the store in l->d.dir.  0, or -1 when it ended instead. */
static inline int
scene_start(struct load *l)
{
	l->lame = l->over = 0;
	l->refused = 0;
	if (drv_start(&l->d) == -1 || load_bind(l) == -1) {
		l->over = 1;
		return (-1);
	}
	return (0);
}

/* End it if it has not ended; its status, 1000 + a signal. */
static inline int
scene_end(struct load *l, int sig)
{
	int status;

	if (sig != 0)
		(void)kill(l->d.pid, sig);
	load_unbind(l);
	status = drv_wait(&l->d);
	load_forget(l);
	return (status);
}

#endif /* !ERRAND_TESTS_SCENE_H */
