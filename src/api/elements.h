/* ---- what the elements of an array are, by its C type: for dync_from and its kin ------------- */
/* What the C type of data says of its elements: their bytes, and whether they are floats, integers,
 * bits; 0: nothing (void, characters, structs). */
enum {
    DYNC__OF_FLOATS = 16,
    DYNC__OF_INTEGERS = 32,
    DYNC__OF_BITS = 64,
    DYNC__OF_BOOLS = 128,
    DYNC__OF_ALL = 255
};
/* clang-format off */
#define DYNC__ELEMENTS(X) /* but for bools, which C and C++ call differently */             \
    X(float, FLOATS) X(double, FLOATS) X(signed char, INTEGERS) X(short, INTEGERS)          \
    X(int, INTEGERS) X(long, INTEGERS) X(long long, INTEGERS) X(unsigned short, BITS)       \
    X(unsigned, BITS) X(unsigned long, BITS) X(unsigned long long, BITS)
/* clang-format on */
#if defined(__cplusplus)
template <class dync_T> struct dync__element {
    enum { is = 0 };
};
#define DYNC__ELEMENT(type, what)                     \
    template <> struct dync__element<type> {          \
        enum { is = DYNC__OF_##what + sizeof(type) }; \
    };
DYNC__ELEMENTS(DYNC__ELEMENT)
DYNC__ELEMENT(bool, BOOLS)
#undef DYNC__ELEMENT
template <class dync_T> struct dync__element<const dync_T> : dync__element<dync_T> {
};
/* of the type of an expression that is a pointer or an array; NULL may be an integer */
template <class dync_T> struct dync__elements {
    enum { is = 0 };
};
template <class dync_T> struct dync__elements<dync_T *> : dync__element<dync_T> {
};
template <class dync_T> struct dync__elements<dync_T *const> : dync__element<dync_T> {
};
template <class dync_T> struct dync__elements<dync_T &> : dync__elements<dync_T> {
};
template <class dync_T> struct dync__elements<dync_T &&> : dync__elements<dync_T> {
};
template <class dync_T, decltype(sizeof 0) dync_n>
struct dync__elements<dync_T[dync_n]> : dync__element<dync_T> {
};
#define DYNC__ELEMENTS_OF(p) (int(dync__elements<decltype(p)>::is))
#else
#if defined(__GNUC__) && !defined(__TINYC__)
/* A macro's first argument ends at the first comma: of (float[]){1, 2} it is (float[]){1. What the
 * parentheses in front hold is or has the type of the data; without any it is the whole of it. */
#define DYNC__ELEMENTS_OF(p, ...) DYNC_CAT(DYNC__ELEMENTS_, DYNC__2ND(DYNC__PAREN p, 0, 0))(p)
#define DYNC__PAREN(...) 0, 1, (__VA_ARGS__),
#define DYNC__2ND(...) DYNC__2ND_(__VA_ARGS__)
#define DYNC__2ND_(a, b, ...) b
#define DYNC__3RD(...) DYNC__3RD_(__VA_ARGS__)
#define DYNC__3RD_(a, b, c, ...) c
#define DYNC__ELEMENTS_0(p) DYNC__ELEMENTS_AT(p)
#define DYNC__ELEMENTS_1(p) DYNC__ELEMENTS_AT(*(__typeof__ DYNC__3RD(DYNC__PAREN p, 0) *)(void *)0)
#define DYNC__ELEMENT(type, what)                   \
    type * : (int)(DYNC__OF_##what + sizeof(type)), \
             const type * : (int)(DYNC__OF_##what + sizeof(type)),
#define DYNC__ELEMENTS_AT(p)                                                          \
    _Generic((p),                                                                     \
        DYNC__ELEMENTS(DYNC__ELEMENT) _Bool *: (int)(DYNC__OF_BOOLS + sizeof(_Bool)), \
        const _Bool *: (int)(DYNC__OF_BOOLS + sizeof(_Bool)),                         \
        default: 0)
#else
#define DYNC__ELEMENTS_OF(...) 0
#endif
#endif
