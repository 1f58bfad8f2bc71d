#ifndef ERRAND_BACKUP_H
#define ERRAND_BACKUP_H

/*
 * What the store streams for a backup: files, one after the other.  Permanent
 * format, little-endian:
 *
 *   32-byte name, padded with zero bytes, u64 length, as many bytes
 *
 * Names are "key", "rebuild" (an empty file: the index is to be made from the
 * packs) and "packs/NNNNNNNN.pack".  It ends with a name of nothing but zeros
 * and the number of files.
 */
#define BACKUP_NAME     32
#define BACKUP_HEAD     40

#endif /* !ERRAND_BACKUP_H */
