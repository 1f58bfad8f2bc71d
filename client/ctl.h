#ifndef ERRAND_CTL_H
#define ERRAND_CTL_H

#include "session.h"

/* The commands of errandctl; as those of errand (cmd.h). */
int ctl_doctor(struct session *, int, char **);
int ctl_status(struct session *, int, char **);
int ctl_tenant(struct session *, int, char **);
int ctl_cache(struct session *, int, char **);
int ctl_store(struct session *, int, char **);

#endif /* !ERRAND_CTL_H */
