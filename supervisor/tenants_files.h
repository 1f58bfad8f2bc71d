#ifndef ERRAND_TENANTS_FILES_H
#define ERRAND_TENANTS_FILES_H

#include "tenants.h"

/**
 * tenants_files_open(t):
 * Read which id is next from the state directory.  0, or -1 after logging.
 */
int tenants_files_open(struct tenants *);

/* Free what was noted of files. */
void tenants_files_close(struct tenants *);

/**
 * tenants_files_assign(t, tc):
 * Give ${tc} an id and a host uid where it has none; that they are taken is
 * durable when this returns.  0, or -1 with errno: ERANGE when no uid is left.
 */
int tenants_files_assign(struct tenants *, struct tenant_conf *);

/**
 * tenants_files_write(t, tc):
 * Replace or make the file of a tenant, durably.  0, or -1 with errno.
 */
int tenants_files_write(struct tenants *, const struct tenant_conf *);

#endif /* !ERRAND_TENANTS_FILES_H */
