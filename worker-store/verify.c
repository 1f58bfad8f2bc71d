#include "care.h"
const struct care_ops verify_ops, repair_ops, backup_ops;
