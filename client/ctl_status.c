/*
 * errandctl status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "json.h"
#include "lib/text.h"
#include "out.h"

static const char *const up_names[] = { "down", "starting", "up", "stopping" };

static const char *
up_name(uint8_t up)
{
	return (up < 4 ? up_names[up] : "?");
}

static void
show(const struct admin_status *a)
{
	const struct proc_info *p;
	uint32_t i;

	printf("errandd %s, up %s%s\n", a->version, text_us(a->uptime_us),
	    a->rootless ? ", rootless" : "");
	printf("jobs       %u running of %u slots, %u queued\n", a->running,
	    a->slots, a->queued);
	printf("cgroups    %s\n", a->cgroup);
	printf("isolation  %s\n", out_escape(a->isolation,
	    strlen(a->isolation)));
	printf("store      %llu objects, %s (%s in packs), %llu jobs, %s free, "
	    "%llu commits, %llu flushes\n",
	    (unsigned long long)a->store_objects, text_bytes(a->store_bytes),
	    text_bytes(a->store_pack_bytes),
	    (unsigned long long)a->store_jobs, text_bytes(a->store_free),
	    (unsigned long long)a->store_commits,
	    (unsigned long long)a->store_flushes);
	if (a->store_up != 2)
		printf("store      %s: %s\n", a->store_up == 0 ?
		    "cannot be opened" : "not up yet", out_escape(a->store_note,
		    strlen(a->store_note)));
	printf("sandboxes  %u ready, %u being made; %llu jobs found one, %llu "
	    "did not\n", a->sandboxes, a->sandboxes_making,
	    (unsigned long long)a->sandboxes_warm,
	    (unsigned long long)a->sandboxes_cold);
	if (a->sandbox_note[0] != '\0')
		printf("           none are made for now: %s\n",
		    out_escape(a->sandbox_note, strlen(a->sandbox_note)));
	if (a->note[0] != '\0')
		printf("note       %s\n", out_escape(a->note,
		    strlen(a->note)));
	printf("%-10s %8s %-9s %10s %-17s %7s %8s %s\n", "PROCESS", "PID",
	    "STATE", "UID", "CAPABILITIES", "SECCOMP", "LANDLOCK", "RESTARTS");
	for (i = 0; i < a->nprocs; i++) {
		p = &a->procs[i];
		printf("%-10s %8u %-9s %10u %016llx  %7s %8d %u%s%s\n", p->role,
		    p->pid, up_name(p->up), p->uid,
		    (unsigned long long)p->caps, p->seccomp == 2 ? "filter" :
		    "none", p->landlock, p->restarts,
		    p->last_death[0] != '\0' ? ", last: " : "",
		    p->last_death);
	}
}

static json_t *
proc_json(const struct proc_info *p)
{
	json_t *o = json_object();
	char caps[24];

	snprintf(caps, sizeof(caps), "%016llx", (unsigned long long)p->caps);
	json_object_set_new(o, "role", json_string(p->role));
	json_object_set_new(o, "pid", json_integer(p->pid));
	json_object_set_new(o, "uid", json_integer(p->uid));
	json_object_set_new(o, "state", json_string(up_name(p->up)));
	json_object_set_new(o, "restarts", json_integer(p->restarts));
	json_object_set_new(o, "seccomp", json_boolean(p->seccomp == 2));
	json_object_set_new(o, "capabilities", json_string(caps));
	json_object_set_new(o, "no_new_privs", json_boolean(p->no_new_privs));
	json_object_set_new(o, "landlock", json_integer(p->landlock));
	json_object_set_new(o, "last_death", p->last_death[0] != '\0' ?
	    json_string(p->last_death) : json_null());
	return (o);
}

static json_t *
store_json(const struct admin_status *a)
{
	json_t *o = json_object();

	static const char *const ups[] = { "stuck", "starting", "up" };

	json_object_set_new(o, "state", json_string(ups[a->store_up % 3]));
	json_object_set_new(o, "state_note", json_string(a->store_note));
	json_object_set_new(o, "objects",
	    json_integer((json_int_t)a->store_objects));
	json_object_set_new(o, "bytes",
	    json_integer((json_int_t)a->store_bytes));
	json_object_set_new(o, "pack_bytes",
	    json_integer((json_int_t)a->store_pack_bytes));
	json_object_set_new(o, "jobs",
	    json_integer((json_int_t)a->store_jobs));
	json_object_set_new(o, "free_bytes",
	    json_integer((json_int_t)a->store_free));
	json_object_set_new(o, "commits",
	    json_integer((json_int_t)a->store_commits));
	json_object_set_new(o, "flushes",
	    json_integer((json_int_t)a->store_flushes));
	return (o);
}

static json_t *
sandboxes_json(const struct admin_status *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "ready", json_integer(a->sandboxes));
	json_object_set_new(o, "making", json_integer(a->sandboxes_making));
	json_object_set_new(o, "warm",
	    json_integer((json_int_t)a->sandboxes_warm));
	json_object_set_new(o, "cold",
	    json_integer((json_int_t)a->sandboxes_cold));
	json_object_set_new(o, "made",
	    json_integer((json_int_t)a->sandboxes_made));
	json_object_set_new(o, "failed",
	    json_integer((json_int_t)a->sandboxes_failed));
	json_object_set_new(o, "note", json_string(a->sandbox_note));
	return (o);
}

static json_t *
status_json(const struct admin_status *a)
{
	json_t *o = json_object(), *v = json_array();
	uint32_t i;

	json_object_set_new(o, "version", json_string(a->version));
	json_object_set_new(o, "uptime_us",
	    json_integer((json_int_t)a->uptime_us));
	json_object_set_new(o, "slots", json_integer(a->slots));
	json_object_set_new(o, "running", json_integer(a->running));
	json_object_set_new(o, "queued", json_integer(a->queued));
	json_object_set_new(o, "rootless", json_boolean(a->rootless));
	json_object_set_new(o, "cgroup", json_string(a->cgroup));
	json_object_set_new(o, "note", json_string(a->note));
	json_object_set_new(o, "isolation", json_string(a->isolation));
	json_object_set_new(o, "store", store_json(a));
	json_object_set_new(o, "sandboxes", sandboxes_json(a));
	for (i = 0; i < a->nprocs; i++)
		json_array_append_new(v, proc_json(&a->procs[i]));
	json_object_set_new(o, "processes", v);
	return (o);
}

int
ctl_status(struct session *s, int argc, char **argv)
{
	struct client_reply *r;
	struct client_open *o;
	int rc = EXIT_OURS;

	(void)argv;
	if (argc > 1)
		return (out_usage("status takes no arguments"));
	if (session_hello(s) == -1)
		return (EXIT_NO);
	o = calloc(1, sizeof(*o));
	r = calloc(1, sizeof(*r));
	if (o != NULL && r != NULL) {
		o->verb = CLIENT_ADMIN;
		o->admin = SNAP_ADMIN_STATUS;
		rc = session_call(s, o, r);
		if (rc == 0 && r->status == NULL)
			rc = EXIT_OURS;
		else if (rc == 0 && s->json)
			rc = json_print(status_json(r->status),
			    STDOUT_FILENO) == 0 ? 0 : EXIT_OURS;
		else if (rc == 0)
			show(r->status);
		client_reply_done(r);
	}
	free(o);
	free(r);
	return (rc);
}
