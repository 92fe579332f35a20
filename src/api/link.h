/* ---- what small programs link where two abilities meet
 *
 * A linker keeps what either of two functions reaches, never what only both do. What compiled code
 * has for gradients (a tenth of compiling) is for programs that compile and have a tensor that
 * requires a gradient: dync_compile defines a weak name, dync__compiles_gradients, in the user's
 * file, and the tape, where a program has it, calls that if it is defined; so with what compiled
 * code has for hooks, dync_gradients inside, cells, functions inside operators, graphs that a
 * program brings along, cat, constants, reductions, operators that write, and operators of the
 * user's. The rule of an operator's gradient is for programs that call the operator and start a
 * backward: dync_backward and its kin define a weak name for each rule in the user's file,
 * dync__link_g_add and others, and the operator's rule calls that if it is defined. So does an
 * operator that gives views, dync__compiles_views: what writes in compiled code asks it. Where
 * linkers do not know sections and weak names, every program links all of it.
 *   thread   any */
#if defined(DYNC_SMALL) && defined(__ELF__) && defined(__GNUC__) && !defined(__TINYC__) && \
    !defined(DYNC_STATIC) && (__SIZEOF_POINTER__ == 8 || __SIZEOF_POINTER__ == 4)
#define DYNC__LINKS_BY_USE 1
#if defined(__PIC__)
#define DYNC__LINK_SECTION(name) ".data.rel.ro." name ",\"aw\""
#else
#define DYNC__LINK_SECTION(name) ".rodata." name ",\"a\""
#endif
#if __SIZEOF_POINTER__ == 8
#define DYNC__LINK_ALIGN ".balign 8\n"
#define DYNC__LINK_WORD ".quad "
#else
#define DYNC__LINK_ALIGN ".balign 4\n"
#define DYNC__LINK_WORD ".long "
#endif
/* clang-format off */
/* A weak name for a word that holds an address. */
#define DYNC__LINK(name, address)                                                         \
    ".pushsection " DYNC__LINK_SECTION(name) ",%progbits\n" DYNC__LINK_ALIGN              \
    ".weak " name "\n.type " name ",%object\n"                                            \
    "" name ": " DYNC__LINK_WORD address "\n"                                             \
    ".size " name ",.-" name "\n.popsection\n"
/* once in a file, however often it is inlined */
#define DYNC__COMPILES()                                                                  \
    __asm__(".ifndef dync__compiles_gradients\n"                                          \
            ".irp r,gradients,hooks,late,flags,asks,cells,inside,graphs,joins,writes,"    \
            "opaque,constants,reduces,shows,makes\n"                                              \
            DYNC__LINK("dync__compiles_\\r", "dync__compile_\\r") ".endr\n.endif")
#define DYNC__LINK_RULES()                                                                \
    __asm__(".ifndef dync__link_g_add\n.irp r," DYNC__RULE_NAMES "\n"                     \
            DYNC__LINK("dync__link_\\r", "dync__rule_at_\\r") ".endr\n.endif")
/* clang-format on */
DYNC_ALWAYS_INLINE void dync__asks_reasons(void)
{
    __asm__(".ifndef dync__compiles_reasons\n" DYNC__LINK("dync__compiles_reasons",
                                                          "dync__compile_reasons") ".endif");
}
/* what tells why calls missed */
#define DYNC__TELLS(call) (dync__asks_reasons(), call)
#define dync_set_stance(stance) DYNC__TELLS(dync_set_stance(stance))
DYNC_ALWAYS_INLINE void dync__has_views(void)
{
    __asm__(".ifndef dync__compiles_views\n" DYNC__LINK("dync__compiles_views",
                                                        "dync__compile_views") ".endif");
}
#define DYNC_VIEW(call) (dync__has_views(), call)
#if !defined(DYNC_NO_AUTOGRAD)
DYNC_ALWAYS_INLINE void dync__differentiates(void) { DYNC__LINK_RULES(); }
#define DYNC__DIFFERENTIATES(call) (dync__differentiates(), call)
#endif
#else
#define DYNC__LINKS_BY_USE 0
#define DYNC__COMPILES() dync__compile_all()
#endif
#if !defined(DYNC__TELLS)
#define DYNC__TELLS(call) call
#endif
#if !defined(DYNC__DIFFERENTIATES)
#define DYNC__DIFFERENTIATES(call) call
#endif
#if !defined(DYNC_VIEW)
#define DYNC_VIEW(call) call
#endif
#if defined(DYNC_SMALL)
DYNC_API void dync__compile_gradients(void);
DYNC_API void dync__compile_hooks(void);
DYNC_API void dync__compile_late(void);
DYNC_API void dync__compile_flags(void);
DYNC_API void dync__compile_asks(void);
DYNC_API void dync__compile_cells(void);
DYNC_API void dync__compile_inside(void);
DYNC_API void dync__compile_graphs(void);
DYNC_API void dync__compile_joins(void);
DYNC_API void dync__compile_writes(void);
DYNC_API void dync__compile_views(void);
DYNC_API void dync__compile_opaque(void);
DYNC_API void dync__compile_constants(void);
DYNC_API void dync__compile_shows(void);
DYNC_API void dync__compile_makes(void);
DYNC_API void dync__compile_reduces(void);
DYNC_API void dync__compile_names(void);
DYNC_API void dync__compile_numbers(void);
DYNC_API void dync__compile_objects(void);
DYNC_API void dync__compile_twice(void);
DYNC_API void dync__compile_reasons(void);
DYNC_API void dync__compile_all(void);

/* A small program that names no backend links no other than inductor, one that has no text of
 * options not what reads them, and one that compiles whole graphs only not what follows calls with
 * breaks: the compiler sees the options in the call. */
DYNC_ALWAYS_INLINE bool dync__compile_plain(const dync_compile_options *o)
{
    return !o->backend && !o->options && !o->repro_after;
}
DYNC_API dync_compiled *dync__compile_usual(dync_callee callee, const char *fn_name,
                                            dync_compile_options options);
DYNC_API dync_compiled *dync__compile_whole(dync_callee callee, const char *fn_name,
                                            dync_compile_options options);
/* By address: clang does not look through a copy of options. */
DYNC_ALWAYS_INLINE dync_compiled *dync__compile_chosen(dync_callee callee, const char *fn_name,
                                                       const dync_compile_options *o)
{
    DYNC__COMPILES();
    if (o->args || o->symbolic) dync__compile_names();
    if (o->symbolic) dync__compile_numbers();
    if (o->backend_object) dync__compile_objects();
    if (o->double_backward) dync__compile_twice();
    if (o->guard_fail || o->error_on_recompile) dync__compile_reasons();
    return !dync__compile_plain(o) ? dync_compile_opt(callee, fn_name, *o)
           : o->fullgraph          ? dync__compile_whole(callee, fn_name, *o)
                                   : dync__compile_usual(callee, fn_name, *o);
}
DYNC_API void dync__module_compile_usual(dync_module *m, const char *name,
                                         dync_compile_options options);
DYNC_ALWAYS_INLINE void dync__module_compile_chosen(dync_module *m, const char *name,
                                                    const dync_compile_options *o)
{
    if (o->guard_fail || o->error_on_recompile) dync__compile_reasons();
    if (o->backend_object) dync__compile_objects();
    if (o->double_backward) dync__compile_twice();
    if (dync__compile_plain(o))
        dync__module_compile_usual(m, name, *o);
    else
        dync_module_compile_opt(m, name, *o);
}
DYNC_ALWAYS_INLINE dync_callee dync__bind_chosen(dync_callee callee, const char *name, void *user,
                                                 const char *args)
{
    if (args) dync__compile_names();
    return dync_bind_callee(callee, name, user, args);
}
#define DYNC__BIND dync__bind_chosen
#if defined(__cplusplus)
DYNC_ALWAYS_INLINE dync_compiled *dync__compile_given(dync_callee callee, const char *fn_name,
                                                      const dync_compile_options &o)
{
    return dync__compile_chosen(callee, fn_name, &o);
}
DYNC_ALWAYS_INLINE void dync__module_compile_given(dync_module *m, const char *name,
                                                   const dync_compile_options &o)
{
    dync__module_compile_chosen(m, name, &o);
}
#define DYNC__COMPILE dync__compile_given
#define DYNC__MODULE_COMPILE dync__module_compile_given
#else
#define DYNC__COMPILE(callee, name, ...) dync__compile_chosen(callee, name, &__VA_ARGS__)
#define DYNC__MODULE_COMPILE(m, name, ...) dync__module_compile_chosen(m, name, &__VA_ARGS__)
#endif
#else
#define DYNC__BIND dync_bind_callee
#define DYNC__COMPILE dync_compile_opt
#define DYNC__MODULE_COMPILE dync_module_compile_opt
#endif
