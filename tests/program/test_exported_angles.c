/* sin, cos and tan as exported C has them, compiled so that a * b + c rounds twice, beside libm in
 * double: arguments up to 2^17, among them floats next to multiples of pi/2. Without FMA
 * the exporter reduces them in double: to 2^-52 of the argument. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"

enum { N = 4096 };
static dync_tensor *angles(dync_tensor *x)
{
    return dync_stack(dync_tuple(DYNC_V(dync_sin(x)), DYNC_V(dync_cos(x)), DYNC_V(dync_tan(x))), 0);
}

static const char main_c[] =
    "#include <math.h>\n#include <stdio.h>\n"
    "void angles_run(const float x[4096], float y[3][4096]);\n"
    "static float x[4096], y[3][4096];\n"
    "static double (*const fn[3])(double) = {sin, cos, tan};\n"
    "int main(void)\n{\n"
    "    int bad = 0;\n"
    "    unsigned seed = 1;\n"
    "    for (int i = 0; i < 4096; i++) {\n"
    "        seed = seed * 1664525u + 1013904223u;\n"
    "        double e = ldexp(1, i % 18), r = (double)(seed >> 8) / 8388608 - 1;\n"
    "        x[i] = (float)(i % 3 ? e * r : 1.5707963267948966 * floor(e * r));\n"
    "    }\n"
    "    angles_run(x, y);\n"
    "    for (int k = 0; k < 3; k++)\n"
    "        for (int i = 0; i < 4096; i++) {\n"
    "            double want = fn[k](x[i]);\n"
    "            double angle = fabs(x[i]) * 0x1p-52 * (k < 2 ? 1 : 1 + want * want);\n"
    "            double most = 3e-7 * fmax(fabs(want), k < 2 ? 1e-3 : 0) + angle;\n"
    "            if (fabs(y[k][i] - want) <= most) continue;\n"
    "            if (bad++ < 3) printf(\"%d of %.9g: %.9g, not %.9g\\n\", k, (double)x[i],\n"
    "                                  (double)y[k][i], want);\n"
    "        }\n"
    "    return bad > 0;\n}\n";

TEST(angles_of_exported_c)
{
    open_folder("angles");
    DYNC_SCOPE {
        dync_program *p = dync_export(angles, dync_zeros(dync_shape(N)));
        EXPECT(save(p, "angles"));
        dync_program_free(p);
    }
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fputs(main_c, f);
    fclose(f);
    EXPECT(compile_and_run("-std=c11 -O0", "at0"));
    EXPECT(compile_and_run("-std=c11 -O2", "at2"));
    close_folder();
}
TEST_MAIN
