/* base/pass.c, runtime/check.c, graph/pass.c: passes by name, and the verifiers at the borders
 * between them: IR that was broken on purpose is seen, named and refused. */
#include "../../src/dync.in.h"
#include "../../src/runtime/plan.h"
#include "../../src/graph/graph.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static bool refused(dync_status status, const char *why)
{
    bool ok = EXPECT_STATUS(status, DYNC_ERR_INTERNAL) &&
              EXPECT(strstr(dync_error_message(), why) != NULL);
    if (!ok) printf("expected \"%s\", got \"%s\"\n", why, dync_error_message());
    dync_clear_error();
    return ok;
}

/* ---- names ----------------------------------------------------------------------------------- */
TEST(passes_are_left_out_by_name)
{
    EXPECT_OK(dync_config_set("disable", "fuse, cse"));
    EXPECT(!dync__pass_on(DYNC__PASS_fuse) && !dync__pass_on(DYNC__PASS_cse));
    EXPECT(dync__pass_on(DYNC__PASS_dce));
    EXPECT_OK(dync_config_set("disable", "memory"));
    EXPECT(dync__pass_on(DYNC__PASS_fuse) && !dync__pass_on(DYNC__PASS_memory));
    EXPECT_OK(dync_config_set("disable", ""));
    for (int i = 0; i < DYNC__N_PASSES; i++) EXPECT(dync__pass_on(i));
    for (int i = 0; i < DYNC__N_PASSES; i++) {
        if (!dync__pass_optional(i)) continue;
        EXPECT_OK(dync_config_set("disable", dync__pass_name(i)));
        for (int k = 0; k < DYNC__N_PASSES; k++) EXPECT(dync__pass_on(k) == (k != i));
    }
    EXPECT_OK(dync_config_set("disable", ""));
}

TEST(unknown_passes_are_told_with_the_list)
{
    dync_on_error(quiet, NULL);
    EXPECT_OK(dync_config_set("disable", "dce"));
    EXPECT_STATUS(dync_config_set("disable", "cse,fusion"), DYNC_ERR_VALUE);
    EXPECT(strstr(dync_error_message(), "'fusion'") != NULL);
    for (int i = 0; i < DYNC__N_PASSES; i++)
        EXPECT(!dync__pass_optional(i) || strstr(dync_error_message(), dync__pass_name(i)) != NULL);
    dync_clear_error();
    EXPECT(!dync__pass_on(DYNC__PASS_dce) && dync__pass_on(DYNC__PASS_cse)); /* as it was */
    EXPECT_STATUS(dync_config_set("disable", "lower"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_OK(dync_config_set("disable", NULL));
    EXPECT(dync__pass_on(DYNC__PASS_dce));
    EXPECT_STATUS(dync_config_set("check_ir", "perhaps"), DYNC_ERR_VALUE);
}

/* ---- steps ----------------------------------------------------------------------------------- */
/* x [8] -> twice -> t [8] -> twice -> y [8]; t is also copied into z */
typedef struct fixture {
    dync__arena arena;
    dync__pb pb;
    dync__plan_options options;
    dync__steps steps;
    int x, t, y, z;
} fixture;

static dync__kernel *doubling(fixture *f, int from, int to)
{
    int64_t extent = 8, stride[DYNC__LOOP_MAX_DIMS] = {1};
    dync__lb b = {.k = dync__kernel_new(&f->arena, "twice", 0, 1, &extent), .section = 1};
    int in = dync__kernel_buf(b.k, from, DYNC_F32, DYNC__BUF_IN, -1, NULL),
        out = dync__kernel_buf(b.k, to, DYNC_F32, DYNC__BUF_OUT, -1, NULL),
        at = dync__kernel_access(b.k, 0, stride), v = dync__lb_load(&b, in, at);
    dync__lb_store(&b, out, at, dync__lb_op(&b, DYNC__P_add, v, v, -1));
    dync__pb_add_kernel(&f->pb, b.k);
    return b.k;
}

static bool begin(fixture *f)
{
    memset(f, 0, sizeof *f);
    dync_on_error(quiet, NULL);
    dync__check_set(true);
    f->pb.arena = &f->arena;
    f->options.name = "broken";
    f->options.passes = dync__steps_run;
    f->x = dync__pb_slot(&f->pb, DYNC__SLOT_INPUT, DYNC_F32, -1, "x");
    f->t = dync__pb_slot(&f->pb, DYNC__SLOT_TEMP, DYNC_F32, 8, "t");
    f->y = dync__pb_slot(&f->pb, DYNC__SLOT_OUTPUT, DYNC_F32, 8, "y");
    f->z = dync__pb_slot(&f->pb, DYNC__SLOT_OUTPUT, DYNC_F32, 8, "z");
    doubling(f, f->x, f->t);
    doubling(f, f->t, f->y);
    doubling(f, f->t, f->z);
    return EXPECT_OK(dync__steps_begin(&f->steps, &f->pb, &f->options)) &&
           EXPECT_OK(dync__steps_check(&f->steps));
}

static void end(fixture *f) { dync__arena_free(&f->arena); }

static void swap_steps(fixture *f, int i, int j)
{
    dync__fuse_step s = f->steps.at[i];
    f->steps.at[i] = f->steps.at[j];
    f->steps.at[j] = s;
}

TEST(broken_steps_are_seen)
{
    fixture f;
    if (!begin(&f)) return;
    dync__kernel *k = f.steps.at[1].k;

    k->access.at[0].offset = 1;
    refused(dync__steps_check(&f.steps), "leaves its buffer");
    k->access.at[0].offset = 0;
    k->buf.at[1].id = 9;
    refused(dync__steps_check(&f.steps), "a slot that there is not");
    k->buf.at[1].id = f.y;
    f.pb.slot.at[f.y].dtype = DYNC_F64;
    refused(dync__steps_check(&f.steps), "another dtype");
    f.pb.slot.at[f.y].dtype = DYNC_F32;
    k->buf.at[0].size = 9;
    refused(dync__steps_check(&f.steps), "larger than its slot");
    k->buf.at[0].size = -1;

    swap_steps(&f, 0, 1);
    refused(dync__steps_check(&f.steps), "read before it is written");
    swap_steps(&f, 0, 1);
    f.steps.n = 2;
    refused(dync__steps_check(&f.steps), "nobody writes it any more");
    f.steps.n = 3;
    f.steps.at[0].k = NULL;
    refused(dync__steps_check(&f.steps), "it is read, but nobody writes it any more");
    end(&f);
}

TEST(a_slot_read_after_it_is_written_over)
{
    fixture f;
    if (!begin(&f)) return;
    doubling(&f, f.t, f.x); /* after every reader of x */
    REQUIRE_OK(dync__steps_begin(&f.steps, &f.pb, &f.options));
    EXPECT_OK(dync__steps_check(&f.steps));
    /* x by a step that also writes y; t no longer of x: only the order of x is wrong */
    f.steps.at[1].k->buf.at[0].id = f.x;
    EXPECT_OK(dync__steps_check(&f.steps));
    swap_steps(&f, 1, 3);
    refused(dync__steps_check(&f.steps), "read after it is written over");
    end(&f);
}

TEST(calls_are_checked)
{
    fixture f;
    if (!begin(&f)) return;
    dync__kcall_full room = {.call = {.row = &dync__kcall_matmul, .n = 2}};
    dync__kcall *call = &room.call;
    dync__layout lay;
    int64_t shape[1] = {8};
    REQUIRE_OK(dync__layout_contiguous(&lay, 1, shape));
    call->operand[0] = (dync__operand){.slot = f.x, .dtype = DYNC_F32, .lay = lay};
    call->operand[1] = (dync__operand){.slot = f.y, .dtype = DYNC_F32, .lay = lay, .written = true};
    f.steps.at[1] = (dync__fuse_step){.call = call};
    EXPECT_OK(dync__steps_check(&f.steps));
    call->operand[1].lay.offset = 1;
    refused(dync__steps_check(&f.steps), "reaches beyond its slot");
    call->operand[1].lay.offset = 0;
    call->operand[0].dtype = DYNC_I32;
    refused(dync__steps_check(&f.steps), "an operand of another dtype");
    call->operand[0].dtype = DYNC_F32;
    call->operand[0].slot = -1;
    refused(dync__steps_check(&f.steps), "a slot that there is not");
    end(&f);
}

/* A plan of broken steps is no plan: an error that names pass and fault, whatever DYNC_ASSERT is.
 */
TEST(the_compile_fails_cleanly)
{
    fixture f;
    if (!begin(&f)) return;
    f.steps.at[1].k->access.at[0].stride[0] = 2;
    EXPECT(dync__plan_new(&f.pb, &f.options) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_INTERNAL);
    EXPECT(strstr(dync_error_message(), "the steps after the pass lower") != NULL);
    EXPECT(strstr(dync_error_message(), "leaves its buffer") != NULL);
    dync_clear_error();
    dync__check_set(false);
    f.options.no_fuse = true;
    dync__plan *p = dync__plan_new(&f.pb, &f.options); /* nobody looks */
    EXPECT(p != NULL);
    dync__plan_free(p);
    end(&f);
}

/* ---- plans ----------------------------------------------------------------------------------- */
/* t = sqrt(index), y = t + x: t is made with the plan, which keeps it. */
TEST(what_no_argument_reaches_is_kept)
{
    for (int keeps = 0; keeps < 2; keeps++) {
        fixture f = {.pb.arena = &f.arena, .options = {.passes = dync__steps_run}};
        int64_t extent = 8, stride[DYNC__LOOP_MAX_DIMS] = {1};
        float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
        f.options.keeps = keeps;
        f.options.no_fuse = true;
        f.x = dync__pb_slot(&f.pb, DYNC__SLOT_INPUT, DYNC_F32, -1, "x");
        f.t = dync__pb_slot(&f.pb, DYNC__SLOT_TEMP, DYNC_F32, 8, "t");
        f.y = dync__pb_slot(&f.pb, DYNC__SLOT_OUTPUT, DYNC_F32, 8, "y");
        dync__lb b = {.k = dync__kernel_new(&f.arena, "roots", 0, 1, &extent), .section = 1};
        int at = dync__kernel_access(b.k, 0, stride), v = dync__lb_index(&b, at),
            t = dync__kernel_buf(b.k, f.t, DYNC_F32, DYNC__BUF_OUT, -1, NULL);
        v = dync__lb_op(&b, DYNC__P_sqrt, dync__lb_cast(&b, v, DYNC_F32), -1, -1);
        dync__lb_store(&b, t, at, v);
        dync__pb_add_kernel(&f.pb, b.k);
        b.k = dync__kernel_new(&f.arena, "sum", 0, 1, &extent);
        at = dync__kernel_access(b.k, 0, stride);
        t = dync__kernel_buf(b.k, f.t, DYNC_F32, DYNC__BUF_IN, -1, NULL);
        v = dync__kernel_buf(b.k, f.x, DYNC_F32, DYNC__BUF_IN, -1, NULL);
        int out = dync__kernel_buf(b.k, f.y, DYNC_F32, DYNC__BUF_OUT, -1, NULL);
        v = dync__lb_op(&b, DYNC__P_add, dync__lb_load(&b, t, at), dync__lb_load(&b, v, at), -1);
        dync__lb_store(&b, out, at, v);
        dync__pb_add_kernel(&f.pb, b.k);
        dync__plan *p = dync__plan_new(&f.pb, &f.options);
        dync__str text = {0};
        if (!EXPECT(p != NULL)) return;
        dync__plan_dump(&text, p);
        EXPECT_HAS_STR(dync__str_get(&text), keeps ? "kept f32 x 8 at 0" : "temp f32 x 8 at 0");
        dync__str_free(&text);
        for (int run = 0; run < 2; run++) {
            memset(y, 0, sizeof y);
            EXPECT_OK(dync__plan_run(p, NULL, (void *[]){x}, (void *[]){y}));
            for (int i = 0; i < 8; i++) EXPECT_NEAR(y[i], sqrt(i) + x[i], 1e-6);
        }
        dync__plan_free(p);
        end(&f);
    }
}

TEST(broken_plans_are_seen)
{
    fixture f;
    if (!begin(&f)) return;
    int u = dync__pb_slot(&f.pb, DYNC__SLOT_TEMP, DYNC_F32, 8, "u");
    doubling(&f, f.t, u);
    doubling(&f, u, f.z);
    f.options.no_fuse = true;
    dync__plan *p = dync__plan_new(&f.pb, &f.options);
    if (!EXPECT(p != NULL)) return;
    dync__slot *t = &p->slot[f.t], *other = &p->slot[u];
    int64_t at = t->arena_offset, its = other->arena_offset;
    EXPECT_OK(dync__plan_check(p));

    refused((t->arena_offset = 4, dync__plan_check(p)), "elsewhere than it is");
    t->arena_offset = at;
    int32_t *slot = (int32_t *)(uintptr_t)&p->step[0].slot[0];
    refused((*slot = 99, dync__plan_check(p)), "no such slot");
    *slot = f.x;

    /* both where they are looked for, at one place */
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n; k++)
            if (p->step[i].slot[k] == u)
                ((dync__plan_source *)(uintptr_t)p->step[i].source)[k].at = at;
    other->arena_offset = at;
    refused(dync__plan_check(p), "share memory");
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->step[i].n; k++)
            if (p->step[i].slot[k] == u)
                ((dync__plan_source *)(uintptr_t)p->step[i].source)[k].at = its;
    other->arena_offset = its;
    EXPECT_OK(dync__plan_check(p));

    int64_t scratch = p->scratch_offset;
    refused((p->scratch_offset = 32, dync__plan_check(p)), "beyond its part of the arena");
    p->scratch_offset = scratch;
    refused((p->slot[f.z].index = p->slot[f.y].index, dync__plan_check(p)), "the same output");
    p->slot[f.z].index = 1;
    EXPECT_OK(dync__plan_check(p));
    dync__plan_free(p);
    end(&f);
}

/* ---- graphs ---------------------------------------------------------------------------------- */
TEST(broken_graphs_are_seen)
{
    dync_on_error(quiet, NULL);
    dync__check_set(true);
    dync__graph *g = dync__graph_parse("dync_value f(dync_tensor *x)  /* f32[4] */\n{\n"
                                       "    dync_tensor *a = dync_add(x, x);  /* f32[4] */\n"
                                       "    return dync_tuple(a);\n}\n");
    REQUIRE(g != NULL);
    EXPECT_OK(dync__graph_check_after(DYNC__PASS_cse, g, true));
    g->node.at[1]->info[0].lay.shape[0] = 5;
    refused(dync__graph_check_after(DYNC__PASS_cse, g, true), "the graph after the pass cse");
    EXPECT_OK(dync__graph_check_after(DYNC__PASS_capture, g, false)); /* types are not inferred */
    g->node.at[1]->info[0].lay.shape[0] = 4;
    dync__node *add = g->node.at[1];
    add->args[0].as.node = g->node.at[2];
    refused(dync__graph_check_after(DYNC__PASS_capture, g, false), "defined later");
    add->args[0].as.node = g->node.at[0];
    dync__check_set(false);
    g->node.at[1]->info[0].lay.shape[0] = 5;
    EXPECT_OK(dync__graph_check_after(DYNC__PASS_cse, g, true)); /* off */
    g->node.at[1]->info[0].lay.shape[0] = 4;
    dync__graph_unref(g);
}
TEST_MAIN
