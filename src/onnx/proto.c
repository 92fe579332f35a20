/* onnx/proto.c: the rows of ONNX's messages, from proto.h's table, and new messages. */
#include "../dync.in.h"
#include "proto.h"
DYNC__COLD

#define DYNC__X(number, name, kind, m)                                             \
    {#name, (uint16_t)offsetof(DYNC__PB_STRUCT, name), number, DYNC__PB_IS_##kind, \
     DYNC__ONNX_IS_##m},
/* clang-format off */
#define DYNC__PB_STRUCT dync__onnx_entry
static const dync__pb_field dync__pb_entry[] = {DYNC__ONNX_entry(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_opset
static const dync__pb_field dync__pb_opset[] = {DYNC__ONNX_opset(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_dim
static const dync__pb_field dync__pb_dim[] = {DYNC__ONNX_dim(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_shape
static const dync__pb_field dync__pb_shape[] = {DYNC__ONNX_shape(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_tensor_type
static const dync__pb_field dync__pb_tensor_type[] = {DYNC__ONNX_tensor_type(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_nested_type
static const dync__pb_field dync__pb_nested_type[] = {DYNC__ONNX_nested_type(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_type
static const dync__pb_field dync__pb_type[] = {DYNC__ONNX_type(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_value_info
static const dync__pb_field dync__pb_value_info[] = {DYNC__ONNX_value_info(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_tensor
static const dync__pb_field dync__pb_tensor[] = {DYNC__ONNX_tensor(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_sparse
static const dync__pb_field dync__pb_sparse[] = {DYNC__ONNX_sparse(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_attribute
static const dync__pb_field dync__pb_attribute[] = {DYNC__ONNX_attribute(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_node
static const dync__pb_field dync__pb_node[] = {DYNC__ONNX_node(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_graph
static const dync__pb_field dync__pb_graph[] = {DYNC__ONNX_graph(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_function
static const dync__pb_field dync__pb_function[] = {DYNC__ONNX_function(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_training
static const dync__pb_field dync__pb_training[] = {DYNC__ONNX_training(DYNC__X)};
#undef DYNC__PB_STRUCT
#define DYNC__PB_STRUCT dync__onnx_model
static const dync__pb_field dync__pb_model[] = {DYNC__ONNX_model(DYNC__X)};
#undef DYNC__PB_STRUCT
#undef DYNC__X
/* clang-format on */

static const dync__pb_message dync__pb_messages[] = {
#define DYNC__M(m, title) \
    {title, dync__pb_##m, DYNC__COUNT_OF(dync__pb_##m), sizeof(dync__onnx_##m)},
    DYNC__ONNX_MESSAGES(DYNC__M)
#undef DYNC__M
};

DYNC__FN const dync__pb_message *dync__pb_message_of(dync__onnx_kind kind)
{
    return &dync__pb_messages[kind];
}

DYNC__FN void *dync__pb_new(dync__arena *arena, dync__onnx_kind kind)
{
    const dync__pb_message *m = &dync__pb_messages[kind];
    char *made = dync__arena_alloc(arena, m->bytes);
    for (int i = 0; made && i < m->n_fields; i++)
        if (m->field[i].kind == DYNC__PB_IS_TEXT)
            *(const char **)(void *)(made + m->field[i].at) = "";
    return made;
}

/* Lists are seen through copies: their members point at other types. */
DYNC__FN bool dync__pb_push(dync__arena *arena, dync__pb_list *at, const void *item, size_t bytes)
{
    dync__pb_list list;
    memcpy(&list, at, sizeof list);
    if (list.n == list.cap) list.at = dync__vec_grow(arena, list.at, &list.cap, list.n + 1, bytes);
    if (list.n == list.cap) return false;
    memcpy((char *)list.at + (size_t)list.n++ * bytes, item, bytes);
    memcpy(at, &list, sizeof list);
    return true;
}

DYNC__FN void *dync__pb_add(dync__arena *arena, dync__pb_list *list, dync__onnx_kind kind)
{
    void *made = dync__pb_new(arena, kind);
    return made && dync__pb_push(arena, list, &made, sizeof made) ? made : NULL;
}
