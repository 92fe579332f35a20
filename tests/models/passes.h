/* What runs with each pass left out, one after the other. After test.h. */
#ifndef TEST_PASSES_H
#define TEST_PASSES_H
#include <string.h>

/* The passes that may be left out, as the library names them to who asks for one that is none. */
static int optional_passes(char names[48][24])
{
    int n = 0;
    dync_config_set("disable", "?");
    const char *at = strstr(dync_error_message(), "those are: ");
    for (at = at ? at + strlen("those are: ") : ""; *at && n < 48; n++) {
        size_t k = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        if (!k) break;
        snprintf(names[n], sizeof names[n], "%.*s", (int)k, at);
        at += k;
        at += strspn(at, ", ");
    }
    dync_clear_error();
    return n;
}

/* run() must do without each of them what it does with them; first with all, so that what eager
 * operators keep is made as ever. */
static void without_each_pass(void (*run)(void))
{
    char name[48][24];
    int n = optional_passes(name);
    EXPECT(n >= 15);
    run();
    for (int i = 0; i < n && !test__state.failures; i++) {
        EXPECT_OK(dync_config_set("disable", name[i]));
        run();
        if (test__state.failures) printf("without the pass %s\n", name[i]);
    }
    EXPECT_OK(dync_config_set("disable", ""));
}
#endif
