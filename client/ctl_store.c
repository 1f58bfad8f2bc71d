/*
 * errandctl store: the operator's care of the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "ctl_care.h"
#include "json.h"
#include "lib/text.h"
#include "out.h"

struct show {
	struct session *s;
	const char *what;
	json_t *findings;       /* with --json */
	json_t *notes;          /* what is said and is no damage */
	struct care last;
};

static int
is_bytes(const char *name)
{
	size_t n = strlen(name);

	return (n >= 5 && strcmp(name + n - 5, "bytes") == 0);
}

/* "live_bytes" as people read it. */
static void
figure_show(const struct care_figure *f)
{
	char name[sizeof(f->name)];
	char *p;

	memcpy(name, f->name, sizeof(name));
	for (p = name; *p != '\0'; p++)
		if (*p == '_')
			*p = ' ';
	printf("%-20s %s", out_escape(name, strlen(name)), "");
	if (is_bytes(f->name))
		printf("%s\n", text_bytes(f->value));
	else
		printf("%llu\n", (unsigned long long)f->value);
}

static json_t *
figures_json(const struct care *c)
{
	json_t *o = json_object();
	uint32_t i;

	for (i = 0; i < c->nfigures; i++)
		json_object_set_new(o, c->figures[i].name,
		    json_integer((json_int_t)c->figures[i].value));
	return (o);
}

static void
on_say(void *cookie, const struct care *c)
{
	struct show *sh = cookie;

	if (c->text[0] != '\0' && sh->findings != NULL)
		json_array_append_new(c->bad > sh->last.bad ? sh->findings :
		    sh->notes, json_string(c->text));
	else if (c->text[0] != '\0') {
		care_progress_end(sh->s);
		printf("%s\n", out_escape(c->text, strlen(c->text)));
	}
	if (!c->done)
		care_progress(sh->s, sh->what, c->at, c->total);
	else
		care_progress_end(sh->s);
	sh->last = *c;
}

static int
summary(struct show *sh, int checked)
{
	const struct care *c = &sh->last;
	uint32_t i;
	json_t *o;

	if (sh->s->json) {
		o = figures_json(c);
		if (checked) {
			json_object_set_new(o, "ok",
			    json_boolean(c->bad == 0));
			json_object_set(o, "findings", sh->findings);
			json_object_set(o, "notes", sh->notes);
		}
		return (json_print(o, STDOUT_FILENO));
	}
	for (i = 0; i < c->nfigures; i++)
		figure_show(&c->figures[i]);
	if (checked)
		printf("%s\n", c->bad == 0 ? "the store is sound" :
		    "the store is damaged: see above");
	return (0);
}

static int
task_run(struct session *s, enum care_task task, const char *what)
{
	struct show sh = { .s = s, .what = what };
	const struct care_hear hear = { on_say, NULL, &sh };
	int checked = task == CARE_VERIFY || task == CARE_REPAIR, rc;

	if (s->json) {
		sh.findings = json_array();
		sh.notes = json_array();
	}
	rc = care_run(s, task, &hear);
	if (rc == 0 && summary(&sh, checked) == -1)
		rc = EXIT_OURS;
	json_decref(sh.findings);
	json_decref(sh.notes);
	if (rc == 0 && checked && sh.last.bad > 0)
		rc = EXIT_NO;
	return (rc);
}

int
ctl_store(struct session *s, int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (argc == 2 && strcmp(verb, "stat") == 0)
		return (task_run(s, CARE_STAT, "stat"));
	if (argc == 2 && strcmp(verb, "gc") == 0)
		return (task_run(s, CARE_GC, "collecting"));
	if (argc == 2 && strcmp(verb, "verify") == 0)
		return (task_run(s, CARE_VERIFY, "verifying"));
	if (argc == 3 && strcmp(verb, "verify") == 0 &&
	    strcmp(argv[2], "--repair") == 0)
		return (task_run(s, CARE_REPAIR, "repairing"));
	if (argc == 2 && strcmp(verb, "rebuild-index") == 0)
		return (ctl_store_rebuild(s));
	if (argc == 3 && strcmp(verb, "backup") == 0)
		return (ctl_store_backup(s, argv[2]));
	return (out_usage("store stat | gc | verify [--repair] | "
	    "rebuild-index | backup DIR"));
}
