/* dync.h: torch.compile for C. The amalgamation order is the dependency order; tools/amalgamate
 * inlines it into dync.h. */
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
#include "api/control.h"
#include "api/graph.h"
#include "api/debug.h"
#include "api/program.h"
#endif

#if defined(DYNC_IMPLEMENTATION) && !defined(DYNC__IMPLEMENTED)
#define DYNC__IMPLEMENTED
#include "base/priv.h"
DYNC__LEVELS_BEGIN
#include "base/base.h"
#include "base/handle.h"
#include "base/pass.h"
DYNC__COLD
#include "base/num.c"
DYNC__WARM
#include "base/os.c"
#include "base/err.c"
#include "base/thread.c"
#include "base/mem.c"
#include "base/handle.c"
#include "base/arena.c"
#include "base/map.c"
DYNC__COLD
#include "base/str.c"
DYNC__WARM
#include "base/rng.c"
DYNC__COLD
#include "base/log.c"
#include "base/option.c"
#include "base/pass.c"
#include "base/process.c"
#include "base/file.c"
DYNC__WARM
#include "base/pool.c"
DYNC__COLD
#include "base/json.c"
#include "base/profile.c"
DYNC__PLAIN
#include "tensor/device.h"
#include "tensor/tensor.h"
#include "tensor/sym.h"
DYNC__WARM
#include "tensor/device.c"
#include "tensor/dtype.c"
DYNC__COLD
#include "tensor/sym.c"
#include "tensor/sym_decide.c"
#include "tensor/sym_value.c"
#include "tensor/sym_text.c"
DYNC__WARM
#include "tensor/shape.c"
#include "tensor/tensor.c"
#include "tensor/scope.c"
#include "tensor/value.c"
DYNC__COLD
#include "tensor/init.c"
#include "tensor/show.c"
DYNC__PLAIN
#include "loop/loop.h"
DYNC__COLD
#include "loop/eval.c"
#include "loop/loop.c"
#include "loop/text.c"
#include "loop/check.c"
DYNC__PLAIN
#include "loop/fuse.h"
DYNC__COLD
#include "loop/vecmath.h"
#include "loop/simplify.c"
#include "loop/cost.c"
#include "loop/fuse_map.c"
#include "loop/fuse_merge.c"
#include "loop/fuse.c"
#include "loop/unroll.c"
#include "loop/schedule.c"
#include "loop/vecmath_exp.c"
#include "loop/vecmath_erf.c"
#include "loop/vecmath_inverse.c"
#include "loop/vecmath_log.c"
#include "loop/vecmath_pow.c"
#include "loop/vecmath_trig.c"
#include "loop/expand.c"
DYNC__PLAIN
#include "codegen/codegen.h"
#include "codegen/code.h"
#include "codegen/after.h"
#include "codegen/plan_loops.h"
#include "codegen/interp_tile.h"
#include "codegen/interp.h"
#include "codegen/interp_build.h"
#include "codegen/interp_run.h"
#include "codegen/codemem.h"
#include "codegen/target.h"
#include "codegen/asm.h"
#include "codegen/x86_enc.h"
#include "codegen/x86_verbs.h"
#include "codegen/gen_transpose.h"
#include "codegen/gen.h"
#include "codegen/conv_code.h"
#include "codegen/gen_conv.h"
#include "codegen/jit.h"
#include "codegen/plan_code.h"
#include "codegen/gemm_code.h"
#include "codegen/gen_gemm.h"
DYNC__COLD
#include "codegen/codemem.c"
DYNC__LEAN
#include "codegen/asm.c"
#include "codegen/plan_loops.c"
#include "codegen/x86_enc.c"
#include "codegen/x86_memory.c"
#include "codegen/x86_arith.c"
#include "codegen/x86_lanes.c"
#include "codegen/x86_target.c"
#include "codegen/gen_reg.c"
#include "codegen/gen_mem.c"
#include "codegen/gen_prim.c"
#include "codegen/gen_reduce.c"
#include "codegen/gen_transpose.c"
#include "codegen/gen_cold.c"
#include "codegen/gen_loops.c"
#include "codegen/gen_after.c"
#include "codegen/gen_parts.c"
#include "codegen/gen_dots.c"
#include "codegen/gen_gemm.c"
#include "codegen/gen_wino.c"
#include "codegen/gen_conv.c"
#include "codegen/gen_planes.c"
#include "codegen/conv_code.c"
#include "codegen/plan_code.c"
#include "codegen/jit_part.c"
#include "codegen/jit.c"
#include "codegen/gemm_code.c"
#include "codegen/interp_plan.c"
#include "codegen/interp_cold.c"
#include "codegen/interp_emit.c"
#include "codegen/interp.c"
DYNC__WARM
#include "codegen/jit_run.c"
DYNC__BESIDE_JIT
#include "codegen/gemm_run.c"
#include "codegen/transpose_run.c"
DYNC__SPARE
#include "codegen/interp_move.c"
#include "codegen/interp_reduce.c"
#include "codegen/interp_run.c"
DYNC__HOT
#include "codegen/interp_tile.c"
DYNC__COLD
#include "codegen/code.c"
#include "codegen/csrc.c"
DYNC__PLAIN
#include "kernel/attr.h"
#include "kernel/kernel.h"
#include "kernel/operand.h"
#include "kernel/gemm.h"
DYNC__COLD
#include "kernel/attr.c"
DYNC__BESIDE_JIT
#include "kernel/operand.c"
#include "kernel/gemm.c"
#include "kernel/matmul.c"
DYNC__PLAIN
#include "kernel/conv_jit.h"
#include "kernel/conv_tiles.h"
DYNC__WARM
#include "kernel/conv_blocks.c"
#include "kernel/conv_weights.c"
#include "kernel/conv_wino.c"
#include "kernel/conv_tiles.c"
#include "kernel/conv_grad.c"
#include "kernel/conv_plan.c"
DYNC__BESIDE_JIT
#include "kernel/conv.c"
#include "kernel/pooling.c"
#include "kernel/sort.c"
DYNC__HOT
#include "kernel/scatter.c"
DYNC__COLD
#include "kernel/attention.c"
#include "kernel/recurrent.c"
DYNC__PLAIN
#include "runtime/runtime.h"
#include "runtime/plan.h"
DYNC__COLD
#include "runtime/text.c"
#include "runtime/memplan.c"
#include "runtime/perf.c"
#include "runtime/tune.c"
#include "runtime/epilogue.c"
#include "runtime/follow.c"
#include "runtime/convs.c"
#include "runtime/check.c"
#include "runtime/pass.c"
#include "runtime/form.c"
#include "runtime/plan_ways.c"
#include "runtime/plan.c"
DYNC__HOT
#include "runtime/run.c"
DYNC__PLAIN
#include "op/op.h"
#include "op/rows.h"
DYNC__WARM
#include "op/table.c"
#include "op/args.c"
#include "op/arith.c"
DYNC__COLD
#include "op/infer.c"
#include "op/infer_pointwise.c"
#include "op/infer_factory.c"
#include "op/infer_view.c"
#include "op/infer_reduce.c"
#include "op/infer_linear.c"
#include "op/infer_conv.c"
#include "op/infer_layers.c"
#include "op/infer_move.c"
#include "op/expr.c"
#include "op/lower.c"
#include "op/lower_reduce.c"
#include "op/lower_nn.c"
#include "op/lower_move.c"
#include "op/anomaly.c"
DYNC__WARM
#include "op/dispatch.c"
#include "op/eager_check.c"
#include "op/eager_plan.c"
#include "op/eager.c"
DYNC__PLAIN
#include "op/chain.h"
DYNC__COLD
#include "op/chain.c"
#include "op/decompose_pointwise.c"
#include "op/decompose_linear.c"
#include "op/decompose_shape.c"
#include "op/decompose_layers.c"
#include "op/decompose_loss.c"
#include "op/decompose_data.c"
#include "op/einsum.c"
#include "op/custom.c"
#include "op/control.c"
#include "op/entries.c"
#include "op/public.c"
DYNC__PLAIN
#include "autograd/autograd.h"
#include "autograd/node.h"
#include "autograd/grads.h"
DYNC__WARM
#include "autograd/node.c"
DYNC__COLD
#include "autograd/hooks.c"
DYNC__WARM
#include "autograd/visit.c"
#include "autograd/engine.c"
DYNC__COLD
#include "autograd/view.c"
#include "autograd/autograd.c"
DYNC__WARM
#include "autograd/tape.c"
DYNC__COLD
#include "autograd/function.c"
#include "autograd/grads.c"
#include "autograd/grads_reduce.c"
#include "autograd/grads_nn.c"
#include "autograd/grads_view.c"
#include "autograd/grads_control.c"
#include "autograd/rows.c"
DYNC__PLAIN
#include "nn/nn.h"
DYNC__COLD
#include "nn/state.c"
#include "nn/module.c"
#include "nn/init.c"
#include "nn/optim.c"
#include "nn/layers.c"
#include "nn/attention.c"
#include "nn/recurrent.c"
DYNC__PLAIN
#include "graph/graph.h"
#include "graph/control.h"
#include "graph/text.h"
DYNC__COLD
#include "graph/name.c"
#include "graph/graph.c"
#include "graph/public.c"
#include "graph/copy.c"
#include "graph/cse.c"
#include "graph/dce.c"
#include "graph/symbolic.c"
#include "graph/split.c"
#include "graph/run.c"
#include "graph/control.c"
#include "graph/text.c"
#include "graph/check.c"
#include "graph/draw.c"
DYNC__PLAIN
#include "graph/parse.h"
DYNC__COLD
#include "graph/parse_arg.c"
#include "graph/parse.c"
#include "graph/print_fx.c"
#include "graph/print_c.c"
#include "graph/pass.c"
DYNC__PLAIN
#include "capture/capture.h"
#include "capture/trace.h"
#include "capture/script.h"
#include "capture/control.h"
DYNC__COLD
#include "capture/callback.c"
#include "capture/value.c"
#include "capture/number.c"
#include "capture/shape_guard.c"
DYNC__WARM
#include "capture/guard.c"
#include "capture/guard_text.c"
#include "capture/alike.c"
#include "capture/stance.c"
#include "capture/history.c"
#include "capture/segment.c"
#include "capture/segment_run.c"
DYNC__HOT
#include "capture/quick.c"
DYNC__PLAIN
#include "capture/verify.h"
DYNC__COLD
#include "capture/verify_copy.c"
#include "capture/verify_compare.c"
#include "capture/verify.c"
DYNC__PLAIN
#include "capture/lint.h"
DYNC__COLD
#include "capture/lint.c"
#include "capture/trace.c"
#include "capture/script.c"
#include "capture/env.c"
#include "capture/record.c"
#include "capture/effects.c"
#include "capture/sizes.c"
#include "capture/symbol.c"
#include "capture/arithmetic.c"
#include "capture/lift.c"
#include "capture/script_cut.c"
#include "capture/piece.c"
#include "capture/cut.c"
#include "capture/break.c"
#include "capture/handler.c"
#include "capture/step.c"
#include "capture/result.c"
DYNC__WARM
#include "capture/replay.c"
#include "capture/replay_cut.c"
DYNC__COLD
#include "capture/path.c"
#include "capture/reads.c"
#include "capture/allowed.c"
#include "capture/frame.c"
#include "capture/grads.c"
#include "capture/control_trace.c"
#include "capture/control.c"
#include "capture/install.c"
#include "capture/call.c"
#include "capture/lint_trace.c"
DYNC__WARM
#include "capture/tree.c"
#include "capture/compiled.c"
#include "capture/info.c"
#include "capture/miss.c"
#include "capture/cache.c"
DYNC__COLD
#include "capture/explain.c"
#include "capture/explain_html.c"
DYNC__PLAIN
#include "aot/aot.h"
DYNC__COLD
#include "aot/unlist.c"
#include "aot/functionalize.c"
#include "aot/alias.c"
DYNC__PLAIN
#include "aot/code.h"
#include "aot/partition.h"
DYNC__COLD
#include "aot/mincut.c"
#include "aot/partition.c"
#include "aot/parts.c"
#include "aot/joint.c"
#include "aot/control.c"
#include "aot/control_grad.c"
#include "aot/export.c"
#include "aot/number.c"
#include "aot/attend.c"
DYNC__WARM
#include "aot/code.c"
#include "aot/tail.c"
#include "aot/backward.c"
#include "aot/runtime.c"
#include "aot/make.c"
#include "aot/form.c"
DYNC__COLD
#include "aot/sized.c"
DYNC__WARM
#include "aot/compile.c"
DYNC__PLAIN
#include "inductor/inductor.h"
#include "inductor/lower.h"
DYNC__COLD
#include "inductor/opaque.c"
#include "inductor/parts.c"
#include "inductor/reinplace.c"
#include "inductor/lower.c"
#include "inductor/control.c"
DYNC__WARM
#include "inductor/sized.c"
#include "inductor/inductor.c"
DYNC__PLAIN
#include "backend/backend.h"
DYNC__COLD
#include "backend/registry.c"
#include "backend/eager.c"
#include "backend/absent.c"
#include "backend/aot.c"
#include "backend/broken.c"
#include "backend/explain.c"
DYNC__PLAIN
#include "program/program.h"
#include "program/csource.h"
DYNC__COLD
#include "program/csource_kernels.c"
#include "program/csource_print.c"
#include "program/csource.c"
#include "program/npy.c"
#include "program/safetensors.c"
#include "program/module_file.c"
#include "program/checkpoint.c"
#include "program/export.c"
#include "program/program_file.c"
#include "program/save.c"
#include "program/ts.c"
DYNC__PLAIN
#include "minify/minify.h"
DYNC__COLD
#include "minify/settings.c"
#include "minify/run.c"
#include "minify/graph.c"
#include "minify/accuracy.c"
#include "minify/judge.c"
#include "minify/shrink.c"
#include "minify/write.c"
#include "minify/hook.c"
#include "minify/repro_inputs.c"
#include "minify/repro.c"
#include "minify/backends.c"
#include "compile/compile.c"
DYNC__PLAIN
#include "compile/ca.h"
DYNC__COLD
#include "compile/ca_visit.c"
#include "compile/ca_body.c"
#include "compile/ca_list.c"
#include "compile/compiled_autograd.c"
#include "compile/config.c"
#include "compile/custom_op.c"
#include "compile/make_graph.c"
DYNC__LEVELS_END
#undef DYNC_HERE
#undef DYNC_OP
#define DYNC_HERE DYNC__HERE
#define DYNC_OP(f, p, op, ...) p(&op##_row, __VA_ARGS__, DYNC_HERE)
#endif
