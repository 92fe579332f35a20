/* ---- programs: export, save, load ------------------------------------------------------ */
#define dync_export(fn, ...) dync_export_values(DYNC_FN(fn), #fn, DYNC_COUNT(__VA_ARGS__), (dync_value[]){DYNC_MAP_V(__VA_ARGS__)})
dync_program *dync_export_values(dync_callee, const char *name, int nargs, const dync_value *args);
dync_value    dync_program_run(dync_program *, int nargs, const dync_value *args);
dync_status   dync_program_save(const dync_program *, const char *path), dync_program_save_c(const dync_program *, const char *path),
              dync_program_save_onnx(const dync_program *, const char *path);
dync_program *dync_program_load(const char *path), *dync_program_load_onnx(const char *path);
void          dync_program_free(dync_program *);
