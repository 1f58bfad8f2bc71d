#include "care.h"
const struct care_ops backup_ops;
