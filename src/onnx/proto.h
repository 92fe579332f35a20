/* onnx/proto.h: ONNX files as C structs, read and written over one table. After program/.
 *
 * An ONNX file is one protobuf message, ModelProto. Each message that is used is a list macro
 * below, a row a field: number on the wire, name (ONNX's own), kind, and the message of a message
 * field. The macros make the structs, the rows that reader and writer walk, and thus every name in
 * an error. A field that is not listed is skipped when read.
 *
 *   kind    on the wire                  member of the struct
 *   INT     varint                       int64_t (also enums, int32 and uint64, the latter's bits)
 *   FLOAT   4 bytes                      float
 *   TEXT    bytes, UTF-8                 const char *, never NULL; a NUL inside is refused
 *   BYTES   bytes                        dync__pb_bytes: borrowed from the file, not aligned
 *   MSG     a message                    a pointer, NULL: absent
 *   INTS FLOATS DOUBLES TEXTS BYTESES MSGS: repeated: struct { T *at; int n, cap; }
 *
 * All lives in the arena, but bytes that are borrowed: those must outlive the structs. A builder
 * makes structs with dync__onnx_new, fills them in (dync__onnx_add for lists of messages) and calls
 * dync__onnx_write: what is not zero, empty or NULL is written; a zero that matters (a dimension of
 * size 0, a float 0 of an attribute) needs its bit in `has`: dync__onnx_has(m, dim, dim_value).
 * Source: onnx/onnx.proto of github.com/onnx/onnx (fields and numbers). */
#ifndef DYNC__ONNX_PROTO_H
#define DYNC__ONNX_PROTO_H
#include "../program/program.h"

typedef struct dync__pb_bytes {
    const char *at;
    size_t n;
} dync__pb_bytes;

/* clang-format off */
/* every message: the macro's and struct's name, ONNX's name; those inside others first */
#define DYNC__ONNX_MESSAGES(M)                 \
    M(entry,       "StringStringEntryProto")   \
    M(opset,       "OperatorSetIdProto")       \
    M(dim,         "TensorShapeProto.Dimension") \
    M(shape,       "TensorShapeProto")         \
    M(tensor_type, "TypeProto.Tensor")         \
    M(nested_type, "TypeProto.Sequence")       \
    M(type,        "TypeProto")                \
    M(value_info,  "ValueInfoProto")           \
    M(tensor,      "TensorProto")              \
    M(sparse,      "SparseTensorProto")        \
    M(attribute,   "AttributeProto")           \
    M(node,        "NodeProto")                \
    M(graph,       "GraphProto")               \
    M(function,    "FunctionProto")            \
    M(training,    "TrainingInfoProto")        \
    M(model,       "ModelProto")

#define DYNC__ONNX_entry(X)                    \
    X(1,  key,              TEXT,    none)     \
    X(2,  value,            TEXT,    none)
#define DYNC__ONNX_opset(X)                    \
    X(1,  domain,           TEXT,    none)     \
    X(2,  version,          INT,     none)
#define DYNC__ONNX_dim(X)                      \
    X(1,  dim_value,        INT,     none)     \
    X(2,  dim_param,        TEXT,    none)     \
    X(3,  denotation,       TEXT,    none)
#define DYNC__ONNX_shape(X)                    \
    X(1,  dim,              MSGS,    dim)
#define DYNC__ONNX_tensor_type(X)              \
    X(1,  elem_type,        INT,     none)     \
    X(2,  shape,            MSG,     shape)
#define DYNC__ONNX_nested_type(X)              \
    X(1,  elem_type,        MSG,     type)
#define DYNC__ONNX_type(X)                     \
    X(1,  tensor_type,      MSG,     tensor_type) \
    X(4,  sequence_type,    MSG,     nested_type) \
    X(6,  denotation,       TEXT,    none)     \
    X(8,  sparse_tensor_type, MSG,   tensor_type) \
    X(9,  optional_type,    MSG,     nested_type)
#define DYNC__ONNX_value_info(X)               \
    X(1,  name,             TEXT,    none)     \
    X(2,  type,             MSG,     type)     \
    X(3,  doc_string,       TEXT,    none)     \
    X(4,  metadata_props,   MSGS,    entry)
#define DYNC__ONNX_tensor(X)                   \
    X(1,  dims,             INTS,    none)     \
    X(2,  data_type,        INT,     none)     \
    X(4,  float_data,       FLOATS,  none)     \
    X(5,  int32_data,       INTS,    none)     \
    X(6,  string_data,      BYTESES, none)     \
    X(7,  int64_data,       INTS,    none)     \
    X(8,  name,             TEXT,    none)     \
    X(9,  raw_data,         BYTES,   none)     \
    X(10, double_data,      DOUBLES, none)     \
    X(11, uint64_data,      INTS,    none)     \
    X(12, doc_string,       TEXT,    none)     \
    X(13, external_data,    MSGS,    entry)    \
    X(14, data_location,    INT,     none)     \
    X(16, metadata_props,   MSGS,    entry)
#define DYNC__ONNX_sparse(X)                   \
    X(1,  values,           MSG,     tensor)   \
    X(2,  indices,          MSG,     tensor)   \
    X(3,  dims,             INTS,    none)
#define DYNC__ONNX_attribute(X)                \
    X(1,  name,             TEXT,    none)     \
    X(2,  f,                FLOAT,   none)     \
    X(3,  i,                INT,     none)     \
    X(4,  s,                BYTES,   none)     \
    X(5,  t,                MSG,     tensor)   \
    X(6,  g,                MSG,     graph)    \
    X(7,  floats,           FLOATS,  none)     \
    X(8,  ints,             INTS,    none)     \
    X(9,  strings,          BYTESES, none)     \
    X(10, tensors,          MSGS,    tensor)   \
    X(11, graphs,           MSGS,    graph)    \
    X(13, doc_string,       TEXT,    none)     \
    X(14, tp,               MSG,     type)     \
    X(15, type_protos,      MSGS,    type)     \
    X(20, type,             INT,     none)     \
    X(21, ref_attr_name,    TEXT,    none)     \
    X(22, sparse_tensor,    MSG,     sparse)   \
    X(23, sparse_tensors,   MSGS,    sparse)
#define DYNC__ONNX_node(X)                     \
    X(1,  input,            TEXTS,   none)     \
    X(2,  output,           TEXTS,   none)     \
    X(3,  name,             TEXT,    none)     \
    X(4,  op_type,          TEXT,    none)     \
    X(5,  attribute,        MSGS,    attribute) \
    X(6,  doc_string,       TEXT,    none)     \
    X(7,  domain,           TEXT,    none)     \
    X(8,  overload,         TEXT,    none)     \
    X(9,  metadata_props,   MSGS,    entry)
#define DYNC__ONNX_graph(X)                    \
    X(1,  node,             MSGS,    node)     \
    X(2,  name,             TEXT,    none)     \
    X(5,  initializer,      MSGS,    tensor)   \
    X(10, doc_string,       TEXT,    none)     \
    X(11, input,            MSGS,    value_info) \
    X(12, output,           MSGS,    value_info) \
    X(13, value_info,       MSGS,    value_info) \
    X(15, sparse_initializer, MSGS,  sparse)   \
    X(16, metadata_props,   MSGS,    entry)
#define DYNC__ONNX_function(X)                 \
    X(1,  name,             TEXT,    none)     \
    X(4,  input,            TEXTS,   none)     \
    X(5,  output,           TEXTS,   none)     \
    X(6,  attribute,        TEXTS,   none)     \
    X(7,  node,             MSGS,    node)     \
    X(8,  doc_string,       TEXT,    none)     \
    X(9,  opset_import,     MSGS,    opset)    \
    X(10, domain,           TEXT,    none)     \
    X(11, attribute_proto,  MSGS,    attribute) \
    X(12, value_info,       MSGS,    value_info) \
    X(13, overload,         TEXT,    none)     \
    X(14, metadata_props,   MSGS,    entry)
#define DYNC__ONNX_training(X)                 \
    X(2,  algorithm,        MSG,     graph)
#define DYNC__ONNX_model(X)                    \
    X(1,  ir_version,       INT,     none)     \
    X(2,  producer_name,    TEXT,    none)     \
    X(3,  producer_version, TEXT,    none)     \
    X(4,  domain,           TEXT,    none)     \
    X(5,  model_version,    INT,     none)     \
    X(6,  doc_string,       TEXT,    none)     \
    X(7,  graph,            MSG,     graph)    \
    X(8,  opset_import,     MSGS,    opset)    \
    X(14, metadata_props,   MSGS,    entry)    \
    X(20, training_info,    MSGS,    training) \
    X(25, functions,        MSGS,    function)
/* clang-format on */

/* ---- the structs: dync__onnx_model, dync__onnx_graph, ... ------------------------------------ */
#define DYNC__PB_INT(name, m) int64_t name;
#define DYNC__PB_FLOAT(name, m) float name;
#define DYNC__PB_TEXT(name, m) const char *name;
#define DYNC__PB_BYTES(name, m) dync__pb_bytes name;
#define DYNC__PB_MSG(name, m) struct dync__onnx_##m *name;
#define DYNC__PB_INTS(name, m) DYNC__VEC(int64_t) name;
#define DYNC__PB_FLOATS(name, m) DYNC__VEC(float) name;
#define DYNC__PB_DOUBLES(name, m) DYNC__VEC(double) name;
#define DYNC__PB_TEXTS(name, m) DYNC__VEC(const char *) name;
#define DYNC__PB_BYTESES(name, m) DYNC__VEC(dync__pb_bytes) name;
#define DYNC__PB_MSGS(name, m) DYNC__VEC(struct dync__onnx_##m *) name;
#define DYNC__X(number, name, kind, m) DYNC__PB_##kind(name, m)
#define DYNC__M(m, title)           \
    typedef struct dync__onnx_##m { \
        uint32_t has;               \
        DYNC__ONNX_##m(DYNC__X)     \
    } dync__onnx_##m;
DYNC__ONNX_MESSAGES(DYNC__M)
#undef DYNC__M
#undef DYNC__X

/* ---- rows that reader and writer walk -------------------------------------------------------- */
typedef enum {
#define DYNC__M(m, title) DYNC__ONNX_IS_##m,
    DYNC__ONNX_MESSAGES(DYNC__M)
#undef DYNC__M
        DYNC__ONNX_N_MESSAGES,
    DYNC__ONNX_IS_none = DYNC__ONNX_N_MESSAGES
} dync__onnx_kind;
/* the place of a field among the rows of its message: its bit in has */
#define DYNC__X(number, name, kind, m) DYNC__ONNX_dim_##name,
enum { DYNC__ONNX_dim(DYNC__X) DYNC__ONNX_dim_n };
#undef DYNC__X
#define DYNC__X(number, name, kind, m) DYNC__ONNX_attribute_##name,
enum { DYNC__ONNX_attribute(DYNC__X) DYNC__ONNX_attribute_n };
#undef DYNC__X
#define DYNC__X(number, name, kind, m) DYNC__ONNX_tensor_##name,
enum { DYNC__ONNX_tensor(DYNC__X) DYNC__ONNX_tensor_n };
#undef DYNC__X
#define DYNC__X(number, name, kind, m) DYNC__ONNX_graph_##name,
enum { DYNC__ONNX_graph(DYNC__X) DYNC__ONNX_graph_n };
#undef DYNC__X
/* Was the field read (or marked by a builder)? dync__onnx_has(d, dim, dim_value) = set it. */
#define dync__onnx_bit(message, field) (UINT32_C(1) << DYNC__ONNX_##message##_##field)
#define dync__onnx_has(m, message, field) (((m)->has & dync__onnx_bit(message, field)) != 0)
#define dync__onnx_mark(m, message, field) ((void)((m)->has |= dync__onnx_bit(message, field)))

typedef enum {
    DYNC__PB_IS_INT,
    DYNC__PB_IS_FLOAT,
    DYNC__PB_IS_TEXT,
    DYNC__PB_IS_BYTES,
    DYNC__PB_IS_MSG,
    DYNC__PB_IS_INTS, /* from here on repeated */
    DYNC__PB_IS_FLOATS,
    DYNC__PB_IS_DOUBLES,
    DYNC__PB_IS_TEXTS,
    DYNC__PB_IS_BYTESES,
    DYNC__PB_IS_MSGS
} dync__pb_kind;
typedef struct dync__pb_field {
    const char *name;
    uint16_t at; /* of the member, in bytes */
    uint8_t number, kind, message;
} dync__pb_field;
typedef struct dync__pb_message {
    const char *name;
    const dync__pb_field *field;
    int n_fields;
    size_t bytes; /* of the struct */
} dync__pb_message;
DYNC__FN const dync__pb_message *dync__pb_message_of(dync__onnx_kind);
/* any repeated member, whatever it holds */
typedef struct dync__pb_list {
    void *at;
    int n, cap;
} dync__pb_list;

/* numbers of AttributeProto.type and TensorProto.data_type */
enum {
    DYNC__ONNX_A_FLOAT = 1,
    DYNC__ONNX_A_INT,
    DYNC__ONNX_A_STRING,
    DYNC__ONNX_A_TENSOR,
    DYNC__ONNX_A_GRAPH,
    DYNC__ONNX_A_FLOATS,
    DYNC__ONNX_A_INTS,
    DYNC__ONNX_A_STRINGS
};
enum {
    DYNC__ONNX_FLOAT = 1,
    DYNC__ONNX_UINT8,
    DYNC__ONNX_INT8,
    DYNC__ONNX_UINT16,
    DYNC__ONNX_INT16,
    DYNC__ONNX_INT32,
    DYNC__ONNX_INT64,
    DYNC__ONNX_STRING,
    DYNC__ONNX_BOOL,
    DYNC__ONNX_FLOAT16,
    DYNC__ONNX_DOUBLE,
    DYNC__ONNX_UINT32,
    DYNC__ONNX_UINT64,
    DYNC__ONNX_COMPLEX64,
    DYNC__ONNX_COMPLEX128,
    DYNC__ONNX_BFLOAT16,
    DYNC__ONNX_UINT4 = 21,
    DYNC__ONNX_INT4 = 22
};

/* Key of a node's metadata that dync writes beside what reads and writes by an index: none is below
 * 0, so that whoever reads the model counts none from the end. */
#define DYNC__ONNX_FROM_FRONT "dync.from_front"

/* ---- building, reading, writing -------------------------------------------------------------- */
/* An empty message in the arena: zeros, and "" for texts. NULL: no memory. */
#define dync__onnx_new(arena, m) ((dync__onnx_##m *)dync__pb_new((arena), DYNC__ONNX_IS_##m))
DYNC__FN void *dync__pb_new(dync__arena *, dync__onnx_kind);
/* The next message of a list: dync__onnx_add(arena, graph, node, node) is a new dync__onnx_node at
 * the end of graph->node. NULL: no memory. */
#define dync__onnx_add(arena, in, list, m)                                         \
    ((dync__onnx_##m *)dync__pb_add((arena), (dync__pb_list *)(void *)&(in)->list, \
                                    DYNC__ONNX_IS_##m))
DYNC__FN void *dync__pb_add(dync__arena *, dync__pb_list *, dync__onnx_kind);
/* appends an item of that many bytes to any list; false: no memory */
DYNC__FN bool dync__pb_push(dync__arena *, dync__pb_list *, const void *item, size_t bytes);
/* Reads a whole message; bytes must outlive it. NULL + DYNC_ERR_FORMAT (with the byte and the
 * field), DYNC_ERR_MEMORY. Messages lie at most 64 deep. */
#define dync__onnx_read(arena, m, bytes, n) \
    ((dync__onnx_##m *)dync__pb_read((arena), DYNC__ONNX_IS_##m, (bytes), (n)))
DYNC__FN void *dync__pb_read(dync__arena *, dync__onnx_kind, const char *bytes, size_t n);
/* Appends a message. DYNC_ERR_MEMORY; DYNC_ERR_UNSUPPORTED over 2 GB, where protobuf ends. */
#define dync__onnx_write(out, m, message) \
    dync__pb_write((out), DYNC__ONNX_IS_##m, (const dync__onnx_##m *)(message))
DYNC__FN dync_status dync__pb_write(dync__str *out, dync__onnx_kind, const void *message);
#endif
