/* dync.h: torch.compile for C. The amalgamation order is the dependency order; tools/amalgamate inlines it into dync.h. */
#ifndef DYNC_H
#define DYNC_H
#include "api/manual.h"
#include "api/config.h"
#include "api/types.h"
#include "api/tensor.h"
#include "api/ops.h"
#include "api/autograd.h"
#include "api/nn.h"
#include "api/compile.h"
#include "api/graph.h"
#include "api/debug.h"
#include "api/program.h"
#endif

#if defined(DYNC_IMPLEMENTATION) && !defined(DYNC__IMPLEMENTED)
#define DYNC__IMPLEMENTED
#include "base/priv.h"
#include "base/base.h"
#include "base/os.c"
#include "base/thread.c"
#include "base/mem.c"
#include "base/arena.c"
#include "base/map.c"
#include "base/str.c"
#include "base/num.c"
#include "base/rng.c"
#include "base/err.c"
#include "base/log.c"
#include "base/json.c"
#include "base/pool.c"
#include "tensor/tensor.h"
#include "tensor/dtype.c"
#include "tensor/shape.c"
#include "tensor/tensor.c"
#include "tensor/scope.c"
#include "tensor/value.c"
#include "tensor/show.c"
#include "tensor/init.c"
#endif
