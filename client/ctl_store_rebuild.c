/*
 * errandctl store rebuild-index: has errandd start the store with the order to
 * make its index anew, and watches until it has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "ctl_care.h"
#include "json.h"
#include "out.h"

#define LOOK_MS 200

static int
ask(struct session *s, enum snap_admin verb, struct client_reply *r)
{
	struct client_open *o;
	int rc;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (EXIT_OURS);
	o->verb = CLIENT_ADMIN;
	o->admin = (uint8_t)verb;
	rc = session_call(s, o, r);
	free(o);
	return (rc);
}

static int
ended(struct session *s, const struct admin_status *a)
{
	const char *note = out_escape(a->store_note, strlen(a->store_note));
	json_t *o;

	if (isatty(STDERR_FILENO))
		care_progress_end(s);
	if (a->store_up == 0) {
		out_warn("%s", a->store_note);
		return (EXIT_OURS);
	}
	if (!s->json) {
		printf("%s\n", note);
		return (0);
	}
	o = json_object();
	json_object_set_new(o, "summary", json_string(a->store_note));
	return (json_print(o, STDOUT_FILENO) == 0 ? 0 : EXIT_OURS);
}

static void
progress(const struct session *s, const struct admin_status *a)
{
	if (!s->json && isatty(STDERR_FILENO))
		fprintf(stderr, "\r%s\033[K", out_escape(a->store_note,
		    strlen(a->store_note)));
}

int
ctl_store_rebuild(struct session *s)
{
	struct client_reply *r;
	int rc, over = 0;

	if (session_hello(s) == -1)
		return (EXIT_NO);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (EXIT_OURS);
	rc = ask(s, SNAP_ADMIN_STORE_REBUILD, r);
	client_reply_done(r);
	while (rc == 0 && !over) {
		if ((rc = ask(s, SNAP_ADMIN_STATUS, r)) != 0)
			break;
		if (r->status == NULL)
			rc = EXIT_OURS;
		else if (r->status->store_up != 1) {
			rc = ended(s, r->status);
			over = 1;
		} else
			progress(s, r->status);
		client_reply_done(r);
		/* The host says nothing by itself here: look again. */
		if (rc == 0 && !over)
			(void)conn_pump(s->c, LOOK_MS);
	}
	free(r);
	return (rc);
}
