/*
 * busy KIND NAME: keep changing NAME until killed, or for a minute at most.
 *
 *	grow    append to it
 *	vanish  make and remove NAME0 to NAME99, over and over
 *	swap    make it a FIFO and a file in turn
 */
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
write_to(const char *name, int flags)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK |
	    flags, 0644);

	if (fd == -1)
		return;
	if (write(fd, "one more line\n", 14) == -1)
		warn("%s", name);
	close(fd);
}

static void
grow(const char *name, unsigned int turn)
{
	(void)turn;
	write_to(name, O_APPEND);
}

static void
vanish(const char *name, unsigned int turn)
{
	char path[64];

	snprintf(path, sizeof(path), "%.40s%u", name, turn % 100);
	write_to(path, 0);
	snprintf(path, sizeof(path), "%.40s%u", name, (turn + 50) % 100);
	(void)unlink(path);
}

static void
swap(const char *name, unsigned int turn)
{
	(void)unlink(name);
	if (turn % 2 == 0)
		(void)mkfifo(name, 0644);
	else
		write_to(name, 0);
}

static const struct {
	const char *name;
	void (*fn)(const char *, unsigned int);
} kinds[] = {
	{ "grow", grow }, { "vanish", vanish }, { "swap", swap },
};

int
main(int argc, char **argv)
{
	unsigned int turn;
	size_t i;

	if (argc != 3)
		errx(2, "usage: busy grow|vanish|swap NAME");
	alarm(60);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0)
			for (turn = 0;; turn++) {
				kinds[i].fn(argv[2], turn);
				usleep(200);
			}
	return (2);
}
