#ifndef ERRAND_EXEC_TREEROOM_H
#define ERRAND_EXEC_TREEROOM_H

#include <stdint.h>

/*
 * What trees that are laid out may take of the host's disk.  A tree can be a
 * thousand times what the store holds of it, since what is in it twice is there
 * once; so no quota of the store bounds it.  A tenant's trees, with the one
 * that is being made, may take as much as they leave to others.
 */
struct treeroom {
	int trees;              /* the tenant's */
	uint64_t laid;          /* bytes of the new one, about */
	uint64_t looked;        /* of these, when there was enough room */
};

/**
 * treeroom_add(room, bytes):
 * So much more is laid out.  When that is much since the last look, look: trees
 * that nobody uses give way, the oldest use first.  0, or -1 with EDQUOT.
 */
int treeroom_add(struct treeroom *, uint64_t);

#endif /* !ERRAND_EXEC_TREEROOM_H */
