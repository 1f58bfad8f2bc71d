/*
 * errand receipt, verify, info: what became of a job.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "common.h"
#include "json.h"
#include "lib/content.h"
#include "lib/io.h"
#include "lib/text.h"
#include "objget.h"
#include "out.h"
#include "proto/receipt.h"
#include "state.h"

enum { OPT_HOST_KEY = 500 };

/* The whole receipt file: the signed part, and the spec behind it. */
struct bytes {
	uint8_t *p;
	size_t len, cap;
	int done;
	struct err err;
	struct session *s;
};

static int
on_receipt(void *cookie, const struct frame *f)
{
	struct bytes *b = cookie;

	if (f == NULL || f->type == FRAME_RESET) {
		b->done = f == NULL ? -2 : -1;
		return (f == NULL ? 0 : err_parse(f->body, f->len, &b->err));
	}
	if (f->type == FRAME_REPLY) {
		b->done = 1;
		return (conn_ends(f) ? 0 : -1);
	}
	if (f->type != FRAME_DATA || f->len > b->cap - b->len)
		return (-1);
	memcpy(b->p + b->len, f->body, f->len);
	b->len += f->len;
	return (conn_consumed(b->s->c, f->stream, f->len));
}

static int
get_signed(struct session *s, const char *job, struct bytes *b)
{
	struct client_open *o;
	uint32_t stream;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return (EXIT_OURS);
	o->verb = CLIENT_RECEIPT;
	snprintf(o->job, sizeof(o->job), "%s", job);
	stream = conn_request(s->c, o, on_receipt, b);
	free(o);
	(void)conn_until(s->c, &b->done);
	conn_forget(s->c, stream);
	if (stream == 0 || b->done == 0 || b->done == -2) {
		session_lost(s);
		return (EXIT_NO);
	}
	if (b->done == -1) {
		out_err(&b->err);
		return (EXIT_NO);
	}
	return (0);
}

static int
append_piece(void *cookie, const uint8_t *p, uint64_t len)
{
	struct bytes *b = cookie;

	if (len > b->cap - b->len)
		return (-1);
	if (p != NULL)
		memcpy(b->p + b->len, p, (size_t)len);
	else
		memset(b->p + b->len, 0, (size_t)len);
	b->len += (size_t)len;
	return (0);
}

static int
append_spec(struct objget *g, const struct job_record *rec, struct bytes *b)
{
	size_t at = b->len, n;
	uint8_t head[4];

	b->len += 4;
	if (content_read(&rec->submit.spec, objget_fetch, g, append_piece,
	    b) != 0) {
		out_err(objget_err(g));
		return (EXIT_NO);
	}
	n = b->len - at - 4;
	head[0] = (uint8_t)n;
	head[1] = (uint8_t)(n >> 8);
	head[2] = (uint8_t)(n >> 16);
	head[3] = (uint8_t)(n >> 24);
	memcpy(b->p + at, head, 4);
	return (0);
}

static int
emit_receipt(const struct session *s, const struct bytes *b,
    const char *file)
{
	struct receipt *r;
	const char *why;
	int rc;

	if (file != NULL) {
		if (io_file_replace(AT_FDCWD, file, 0644, b->p, b->len) == -1) {
			out_warn("%s: %s", file, strerror(errno));
			return (EXIT_OURS);
		}
		if (!s->json)
			return (0);
	}
	if (!s->json && !isatty(STDOUT_FILENO))
		return (out_bytes(b->p, b->len) == 0 ? 0 : EXIT_OURS);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (EXIT_OURS);
	if (receipt_open(b->p, b->len, s->host->host_key, r, &why) == -1) {
		out_warn("the host's receipt does not verify: %s", why);
		rc = EXIT_NO;
	} else {
		rc = json_print(json_receipt(r), STDOUT_FILENO) == 0 ? 0 :
		    EXIT_OURS;
		receipt_done(r);
	}
	free(r);
	return (rc);
}

static int
receipt_job(struct session *s, const char *name, const char *file)
{
	struct bytes b = { .s = s,
	    .cap = LIMIT_RECEIPT + 4 + LIMIT_SPEC };
	struct job_record *rec;
	struct objget *g = NULL;
	int rc = EXIT_OURS;

	if ((rec = calloc(1, sizeof(*rec))) == NULL ||
	    (b.p = malloc(b.cap)) == NULL || (g = objget_new(s)) == NULL)
		goto done;
	if ((rc = common_record(s, name, rec)) != 0)
		goto done;
	if (rec->receipt_sequence == 0) {
		out_warn("job %s has no receipt yet: it is %s", rec->id,
		    job_state_name(rec->state));
		rc = EXIT_NO;
		goto done;
	}
	if ((rc = get_signed(s, rec->id, &b)) == 0 &&
	    (rc = append_spec(g, rec, &b)) == 0)
		rc = emit_receipt(s, &b, file);
done:
	objget_free(g);
	free(b.p);
	free(rec);
	return (rc);
}

static const struct option common_longs[] = { COMMON_OPTS };

int
cmd_receipt(int argc, char **argv)
{
	struct session s = { 0 };
	const char *file = NULL;
	int c, rc;

	while ((c = getopt_long(argc, argv, "o:qv", common_longs,
	    NULL)) != -1) {
		if (c == 'o')
			file = optarg;
		else if ((rc = common_option(&s, "receipt", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if (argc - optind != 1)
		return (out_usage("receipt needs one JOB"));
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	rc = receipt_job(&s, argv[optind], file);
	session_close(&s);
	return (rc);
}

static const struct option verify_longs[] = {
	{ "host-key", required_argument, NULL, OPT_HOST_KEY }, COMMON_OPTS
};

/* The key to check with: the one given, or a pinned one with that id. */
static int
verify_key(const char *file, const uint8_t *buf, size_t len, const char *given,
    uint8_t key[32])
{
	struct receipt *r;
	const char *why;
	char id[17];
	int rc = EXIT_NO;

	if (given != NULL) {
		if (text_unhex(given, key, 32) == -1)
			return (out_usage("--host-key: 64 hexadecimal digits"));
		return (0);
	}
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return (EXIT_OURS);
	if (receipt_open(buf, len, NULL, r, &why) == -1)
		out_warn("%s: not a valid receipt: %s", file, why);
	else {
		text_hex(r->host_key_id, 8, id);
		if (state_host_key(r->host_key_id, key) == 0)
			rc = 0;
		else
			out_warn("%s: it is signed by the host key %s, which "
			    "this client has never met; give the key with "
			    "--host-key if you trust it", file, id);
		receipt_done(r);
	}
	free(r);
	return (rc);
}

static int
verify_file(const char *file, const char *given, int json, int quiet)
{
	struct receipt *r = NULL;
	uint8_t *buf, key[32];
	const char *why;
	size_t len;
	int rc = EXIT_NO;

	if (io_file_read(AT_FDCWD, file, LIMIT_RECEIPT + 4 + LIMIT_SPEC, &buf,
	    &len) == -1) {
		out_warn("%s: %s", file, strerror(errno));
		return (EXIT_NO);
	}
	if ((r = calloc(1, sizeof(*r))) == NULL ||
	    (rc = verify_key(file, buf, len, given, key)) != 0)
		goto done;
	if (receipt_open(buf, len, key, r, &why) == -1) {
		out_warn("%s: not a valid receipt: %s", file, why);
		rc = EXIT_NO;
		goto done;
	}
	if (json)
		(void)json_print(json_receipt(r), STDOUT_FILENO);
	else if (!quiet)
		printf("valid: job %s of tenant %s, receipt %llu, %s%s\n",
		    r->job, r->tenant, (unsigned long long)r->sequence,
		    r->unknown ? r->ran ? "ran and how it ended is not "
		    "known, " : "whether it ran is not known, " :
		    r->ran ? "ran, " : "did not run, ",
		    job_state_name(r->state));
	receipt_done(r);
done:
	free(r);
	free(buf);
	return (rc);
}

int
cmd_verify(int argc, char **argv)
{
	struct session s = { 0 };
	const char *key = NULL;
	int c, rc;

	while ((c = getopt_long(argc, argv, "qv", verify_longs, NULL)) != -1) {
		if (c == OPT_HOST_KEY)
			key = optarg;
		else if ((rc = common_option(&s, "verify", c, optarg)) != 0)
			return (common_exit(rc));
	}
	if (argc - optind != 1)
		return (out_usage("verify needs one FILE"));
	rc = verify_file(argv[optind], key, s.json, s.quiet);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}

/* Names come from the host. */
static void
show_images(const struct client_reply *r)
{
	uint32_t i;

	printf("images     ");
	for (i = 0; i < r->nimages; i++)
		printf("%s%s", i == 0 ? "" : ", ", out_escape(
		    r->images[i].name, strlen(r->images[i].name)));
	printf("\n");
}

/* What is not limited, but can be when it is asked for. */
static void
show_open(const struct client_reply *r)
{
	int disk = r->disk_may && r->limits.disk == 0;
	int cpu = r->cpu_time_may && r->limits.cpu_us == 0;

	if (disk || cpu)
		printf("no limit   of %s%s%s, but one may be asked for "
		    "(%s%s%s)\n", disk ? "disk" : "", disk && cpu ? " and " :
		    "", cpu ? "processor time" : "", disk ? "--disk" : "",
		    disk && cpu ? ", " : "", cpu ? "--cpu-time" : "");
}

static void
show_info(const struct session *s, const struct client_reply *r)
{
	printf("host       %s\nsoftware   %s\ntenant     %s\nprocessors %u\n"
	    "memory     %s\n", out_escape(s->host->host, strlen(s->host->host)),
	    out_escape(s->host->software, strlen(s->host->software)),
	    s->host->tenant, r->cpus, text_bytes(r->memory));
	printf("network    %s\n", r->net_host ? "none, host" : "none");
	if (r->nimages > 0)
		show_images(r);
	printf("at most   ");
	out_limits(&r->limits);
	show_open(r);
	if (r->disk_soft)
		printf("disk       soft: what a job writes is counted while it "
		    "runs\n");
	if (r->has_used) {
		printf("uses      ");
		out_used(&r->used, &r->quota);
	} else {
		printf("may keep  ");
		out_keep(&r->quota);
	}
}

int
cmd_info(int argc, char **argv)
{
	struct session s = { 0 };
	struct client_open *o;
	struct client_reply *r;
	json_t *j;
	int c, rc;

	while ((c = getopt_long(argc, argv, "qv", common_longs, NULL)) != -1)
		if ((rc = common_option(&s, "info", c, optarg)) != 0)
			return (common_exit(rc));
	if (optind < argc)
		return (out_usage("info takes no arguments"));
	if (session_hello(&s) == -1)
		return (EXIT_NO);
	o = calloc(1, sizeof(*o));
	r = calloc(1, sizeof(*r));
	rc = EXIT_OURS;
	if (o != NULL && r != NULL) {
		o->verb = CLIENT_INFO;
		if ((rc = session_call(&s, o, r)) == 0 && s.json) {
			j = json_object();
			json_object_set_new(j, "host", json_string(
			    s.host->host));
			json_object_set_new(j, "software", json_string(
			    s.host->software));
			json_object_set_new(j, "tenant", json_string(
			    s.host->tenant));
			json_object_set_new(j, "cpus", json_integer(r->cpus));
			json_object_set_new(j, "memory_bytes", json_integer(
			    (json_int_t)r->memory));
			json_object_set_new(j, "net_host", json_boolean(
			    r->net_host));
			json_object_set_new(j, "images", json_images(
			    r->images, r->nimages));
			json_object_set_new(j, "disk_soft", json_boolean(
			    r->disk_soft));
			json_object_set_new(j, "disk_may", json_boolean(
			    r->disk_may));
			json_object_set_new(j, "cpu_time_may", json_boolean(
			    r->cpu_time_may));
			json_object_set_new(j, "limits", json_limits(
			    &r->limits));
			json_object_set_new(j, "used", r->has_used ?
			    json_used(&r->used) : json_null());
			json_object_set_new(j, "quota", json_quota(
			    &r->quota));
			rc = json_print(j, STDOUT_FILENO) == 0 ? 0 : EXIT_OURS;
		} else if (rc == 0)
			show_info(&s, r);
	}
	free(o);
	free(r);
	session_close(&s);
	return (out_flush() == 0 ? rc : EXIT_OURS);
}
