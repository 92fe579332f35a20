/* base/os.c: the operating system: locks, clock, processors, environment.
 *
 * Nothing above calls the system otherwise. Hosted systems are Unix and Windows with
 * winpthreads; elsewhere (a microcontroller) there are no threads and the clock stands still.
 * Works under -std=c11 -pedantic without feature macros: <pthread.h> and <sched.h> declare what is
 * used here unconditionally, and what <time.h> and <unistd.h> would hide is declared by hand. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

#if !defined(DYNC_NO_THREADS)
#include <sched.h>
#endif
#if defined(__linux__) && !defined(DYNC_NO_THREADS)
#include <sys/syscall.h>
/* -std=c11 hides it */
extern long syscall(long, ...);
#endif
#if defined(__unix__) || defined(__APPLE__)
#define DYNC__UNIX
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if !defined(CLOCK_MONOTONIC)
/* -std=c11 hides it; clockid_t is an int on Linux and the BSDs */
extern int clock_gettime(int, struct timespec *);
#define DYNC__CLOCK_MONOTONIC 1
#else
#define DYNC__CLOCK_MONOTONIC CLOCK_MONOTONIC
#endif
#elif defined(_WIN32)
#define DYNC__OF_WINDOWS extern __declspec(dllimport)
/* as <windows.h> has them, which brings a thousand names */
union _LARGE_INTEGER;
DYNC__OF_WINDOWS int __stdcall QueryPerformanceCounter(union _LARGE_INTEGER *);
DYNC__OF_WINDOWS int __stdcall QueryPerformanceFrequency(union _LARGE_INTEGER *);
DYNC__OF_WINDOWS void *__stdcall VirtualAlloc(void *, size_t, unsigned long, unsigned long);
DYNC__OF_WINDOWS int __stdcall VirtualProtect(void *, size_t, unsigned long, unsigned long *);
DYNC__OF_WINDOWS int __stdcall VirtualFree(void *, size_t, unsigned long);
DYNC__OF_WINDOWS unsigned long __stdcall GetCurrentProcessId(void);
#endif

/* processors that a set has room for, by words */
enum { DYNC__OS_SET = 8192 / (8 * sizeof(unsigned long)) };

/* ---- locks ----------------------------------------------------------------------------------- */

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define DYNC__CPU_RELAX() __builtin_ia32_pause()
#elif defined(__GNUC__) && defined(__aarch64__)
#define DYNC__CPU_RELAX() __asm__ volatile("yield")
#else
#define DYNC__CPU_RELAX() ((void)0)
#endif

DYNC__FN void dync__pause(int round)
{
#if !defined(DYNC_NO_THREADS)
    if (round >= 64) {
        sched_yield();
        return;
    }
#else
    (void)round;
#endif
    DYNC__CPU_RELAX();
}

DYNC__FN void dync__lock(dync__mutex *m)
{
#if !defined(DYNC_NO_THREADS)
    int32_t open = 0;
    for (int round = 0; !DYNC__ATOMIC_CAS(&m->state, &open, 1); round++) {
        open = 0;
        dync__pause(round);
    }
#else
    m->state = 1;
#endif
}

DYNC__FN void dync__unlock(dync__mutex *m) { DYNC__ATOMIC_STORE(&m->state, 0); }

/* ---- clock and processors -------------------------------------------------------------------- */

DYNC__FN uint64_t dync__now_ns(void)
{
#if defined(DYNC__UNIX)
    struct timespec t;
    clock_gettime(DYNC__CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#elif defined(_WIN32)
    int64_t ticks = 0, second = 0;
    QueryPerformanceCounter((void *)&ticks);
    QueryPerformanceFrequency((void *)&second);
    if (second <= 0) return 0;
    return (uint64_t)(ticks / second) * 1000000000u +
           (uint64_t)(ticks % second) * 1000000000u / (uint64_t)second;
#else
    return 0;
#endif
}

#if defined(__linux__) && !defined(DYNC_NO_THREADS)
/* Of a thread (0: this one), as bits; how many bytes the system gave, less than 1: none. */
static long dync__os_processors(int thread, unsigned long set[DYNC__OS_SET])
{
    return syscall(SYS_sched_getaffinity, (long)thread,
                   (long)(DYNC__OS_SET * sizeof(unsigned long)), set);
}

DYNC__FN int dync__thread_id(void) { return (int)syscall(SYS_gettid); }

DYNC__RARE DYNC__FN void dync__thread_away(int thread)
{
    enum { BITS = 8 * sizeof(unsigned long) };
    unsigned long set[DYNC__OS_SET], other[DYNC__OS_SET], left = 0;
    unsigned here = 0;
    long bytes = dync__os_processors(thread, set);
    if (bytes < 1 || syscall(SYS_getcpu, &here, NULL, NULL) != 0) return;
    if (here >= 8 * (unsigned long)bytes) return;
    memcpy(other, set, (size_t)bytes);
    other[here / BITS] &= ~(1ul << here % BITS);
    for (size_t i = 0; i < (size_t)bytes / sizeof *other; i++) left |= other[i];
    if (!left || syscall(SYS_sched_setaffinity, (long)thread, bytes, other) != 0) return;
    (void)syscall(SYS_sched_setaffinity, (long)thread, bytes, set);
}

DYNC__FN int dync__cpu_count(void)
{
    unsigned long set[DYNC__OS_SET];
    long bytes = dync__os_processors(0, set), n = 0;
    for (long i = 0; i < bytes / (long)sizeof *set; i++)
        for (unsigned long bits = set[i]; bits; bits &= bits - 1) n++;
    return n < 1 ? 1 : (int)n;
}
#else
DYNC__FN int dync__thread_id(void) { return 0; }
DYNC__RARE DYNC__FN void dync__thread_away(int thread) { (void)thread; }

DYNC__FN int dync__cpu_count(void)
{
#if defined(DYNC__UNIX) && defined(_SC_NPROCESSORS_ONLN) && !defined(DYNC_NO_THREADS)
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 4096 ? 4096 : (int)n;
#elif defined(_WIN32) && !defined(DYNC_NO_THREADS)
    const char *text = dync__env("NUMBER_OF_PROCESSORS");
    double n = 1;
    return text && dync__text_double(text, NULL, &n) && n >= 1 && n <= 4096 ? (int)n : 1;
#else
    return 1;
#endif
}
#endif

DYNC__FN const char *dync__env(const char *name)
{
#if defined(DYNC_NO_ENV)
    (void)name;
    return NULL;
#else
    return getenv(name);
#endif
}

DYNC__RARE DYNC__FN bool dync__switch_ask(int32_t *on, const char *name)
{
    const char *text = dync__env(name);
    bool says = text && *text && strcmp(text, "0") != 0;
    DYNC__ATOMIC_STORE(on, says ? 2 : 1);
    return says;
}

#if defined(_WIN32)
/* As much as a kernel's frame may have: jit.c. */
DYNC__NOINLINE DYNC__FN void dync__os_stack_touch(void)
{
    volatile char pages[72 * 1024];
    for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 0;
}
#endif

/* ---- executable memory ----------------------------------------------------------------------- */

#if defined(DYNC__UNIX) && !defined(DYNC_NO_JIT)
#if defined(MAP_ANONYMOUS)
#define DYNC__MAP_ANONYMOUS MAP_ANONYMOUS
#elif defined(__APPLE__)
#define DYNC__MAP_ANONYMOUS 0x1000
#else
/* -std=c11 hides it; the same on every Linux that has a JIT here */
#define DYNC__MAP_ANONYMOUS 0x20
#endif
#if defined(__linux__) && defined(__x86_64__)
/* memfd_create without its wrapper, which old C libraries lack */
extern long syscall(long, ...);
extern int ftruncate(int, off_t);

static int dync__os_code_file(size_t bytes)
{
    int file = (int)syscall(319L, "dync", 1u /* closed by exec */);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    return file;
}
#else
static int dync__os_code_file(size_t bytes)
{
    (void)bytes;
    return -1;
}
#endif

DYNC__FN int dync__os_process(void) { return (int)getpid(); }

DYNC__RARE DYNC__FN bool dync__os_code_twice(size_t bytes, void **write, void **exec)
{
    int file = dync__os_code_file(bytes);
    if (file < 0) return false;
    *write = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    *exec = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    close(file);
    if (*write != MAP_FAILED && *exec != MAP_FAILED) return true;
    if (*write != MAP_FAILED) munmap(*write, bytes);
    if (*exec != MAP_FAILED) munmap(*exec, bytes);
    return false;
}

DYNC__FN void *dync__os_code_pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | DYNC__MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

DYNC__FN bool dync__os_code_seal(void *pages, size_t bytes)
{
    return mprotect(pages, bytes, PROT_READ | PROT_EXEC) == 0;
}
DYNC__FN void dync__os_code_unmap(void *pages, size_t bytes) { munmap(pages, bytes); }
#elif defined(_WIN32) && !defined(DYNC_NO_JIT)
DYNC__FN int dync__os_process(void) { return (int)GetCurrentProcessId(); }
DYNC__RARE DYNC__FN bool dync__os_code_twice(size_t bytes, void **write, void **exec)
{
    (void)bytes, (void)write, (void)exec;
    return false;
}
DYNC__FN void *dync__os_code_pages(size_t bytes)
{
    return VirtualAlloc(NULL, bytes, 0x3000 /* reserved and there */, 4 /* read, write */);
}
DYNC__FN bool dync__os_code_seal(void *pages, size_t bytes)
{
    unsigned long before;
    return VirtualProtect(pages, bytes, 0x20 /* read, run */, &before) != 0;
}
DYNC__FN void dync__os_code_unmap(void *pages, size_t bytes)
{
    (void)bytes, VirtualFree(pages, 0, 0x8000);
}
#else
DYNC__FN int dync__os_process(void) { return 0; }
DYNC__RARE DYNC__FN bool dync__os_code_twice(size_t bytes, void **write, void **exec)
{
    (void)bytes, (void)write, (void)exec;
    return false;
}
DYNC__FN void *dync__os_code_pages(size_t bytes)
{
    (void)bytes;
    return NULL;
}
DYNC__FN bool dync__os_code_seal(void *pages, size_t bytes)
{
    (void)pages, (void)bytes;
    return false;
}
DYNC__FN void dync__os_code_unmap(void *pages, size_t bytes) { (void)pages, (void)bytes; }
#endif

/* ---- large pages ----------------------------------------------------------------------------- */
#if defined(__linux__)
#if !defined(MADV_NORMAL)
/* -std=c11 hides it */
extern int madvise(void *, size_t, int);
#endif
enum { DYNC__OS_AS_LARGE = 14 };
DYNC__FN void dync__os_large_wanted(void *p, size_t bytes)
{
    uintptr_t first = ((uintptr_t)p + 4095) & ~(uintptr_t)4095,
              end = ((uintptr_t)p + bytes) & ~(uintptr_t)4095;
    if (first < end) (void)madvise((void *)first, end - first, DYNC__OS_AS_LARGE);
}
DYNC__FN void *dync__os_large_page(size_t bytes)
{
    const int hidden = 0x22 /* private, anonymous */;
    char *p = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, hidden, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (size_t)(-(uintptr_t)p & (bytes - 1));
    char *page = p + before;
    if (before) munmap(p, before);
    munmap(page + bytes, bytes - before);
    if (madvise(page, bytes, DYNC__OS_AS_LARGE) == 0) return page;
    munmap(page, bytes);
    return NULL;
}
DYNC__FN void dync__os_large_unmap(void *page, size_t bytes) { munmap(page, bytes); }
#else
DYNC__FN void dync__os_large_wanted(void *p, size_t bytes) { (void)p, (void)bytes; }
DYNC__FN void *dync__os_large_page(size_t bytes) { return (void)bytes, NULL; }
DYNC__FN void dync__os_large_unmap(void *page, size_t bytes) { (void)page, (void)bytes; }
#endif
