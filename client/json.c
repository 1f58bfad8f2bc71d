/*
 * Machine-readable output.  Names are stable: see errand(1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <unistd.h>

#include <sodium.h>

#include "json.h"
#include "lib/io.h"
#include "lib/text.h"
#include "out.h"
#include "proto/snapshot_msg.h"

static json_t *
jint(uint64_t v)
{
	return (json_integer((json_int_t)v));
}

static json_t *
jtime(uint64_t us)
{
	return (us == 0 ? json_null() : json_string(out_time(us)));
}

static json_t *
jref(const struct obj_ref *ref)
{
	char hex[2 * OBJ_ID_LEN + 1];

	if (ref->kind == OBJ_NONE)
		return (json_null());
	obj_id_hex(ref->id, hex);
	return (json_string(hex));
}

static json_t *
jhex(const void *p, size_t n)
{
	char hex[129];

	text_hex(p, n, hex);
	return (json_string(hex));
}

void
json_set_bytes(json_t *o, const char *key, const void *p, size_t len)
{
	char name[64], *b64;
	size_t n;

	if (text_utf8_valid(p, len) && memchr(p, '\0', len) == NULL) {
		json_object_set_new(o, key, json_stringn(p, len));
		return;
	}
	n = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
	if ((b64 = malloc(n)) == NULL)
		return;
	sodium_bin2base64(b64, n, p, len, sodium_base64_VARIANT_ORIGINAL);
	snprintf(name, sizeof(name), "%s_b64", key);
	json_object_set_new(o, name, json_string(b64));
	free(b64);
}

static json_t *
jtimes(const struct job_times *t)
{
	json_t *o = json_object();

	json_object_set_new(o, "submitted", jtime(t->submitted));
	json_object_set_new(o, "queued", jtime(t->queued));
	json_object_set_new(o, "started", jtime(t->started));
	json_object_set_new(o, "ended", jtime(t->ended));
	json_object_set_new(o, "settled", jtime(t->settled));
	return (o);
}

static json_t *
jphases(const struct job_phases *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "negotiate", jint(p->negotiate));
	json_object_set_new(o, "ingest", jint(p->ingest));
	json_object_set_new(o, "publish", jint(p->publish));
	json_object_set_new(o, "queue", jint(p->queue));
	json_object_set_new(o, "start", jint(p->start));
	json_object_set_new(o, "run", jint(p->run));
	json_object_set_new(o, "collect", jint(p->collect));
	json_object_set_new(o, "settle", jint(p->settle));
	return (o);
}

static json_t *
jusage(const struct job_usage *u)
{
	json_t *o = json_object();

	json_object_set_new(o, "cpu_us", jint(u->cpu_us));
	json_object_set_new(o, "memory_peak_bytes", jint(u->memory_peak));
	json_object_set_new(o, "oom_kills", jint(u->oom_kills));
	json_object_set_new(o, "pids_peak", jint(u->pids_peak));
	json_object_set_new(o, "disk_bytes", jint(u->disk_bytes));
	return (o);
}

static json_t *
jlog(const struct job_log *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "bytes", jint(l->bytes));
	json_object_set_new(o, "stdout_bytes", jint(l->stdout_bytes));
	json_object_set_new(o, "stderr_bytes", jint(l->stderr_bytes));
	json_object_set_new(o, "truncated", json_boolean(l->truncated));
	json_object_set_new(o, "complete", json_boolean(l->complete));
	json_object_set_new(o, "digest", jhex(l->digest, 32));
	return (o);
}

static json_t *
jchanges(const struct job_changes *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "count", jint(c->count));
	json_object_set_new(o, "bytes", jint(c->bytes));
	json_object_set_new(o, "complete", json_boolean(c->complete));
	json_object_set_new(o, "root", jref(&c->root));
	json_object_set_new(o, "digest", jhex(c->digest, 32));
	json_object_set_new(o, "ignored", jint(c->ignored));
	return (o);
}

static json_t *
jtree(const struct job_submit *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "root", jref(&s->root));
	json_object_set_new(o, "files", jint(s->tree_files));
	json_object_set_new(o, "bytes", jint(s->tree_bytes));
	json_object_set_new(o, "shipped_objects", jint(s->shipped_objects));
	json_object_set_new(o, "shipped_bytes", jint(s->shipped_bytes));
	return (o);
}

static json_t *
jcaches(const struct cache_use *v, uint32_t n)
{
	json_t *a = json_array(), *o;
	uint32_t i;

	for (i = 0; i < n; i++) {
		o = json_object();
		json_object_set_new(o, "name", json_string(v[i].name));
		json_object_set_new(o, "restored",
		    json_boolean(v[i].restored));
		json_object_set_new(o, "saved", json_boolean(v[i].saved));
		json_object_set_new(o, "unchanged",
		    json_boolean(v[i].unchanged));
		json_object_set_new(o, "bytes", jint(v[i].bytes));
		json_object_set_new(o, "note", v[i].note[0] == '\0' ?
		    json_null() : json_string(v[i].note));
		json_array_append_new(a, o);
	}
	return (a);
}

/* A limit, or null when none of the kind was enforced. */
static json_t *
jmost(uint64_t v)
{
	return (v == 0 ? json_null() : jint(v));
}

json_t *
json_limits(const struct job_limits *l)
{
	json_t *o = json_object();

	json_object_set_new(o, "cpus_milli", jmost(l->cpus_milli));
	json_object_set_new(o, "memory_bytes", jmost(l->memory));
	json_object_set_new(o, "pids", jmost(l->pids));
	json_object_set_new(o, "disk_bytes", jmost(l->disk));
	json_object_set_new(o, "runtime_us", jmost(l->runtime_us));
	json_object_set_new(o, "cpu_time_us", jmost(l->cpu_us));
	json_object_set_new(o, "log_bytes", jmost(l->log_bytes));
	json_object_set_new(o, "changes", jmost(l->changes));
	return (o);
}

json_t *
json_used(const struct tenant_used *u)
{
	json_t *o = json_object();

	json_object_set_new(o, "store_bytes",
	    json_integer((json_int_t)u->store_bytes));
	json_object_set_new(o, "store_objects",
	    json_integer((json_int_t)u->store_objects));
	json_object_set_new(o, "jobs", json_integer((json_int_t)u->jobs));
	json_object_set_new(o, "log_bytes",
	    json_integer((json_int_t)u->log_bytes));
	return (o);
}

json_t *
json_quota(const struct tenant_used *q)
{
	json_t *o = json_object();

	json_object_set_new(o, "store_bytes", jmost(q->store_bytes));
	json_object_set_new(o, "store_objects", jmost(q->store_objects));
	json_object_set_new(o, "jobs", jmost(q->jobs));
	json_object_set_new(o, "log_bytes", jmost(q->log_bytes));
	return (o);
}

static json_t *
jreason(const struct err *e)
{
	json_t *o;

	if (e->code == ERR_NONE)
		return (json_null());
	o = json_object();
	json_object_set_new(o, "code", json_string(err_code_name(e->code)));
	json_object_set_new(o, "message", json_string(e->text));
	return (o);
}

static json_t *
jlimit(uint8_t limit)
{
	const char *name = job_limit_name(limit);

	return (name == NULL ? json_null() : json_string(name));
}

static json_t *
jstrings(char *const *v, size_t n)
{
	json_t *a = json_array(), *o;
	size_t i;

	for (i = 0; i < n; i++) {
		if (text_utf8_valid(v[i], strlen(v[i]))) {
			json_array_append_new(a, json_string(v[i]));
			continue;
		}
		o = json_object();
		json_set_bytes(o, "bytes", v[i], strlen(v[i]));
		json_array_append_new(a, o);
	}
	return (a);
}

static json_t *
jimage(const struct job_submit *s)
{
	return (s->image[0] == '\0' ? json_null() : json_string(s->image));
}

json_t *
json_images(const struct job_image *v, size_t n)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(a, json_string(v[i].name));
	return (a);
}

static void
set_spec(json_t *o, const struct job_spec *sp)
{
	json_object_set_new(o, "argv", jstrings(sp->argv, sp->argc));
	json_object_set_new(o, "env", jstrings(sp->env, sp->nenv));
	json_set_bytes(o, "workdir", sp->workdir, strlen(sp->workdir));
	if (sp->commit != NULL)
		json_object_set_new(o, "commit", json_string(sp->commit));
	json_object_set_new(o, "artifacts", jstrings(sp->artifacts,
	    sp->nartifacts));
	if (!sodium_is_zero(sp->content, sizeof(sp->content)))
		json_object_set_new(o, "content_digest", jhex(sp->content,
		    sizeof(sp->content)));
}

static void
set_outcome(json_t *o, uint8_t state, int ran, int unknown, int code, int sig)
{
	int died = sig != 0;

	json_object_set_new(o, "state", json_string(job_state_name(state)));
	json_object_set_new(o, "ran", unknown && !ran ? json_null() :
	    json_boolean(ran));
	json_object_set_new(o, "exit_code", ran && JOB_IS_FINAL(state) &&
	    !died && !unknown ? json_integer(code) : json_null());
	json_object_set_new(o, "signal", ran && died ? json_integer(sig) :
	    json_null());
}

static json_t *
jreceipt_of(const struct job_record *r)
{
	json_t *o;

	if (r->receipt_sequence == 0)
		return (json_null());
	o = json_object();
	json_object_set_new(o, "digest", jhex(r->receipt_digest, 32));
	json_object_set_new(o, "sequence", jint(r->receipt_sequence));
	return (o);
}

json_t *
json_record(const struct job_record *r, const char *host,
    const struct job_spec *sp)
{
	json_t *o = json_object();

	json_object_set_new(o, "id", json_string(r->id));
	json_object_set_new(o, "label", sp != NULL && sp->label != NULL ?
	    json_string(sp->label) : json_null());
	json_object_set_new(o, "tenant", json_string(r->tenant));
	json_object_set_new(o, "host", host != NULL ? json_string(host) :
	    json_null());
	json_object_set_new(o, "workspace", json_null());
	set_outcome(o, r->state, r->ran, r->unknown, r->exit_code, r->signal);
	json_object_set_new(o, "reason", jreason(&r->reason));
	json_object_set_new(o, "limit", jlimit(r->limit));
	json_object_set_new(o, "times", jtimes(&r->times));
	json_object_set_new(o, "phases_us", jphases(&r->phases));
	json_object_set_new(o, "usage", jusage(&r->usage));
	json_object_set_new(o, "log", jlog(&r->log));
	json_object_set_new(o, "changes", jchanges(&r->changes));
	json_object_set_new(o, "tree", jtree(&r->submit));
	json_object_set_new(o, "net", json_string(r->submit.net ==
	    JOB_NET_HOST ? "host" : "none"));
	json_object_set_new(o, "image", jimage(&r->submit));
	json_object_set_new(o, "as_root", json_boolean(r->submit.as_root));
	json_object_set_new(o, "limits", json_limits(&r->limits));
	json_object_set_new(o, "cleanup", json_boolean(r->cleanup));
	json_object_set_new(o, "caches", jcaches(r->caches, r->ncaches));
	json_object_set_new(o, "receipt", jreceipt_of(r));
	if (sp != NULL)
		set_spec(o, sp);
	return (o);
}

json_t *
json_receipt(const struct receipt *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "job", json_string(r->job));
	json_object_set_new(o, "tenant", json_string(r->tenant));
	json_object_set_new(o, "sequence", jint(r->sequence));
	json_object_set_new(o, "previous", jhex(r->previous, 32));
	json_object_set_new(o, "host_key_id", jhex(r->host_key_id, 8));
	json_object_set_new(o, "software", json_string(r->software));
	set_outcome(o, r->state, r->ran, r->unknown, r->exit_code, r->signal);
	json_object_set_new(o, "reason", jreason(&r->reason));
	json_object_set_new(o, "limit", jlimit(r->limit));
	json_object_set_new(o, "tree_before", jref(&r->submit.root));
	json_object_set_new(o, "tree_after", jref(&r->changes.root));
	json_object_set_new(o, "net", json_string(r->submit.net ==
	    JOB_NET_HOST ? "host" : "none"));
	json_object_set_new(o, "image", jimage(&r->submit));
	json_object_set_new(o, "as_root", json_boolean(r->submit.as_root));
	json_object_set_new(o, "limits", json_limits(&r->limits));
	json_object_set_new(o, "times", jtimes(&r->times));
	json_object_set_new(o, "phases_us", jphases(&r->phases));
	json_object_set_new(o, "usage", jusage(&r->usage));
	json_object_set_new(o, "log", jlog(&r->log));
	json_object_set_new(o, "changes", jchanges(&r->changes));
	json_object_set_new(o, "cleanup", json_boolean(r->cleanup));
	json_object_set_new(o, "caches", jcaches(r->caches, r->ncaches));
	set_spec(o, &r->spec);
	return (o);
}

int
json_print(json_t *o, int fd)
{
	char *raw = NULL, *text = NULL;
	int rc = -1;

	if (o != NULL && (raw = json_dumps(o, JSON_COMPACT |
	    JSON_PRESERVE_ORDER)) != NULL &&
	    (text = text_json(raw, strlen(raw))) != NULL) {
		if (fd == STDOUT_FILENO) {
			printf("%s\n", text);
			rc = out_flush();
		} else if ((rc = io_write(fd, text, strlen(text))) == 0)
			rc = io_write(fd, "\n", 1);
	}
	free(text);
	free(raw);
	json_decref(o);
	return (rc);
}
