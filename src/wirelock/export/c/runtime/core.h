/* Why bytes are no record, or why a record has no bytes. Where a call went through only `code` is set, to NULL.
   `rank` and `count` are for the functions below alone. */
typedef struct {
    const char *code; /* a stable word such as "truncated" */
    size_t byte;      /* counted from the datagram's first byte; WL_NOWHERE when building */
    int bit;          /* the highest bit of a field below a byte, 7 the most significant; otherwise -1 */
    char path[WL_PATH_SIZE]; /* such as "entities[3].rotation"; "" for the record as a whole */
    int rank;
    uint32_t count;
} wl_fault;

/* The byte of a fault that has no place. */
#define WL_NOWHERE SIZE_MAX

/* What the reader of a record returns where it failed. */
#define WL_FAILED SIZE_MAX

/* Of two faults the one of the higher rank is told. */
enum { WL_NO_FAULT, WL_RULE, WL_VALUE, WL_STRUCTURE };

/* What never runs for good bytes is kept out of the way of what does. */
#if defined(__GNUC__)
#define WL_COLD static __attribute__((cold, noinline, unused))
#else
#define WL_COLD static inline
#endif

/* Small records are read and written without a call. GCC sees to that itself, and cuts off what is cold. */
#if defined(__clang__)
#define WL_INLINE static inline __attribute__((always_inline))
#else
#define WL_INLINE static inline
#endif

/* Begins a call without a fault. */
static inline void wl_fault_clear(wl_fault *fault)
{
    fault->code = NULL;
    fault->rank = WL_NO_FAULT;
    fault->count = 0;
}

/* Puts a step in front of the path: paths are found from the inside out. */
WL_COLD void wl_step(wl_fault *fault, const char *step)
{
    const size_t size = strlen(step);
    const size_t old = strlen(fault->path);
    const size_t dot = old != 0 && size != 0 && fault->path[0] != '[' && fault->path[0] != '#';
    if (size + dot + old < sizeof fault->path) {
        memmove(fault->path + size + dot, fault->path, old + 1);
        memcpy(fault->path, step, size);
        if (dot != 0) {
            fault->path[size] = '.';
        }
    }
}

/* Puts the number of an element in front of the path. */
WL_COLD void wl_step_item(wl_fault *fault, uint64_t number)
{
    char text[24];
    size_t at = sizeof text;
    text[--at] = '\0';
    text[--at] = ']';
    do {
        text[--at] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number != 0);
    text[--at] = '[';
    wl_step(fault, text + at);
}

/* Puts a fault into the slot, whatever is there. */
WL_COLD void wl_put_fault(wl_fault *fault, int rank, const char *code, const char *step, size_t byte, int bit)
{
    fault->code = code;
    fault->byte = byte;
    fault->bit = bit;
    fault->path[0] = '\0';
    fault->rank = rank;
    fault->count++;
    wl_step(fault, step);
}

/* Puts a fault of the structure, which ends reading or writing. Returns false. */
WL_COLD bool wl_fail(wl_fault *fault, const char *code, const char *step, size_t byte, int bit)
{
    wl_put_fault(fault, WL_STRUCTURE, code, step, byte, bit);
    return false;
}

/* Puts a fault of a value or a rule, if none of its rank or a higher one is there. Returns whether it did. */
WL_COLD bool wl_note(wl_fault *fault, int rank, const char *code, const char *step, size_t byte, int bit)
{
    if (fault->rank >= rank) {
        return false;
    }
    wl_put_fault(fault, rank, code, step, byte, bit);
    return true;
}

/* As wl_note for a value, which also replaces one that was put behind the first `over` faults. */
WL_COLD bool wl_note_over(wl_fault *fault, uint32_t over, const char *code, const char *step, size_t byte, int bit)
{
    if (fault->rank > WL_VALUE || (fault->rank == WL_VALUE && fault->count <= over)) {
        return false;
    }
    wl_put_fault(fault, WL_VALUE, code, step, byte, bit);
    return true;
}

/* Bytes or text of any length. Reading gives a view of the datagram: keep that as long as the record. */
typedef struct {
    const uint8_t *data;
    size_t size;
} wl_bytes;

/* A view of so many bytes. */
static inline wl_bytes wl_view(const uint8_t *data, size_t size)
{
    wl_bytes view;
    view.data = data;
    view.size = size;
    return view;
}

/* Whether two runs of bytes are the same. */
static inline bool wl_same(const uint8_t *data, size_t size, const char *other, size_t other_size)
{
    return size == other_size && (size == 0 || memcmp(data, other, size) == 0);
}

/* The first byte in at..end that is not `pattern`, or `end`. */
static inline size_t wl_filled(const uint8_t *data, size_t at, size_t end, uint8_t pattern)
{
    while (at < end && data[at] == pattern) {
        at++;
    }
    return at;
}

/* The byte at which `mark` lies first, in steps of its size from `at`, or -1. */
static inline int64_t wl_find_mark(const uint8_t *data, size_t at, size_t end, const char *mark, size_t size)
{
    while (size <= end - at) {
        if (memcmp(data + at, mark, size) == 0) {
            return (int64_t)at;
        }
        at += size;
    }
    return -1;
}

/* Whether `mark` lies in the first `size` of some bytes, in steps of its own size. */
static inline bool wl_contains_mark(wl_bytes bytes, size_t size, const char *mark, size_t mark_size)
{
    return size != 0 && wl_find_mark(bytes.data, 0, size, mark, mark_size) >= 0;
}

/* The end without the NULs there, which are taken off in units of so many bytes. */
static inline size_t wl_strip_nuls(const uint8_t *data, size_t at, size_t end, size_t unit)
{
    size_t kept = end - at;
    while (kept != 0 && data[at + kept - 1] == 0) {
        kept--;
    }
    kept += (unit - kept % unit) % unit;
    return kept < end - at ? at + kept : end;
}

/* Whether the last `unit` of some bytes are all zero; false where there are less. */
static inline bool wl_ends_in_nuls(wl_bytes bytes, size_t unit)
{
    size_t at = bytes.size;
    while (at != 0 && bytes.size - at < unit && bytes.data[at - 1] == 0) {
        at--;
    }
    return bytes.size - at == unit;
}

/* The integer that the low `bits` (below 64) stand for in two's complement. */
static inline int64_t wl_signed(uint64_t raw, unsigned bits)
{
    const uint64_t half = (uint64_t)1 << (bits - 1);
    return (int64_t)(raw ^ half) - (int64_t)half;
}

static inline int32_t wl_abs32(int32_t value)
{
    return value < 0 ? -value : value;
}

static inline int32_t wl_min32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t wl_max32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int64_t wl_abs(int64_t value)
{
    return value < 0 ? -value : value;
}

static inline int64_t wl_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t wl_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Division by a positive number that rounds down, also below zero. */
static inline int64_t wl_floor_div(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

/* What wl_floor_div leaves over: 0 to divisor - 1. */
static inline int64_t wl_floor_mod(int64_t value, int64_t divisor)
{
    const int64_t rest = value % divisor;
    return rest < 0 ? rest + divisor : rest;
}
