#ifndef ERRAND_LIMITS_H
#define ERRAND_LIMITS_H

/*
 * Every maximum of the protocols, with its reason.  What may grow is bounded
 * here and nowhere else.
 */
#define PROTO_VERSION           1       /* client protocol */
#define CHANNEL_VERSION         1       /* channels between our processes */

#define LIMIT_ARTIFACTS         1000
#define LIMIT_SPEC              (1024 * 1024)   /* a job's spec, encoded */
#define LIMIT_ARGS              65536           /* arguments of a command */
#define LIMIT_ENV_BYTES         (1024 * 1024)   /* environment values */
#define LIMIT_ENV_VALUE         131071          /* execve refuses more */
#define LIMIT_PUT_BYTES         (4 * 1024 * 1024) /* one put memfd */
#define LIMIT_PUT_OBJECTS       4096
#define LIMIT_GET_BYTES         (4 * 1024 * 1024) /* one get memfd */
#define LIMIT_GET_OBJECTS       4096
#define LIMIT_AHEAD_OBJECTS     32      /* files sent with a list of changes: */
#define LIMIT_AHEAD_BYTES       65536   /* where more is, windows are as good */
#define LIMIT_NEED_REFS         65536           /* missing ids told at once */
#define LIMIT_RECORD            16384           /* an encoded job record */
#define LIMIT_RECEIPT           16384           /* an encoded receipt */
#define LIMIT_LIST_JOBS         1000            /* jobs of one listing */
#define LIMIT_TEXT              512             /* a sentence for a person */
#define LIMIT_NAME              64              /* label, job name, cache */
#define LIMIT_PATH              4096
#define LIMIT_CHANGES_BYTES     (256 * 1024 * 1024) /* a change list */
#define LIMIT_REQUESTS          256     /* unanswered on one store channel */
#define LIMIT_PROCS             64      /* processes in a status report */
#define LIMIT_CARE_BYTES        (1024 * 1024)   /* of a backup, at once */
#define LIMIT_TENANTS           4096
#define LIMIT_CACHES            8       /* of one job: each is a mount */
#define LIMIT_CACHE_PATH        256     /* where it is in the sandbox */
#define LIMIT_CACHE_LIST        16      /* in one answer to an operator */

#endif /* !ERRAND_LIMITS_H */
