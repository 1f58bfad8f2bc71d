#ifndef ERRAND_PROTO_EDGE_H
#define ERRAND_PROTO_EDGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

/*
 * Where generated types stop.  A map describes a plain structure: one row per
 * field of the message, in the order of the field numbers, with the member it
 * goes to and what it may be.  One engine packs and parses by map, so that
 * every field of every message is checked alike, in both directions: what
 * would not be accepted is not sent.
 *
 * A message is refused unless
 *  1. no field of it, at any level, is unknown;
 *  2. its bytes are the one encoding of what it says: fields in order and none
 *     twice, no zero spelled out, no number padded, no NUL in a string;
 *  3. each field is within the bounds of its row, and the map's own check
 *     agrees;
 *  4. taking it apart needs no more memory than a fixed amount.
 *
 * This header is internal to proto/.
 */
enum field_kind {
	F_UINT,         /* unsigned of any width, or int32: min to max */
	F_JOB,          /* a job id */
	F_TENANT,       /* a tenant's name */
	F_NAME,         /* UTF-8 without control characters */
	F_TEXT,         /* UTF-8; mended when packed */
	F_BLOB,         /* exactly so many bytes, absent when all zero */
	F_REF,          /* struct obj_ref; max: set of REF_... allowed */
	F_SPAN,         /* struct store_bytes: min to max bytes, borrowed */
	F_SUB,          /* a structure inside this one */
	F_SUB_HAS,      /* the same; ${count} is a uint8_t: it is there */
	F_OWN,          /* a pointer to a structure of its own, or NULL */
	F_ARRAY,        /* structures inside this one; ${count}: how many */
	F_OWN_ARRAY,    /* a pointer to such */
	F_U32S,         /* an array of uint32_t inside this one */
	F__MAX
};

#define REF_NONE        0x1u    /* 1 << OBJ_NONE and so on */
#define REF_CONTENT     0x6u
#define REF_TREE        0x8u
#define REF_ANY         0xfu

struct map;

/* For all but numbers, refs and spans, min 1 says "must be there". */
struct field {
	const char *name;
	enum field_kind kind;
	uint32_t at;            /* offset and size of the member */
	uint32_t size;
	uint32_t count;         /* offset of the member that counts it */
	uint64_t min, max;
	const struct map *sub;
};

struct map {
	const ProtobufCMessageDescriptor *desc;
	const struct field *fields;
	size_t n;
	size_t size;                    /* of the plain structure */
	int (*check)(const void *);     /* -1: these do not go together */
};

/* Rows.  ${T} is defined around each table as the type of the structure. */
#define FIELD(k, m, n, lo, hi, s) \
	{ #m, k, offsetof(T, m), sizeof(((T *)0)->m), n, lo, hi, s }
#define UINT(m, lo, hi)         FIELD(F_UINT, m, 0, lo, hi, NULL)
#define BOOL(m)                 UINT(m, 0, 1)
#define JOB(m, lo)              FIELD(F_JOB, m, 0, lo, 0, NULL)
#define TENANT(m, lo)           FIELD(F_TENANT, m, 0, lo, 0, NULL)
#define NAME(m, lo)             FIELD(F_NAME, m, 0, lo, 0, NULL)
#define TEXT(m)                 FIELD(F_TEXT, m, 0, 0, 0, NULL)
#define BLOB(m, lo)             FIELD(F_BLOB, m, 0, lo, 0, NULL)
#define REF(m, set)             FIELD(F_REF, m, 0, 0, set, NULL)
#define SPAN(m, lo, hi)         FIELD(F_SPAN, m, 0, lo, hi, NULL)
#define SUB(m, lo, s)           FIELD(F_SUB, m, 0, lo, 0, s)
#define SUB_HAS(m, has, s)      FIELD(F_SUB_HAS, m, offsetof(T, has), 0, 0, s)
#define OWN(m, s)               FIELD(F_OWN, m, 0, 0, 0, s)
#define ARRAY(m, n, hi, s)      FIELD(F_ARRAY, m, offsetof(T, n), 0, hi, s)
#define OWN_ARRAY(m, n, hi, s)  FIELD(F_OWN_ARRAY, m, offsetof(T, n), 0, hi, s)
#define U32S(m, n, hi)          FIELD(F_U32S, m, offsetof(T, n), 0, hi, NULL)

/* Numbers of bytes, entries and microseconds: they may be added in pairs. */
#define BIG             ((uint64_t)INT64_MAX)

#define MAP(name, type, d, rows, fn) \
	const struct map name = { &d, rows, sizeof(rows) / sizeof(rows[0]), \
	    sizeof(type), fn }
#define MAP_EMPTY(name, type, d) \
	const struct map name = { &d, NULL, 0, sizeof(type), NULL }

/*
 * A message that is one of several.  In the plain structure an op says which
 * (and in a reply, if it has ${reply_at}, the op that is answered); on the wire
 * a oneof does.
 */
struct row {
	uint8_t op;
	uint8_t reply_to;               /* 0: any, or in the map */
	uint8_t flags;
	uint32_t number;                /* the field of the oneof */
	const struct map *map;          /* of the whole plain message */
};
#define ROW_ID          0x1     /* its id is not zero; without, it is */

#define EDGE_NONE       UINT32_MAX

struct edge {
	const ProtobufCMessageDescriptor *desc;
	const struct row *rows;
	size_t n;
	size_t size;                    /* of the plain message */
	uint32_t op_at;                 /* offsets; EDGE_NONE: it has none */
	uint32_t id_at;                 /* uint64_t; field 1 on the wire */
	uint32_t reply_at;
	size_t max;                     /* longest encoding */
	size_t memory;                  /* most it may take */
};

#define EDGE_MEMORY     (1024 * 1024)

/* One for each channel. */
extern const struct edge store_edge, snap_edge, exec_edge, job_edge;
extern const struct edge open_edge, reply_edge;

/* Length, or -1: EINVAL (not to be said), EMSGSIZE, ENOMEM. */
ssize_t edge_pack(const struct edge *, const void *, uint8_t *, size_t);

/* 0, or -1 with errno = EPROTO.  What the structure then owns, it owns in
 * both cases. */
int edge_parse(const struct edge *, const uint8_t *, size_t, void *);

/* The same for a message of one kind, of at most ${max} bytes. */
ssize_t map_pack(const struct map *, const void *, uint8_t *, size_t,
    size_t max);
int map_parse(const struct map *, const uint8_t *, size_t, void *,
    size_t max);

/*
 * Unpack with the memory of the arena and check rules 1 (of the message
 * itself) and 2.  NULL if it breaks them.
 */
struct arena;
ProtobufCMessage *edge_unpack(const ProtobufCMessageDescriptor *,
    struct arena *, const uint8_t *, size_t);

/* UTF-8 without control characters. */
int edge_name_valid(const char *);

/* Make bytes valid UTF-8 in place; what is not becomes a question mark. */
void edge_mend(char *);

#endif /* !ERRAND_PROTO_EDGE_H */
