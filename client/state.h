#ifndef ERRAND_STATE_H
#define ERRAND_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "proto/job_types.h"

/*
 * What the client remembers, in $XDG_STATE_HOME/errand (else
 * ~/.local/state/errand), a directory of the user's own, mode 0700:
 *   hosts          host key, address: pinned at the first contact
 *   trees/H        stat cache per host key, tenant and root
 *   last/H         newest job submitted per root
 *   tenants/H      who we were last at an address
 *   applies/H      journal of an apply of one file, per root
 */

/* Path of a file below the state directory (made when missing) into ${out}
 * (PATH_MAX bytes).  0, or -1 with errno. */
int state_path(const char *, char *);

/* Path of the stat cache for a host key, tenant and root.  0 or -1. */
int state_tree_path(const uint8_t key[32], const char *tenant,
    const char *root, char *);

/* Newest job submitted from a root: remember (0/-1) and recall (0/-1). */
int state_last_set(const char *root, const char *tenant, const char *job);
int state_last_get(const char *root, const char *tenant, char *job);

/* Who a host said that we are, by its address and who we asked to be (""):
 * remember (0/-1) and recall (0/-1; TENANT_NAME_MAX + 1 bytes).  A guess, to be
 * compared with what the host says now. */
int state_tenant_set(const char *addr, const char *asked, const char *tenant);
int state_tenant_get(const char *addr, const char *asked, char *tenant);

/* Path of the journal for a root, by its device and inode.  0 or -1. */
int state_apply_path(uint64_t dev, uint64_t ino, char *);

/**
 * state_host_pin(addr, key, why):
 * Remember the host's key at the first contact; later compare.  Return 0, or
 * -1 with a sentence in ${why} (LIMIT_TEXT bytes) when it is another one.
 */
int state_host_pin(const char *, const uint8_t key[32], char *);

/* Key of a host id (receipt_key_id) among the pinned ones.  0 or -1. */
int state_host_key(const uint8_t id[8], uint8_t key[32]);

/**
 * state_host_addr(on, out, why):
 * The host to use: ${on}, else ERRAND_HOST, else the system's socket if it is
 * there; into ${out} (PATH_MAX + 8 bytes).  Return 0; 1 when it is to be this
 * user's private daemon ("local", or nothing else is there); or -1 with a
 * sentence in ${why} (LIMIT_TEXT bytes) when what was asked for is no address.
 */
int state_host_addr(const char *on, char *, char *why);

/**
 * state_private_addr(out, why):
 * Address of the private daemon, whether it runs or not (PATH_MAX + 8 bytes).
 * Return 0, or -1 with a sentence in ${why} (LIMIT_TEXT bytes) when the
 * directory it would be in is somebody else's: in /tmp anybody could have made
 * it first.
 */
int state_private_addr(char *, char *);

#endif /* !ERRAND_STATE_H */
