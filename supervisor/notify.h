#ifndef ERRAND_NOTIFY_H
#define ERRAND_NOTIFY_H

/* Tell the service manager, if there is one: "READY=1", "STOPPING=1". */
void notify(const char *);

#endif /* !ERRAND_NOTIFY_H */
