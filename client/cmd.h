#ifndef ERRAND_CMD_H
#define ERRAND_CMD_H

/*
 * The commands of errand: each gets its own argument vector (argv[0] is the
 * command's name) and returns the exit code.  One file per group.
 */
int cmd_run(int, char **);
int cmd_ls(int, char **);
int cmd_attach(int, char **);
int cmd_ps(int, char **);
int cmd_status(int, char **);
int cmd_logs(int, char **);
int cmd_wait(int, char **);
int cmd_kill(int, char **);
int cmd_diff(int, char **);
int cmd_fetch(int, char **);
int cmd_receipt(int, char **);
int cmd_verify(int, char **);
int cmd_info(int, char **);

#endif /* !ERRAND_CMD_H */
