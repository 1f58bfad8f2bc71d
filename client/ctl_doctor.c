/*
 * errandctl doctor: what this host lacks, and how to mend it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "doctor.h"
#include "json.h"
#include "out.h"

static const char *const levels[] = { "ok", "less", "bad" };
static const char *const marks[] = { "ok  ", "less", "BAD " };

static void
show(const char *name, const struct doctor_answer *a)
{
	printf("%s  %-16s %s\n", marks[a->level], name, a->text);
	if (a->mend[0] != '\0')
		printf("      %-16s to mend it: %s\n", "", a->mend);
}

static json_t *
to_json(const char *name, const struct doctor_answer *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "level", json_string(levels[a->level]));
	json_object_set_new(o, "found", json_string(a->text));
	json_object_set_new(o, "mend", a->mend[0] != '\0' ?
	    json_string(a->mend) : json_null());
	return (o);
}

/* A daemon answers; is it content? */
static void
judge(const struct admin_status *st, const char *path, struct doctor_answer *a)
{
	const char *note = st->store_up == 0 ? st->store_note : st->note;

	note = out_escape(note, strlen(note));
	if (st->store_up == 0)
		doctor_say(a, DOCTOR_BAD, "do what it says; errandctl status "
		    "tells more", "its store cannot be opened: %s", note);
	else if (note[0] != '\0')
		doctor_say(a, DOCTOR_LESS, "errandctl status tells more, and "
		    "so does the daemon's log", "%s", note);
	else
		doctor_say(a, DOCTOR_OK, "", "answers at %s (errandctl status "
		    "tells more)", path);
}

/* What the daemon says of itself, and its slots. */
static void
daemon_status(struct session *s, const char *path, struct doctor_answer *a,
    unsigned int *slots)
{
	struct client_open *o = calloc(1, sizeof(*o));
	struct client_reply *r = calloc(1, sizeof(*r));

	doctor_say(a, DOCTOR_BAD, "start it again, and look at its log",
	    "does not say how it is at %s", path);
	if (o != NULL && r != NULL) {
		o->verb = CLIENT_ADMIN;
		o->admin = SNAP_ADMIN_STATUS;
		if (session_call(s, o, r) == 0 && r->status != NULL) {
			judge(r->status, path, a);
			*slots = r->status->slots;
		}
		client_reply_done(r);
	}
	free(o);
	free(r);
}

/* A daemon that runs here is asked what holds; none is no fault. */
static void
ask_daemon(struct session *s, struct doctor_answer *a, unsigned int *slots)
{
	const char *path = s->addr + strlen("unix:");

	if (access(path, F_OK) != 0)
		doctor_say(a, DOCTOR_LESS, getuid() == 0 ? "start it: "
		    "systemctl start errandd, or errandd -d to see what it "
		    "says" : "errand run starts one for you; errandd --user -d "
		    "shows what it says", "no socket at %s", path);
	else if (session_hello(s) == -1)
		doctor_say(a, DOCTOR_BAD, "start it again, and look at its "
		    "log", "does not answer at %s", path);
	else
		daemon_status(s, path, a, slots);
}

/* Show it, or add it to what will be shown; the worst so far. */
static int
tell(json_t *all, int json, const char *name, const struct doctor_answer *a,
    int worst)
{

	if (json)
		json_array_append_new(all, to_json(name, a));
	else
		show(name, a);
	return ((int)a->level > worst ? (int)a->level : worst);
}

/* As many as errandd takes by itself. */
static unsigned int
slots_default(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return (n < 1 ? 1 : (unsigned int)n);
}

int
ctl_doctor(struct session *s, int argc, char **argv)
{
	const struct doctor_question *q;
	unsigned int slots = slots_default();
	struct doctor_answer a, daemon;
	json_t *all = json_array();
	int worst = DOCTOR_OK;
	size_t i, n;

	(void)argv;
	if (argc > 1) {
		json_decref(all);
		return (out_usage("doctor takes no arguments"));
	}
	q = doctor_questions(&n);
	for (i = 0; i < n; i++) {
		memset(&a, 0, sizeof(a));
		q[i].ask(&a);
		worst = tell(all, s->json, q[i].name, &a, worst);
	}
	memset(&daemon, 0, sizeof(daemon));
	ask_daemon(s, &daemon, &slots);
	memset(&a, 0, sizeof(a));
	doctor_inotify(slots, &a);
	worst = tell(all, s->json, "inotify", &a, worst);
	memset(&a, 0, sizeof(a));
	doctor_limits(&a);
	worst = tell(all, s->json, "limits", &a, worst);
	worst = tell(all, s->json, "daemon", &daemon, worst);
	if (s->json && json_print(all, STDOUT_FILENO) == -1)
		return (EXIT_OURS);
	if (!s->json)
		json_decref(all);
	return (worst == DOCTOR_BAD ? EXIT_NO : 0);
}
