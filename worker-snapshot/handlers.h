#ifndef ERRAND_SNAP_HANDLERS_H
#define ERRAND_SNAP_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

struct client_open;
struct snap_msg;
struct stream;

/*
 * The functions of the route table; what each may expect is above struct
 * route, what a request's stream carries in proto/client_msg.h.
 */

/* upload.c: objects to the store; credit returns as the store takes them. */
void upload_open(struct stream *, const struct client_open *);
void upload_take(struct stream *, const uint8_t *, size_t);
void upload_end(struct stream *);
void upload_kick(struct stream *);
void upload_done(struct stream *);

/* submit.c: is the tree complete? then the job is the supervisor's. */
void submit_open(struct stream *, const struct client_open *);
void submit_take(struct stream *, const uint8_t *, size_t);
void submit_end(struct stream *);
void submit_kick(struct stream *);
void submit_done(struct stream *);

/* get.c: objects from the store. */
void get_open(struct stream *, const struct client_open *);
void get_take(struct stream *, const uint8_t *, size_t);
void get_end(struct stream *);
void get_kick(struct stream *);
void get_done(struct stream *);

/* jobs.c: what concerns one job by name, or all of them. */
void attach_open(struct stream *, const struct client_open *);
void wait_open(struct stream *, const struct client_open *);
void status_open(struct stream *, const struct client_open *);
void list_open(struct stream *, const struct client_open *);
void kill_open(struct stream *, const struct client_open *);
void receipt_open_stream(struct stream *, const struct client_open *);
void jobs_done(struct stream *);

/* changes.c: a job's record, with what the job changed. */
void changes_open(struct stream *, const struct client_open *);
void changes_done(struct stream *);

/* input.c: what a job reads, and the size of its terminal. */
void input_open(struct stream *, const struct client_open *);
void input_take(struct stream *, const uint8_t *, size_t);
void input_end(struct stream *);
void input_done(struct stream *);
void input_event(struct stream *, const struct snap_msg *);
void window_open(struct stream *, const struct client_open *);

/* admin.c: the host itself. */
void info_open(struct stream *, const struct client_open *);
void info_done(struct stream *);
void admin_open(struct stream *, const struct client_open *);
void admin_done(struct stream *);

/* care.c: the store as a whole, for an operator. */
void care_open(struct stream *, const struct client_open *);
void care_kick(struct stream *);
void care_done(struct stream *);

#endif /* !ERRAND_SNAP_HANDLERS_H */
