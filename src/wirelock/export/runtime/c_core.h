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

/* Memory for the lists of records that are read. `used` is where the next one goes: 0 frees all of them. */
typedef struct {
    uint8_t *memory;
    size_t size;
    size_t used;
} wl_arena;

/* What an element can at most need to be aligned to. */
typedef union {
    int64_t integer;
    double real;
    void *pointer;
} wl_widest;

/* An arena over `size` bytes of yours, such as malloc gives. */
static inline wl_arena wl_arena_over(void *memory, size_t size)
{
    wl_arena arena;
    arena.memory = (uint8_t *)memory;
    arena.size = size;
    arena.used = 0;
    return arena;
}

/* Room for `count` elements; NULL where there is not enough. */
static inline void *wl_take(wl_arena *arena, size_t count, size_t size)
{
    const size_t left = arena->size - arena->used;
    const size_t skipped = (size_t)(0 - (uintptr_t)arena->memory - arena->used) & (sizeof(wl_widest) - 1);
    uint8_t *room;
    if (skipped > left || count > (left - skipped) / size) {
        return NULL;
    }
    room = arena->memory + arena->used + skipped;
    arena->used += skipped + count * size;
    return room;
}

/* Room for one more element behind `count`, which may have moved there; NULL where there is not enough. */
static inline void *wl_grow(wl_arena *arena, void *items, size_t count, size_t size)
{
    void *room;
    if (count == 0) {
        return wl_take(arena, 4, size);
    }
    if (count < 4 || (count & (count - 1)) != 0) {
        return items; /* the room has doubled each time, and is not full */
    }
    room = wl_take(arena, 2 * count, size);
    if (room != NULL) {
        memcpy(room, items, count * size);
    }
    return room;
}

/* Where bytes are written to, and how many were. */
typedef struct {
    uint8_t *data;
    size_t capacity;
    size_t used;
} wl_output;

/* Makes room for so many bytes at the end, all zero. Returns false where the capacity does not hold them. */
static inline bool wl_reserve(wl_output *output, size_t size)
{
    if (size > output->capacity - output->used) {
        return false;
    }
    if (size != 0) {
        memset(output->data + output->used, 0, size);
    }
    output->used += size;
    return true;
}

/* As wl_reserve, for bytes that are all written next. */
static inline bool wl_claim(wl_output *output, size_t size)
{
    if (size > output->capacity - output->used) {
        return false;
    }
    output->used += size;
    return true;
}

/* Writes bytes into room that is there. */
static inline void wl_put_bytes(uint8_t *room, const uint8_t *data, size_t size)
{
    if (size != 0) {
        memcpy(room, data, size);
    }
}

/* Writes so many bytes of one value into room that is there. */
static inline void wl_fill(uint8_t *room, size_t size, int octet)
{
    if (size != 0) {
        memset(room, octet, size);
    }
}

/* A number in seven bits a byte, least significant first, and the byte behind it; or why it is none. */
typedef struct {
    const char *problem;
    uint64_t raw;
    size_t behind;
} wl_varint;

/* Reads a varint of at most 64 bits in its shortest form. */
static inline wl_varint wl_read_varint(const uint8_t *data, size_t at, size_t end)
{
    wl_varint found;
    unsigned shift = 0;
    found.problem = NULL;
    found.raw = 0;
    found.behind = at;
    while (found.behind < end) {
        const uint8_t octet = data[found.behind++];
        if (shift == 63 && octet > 1) {
            found.problem = "too-large";
            return found;
        }
        found.raw |= (uint64_t)(octet & 0x7F) << shift;
        if (octet < 0x80) {
            found.problem = octet == 0 && shift != 0 ? "not-canonical" : NULL;
            return found;
        }
        shift += 7;
    }
    found.problem = "truncated";
    return found;
}

/* The signed number that an unsigned one stands for: 0, 1, 2, 3 are 0, -1, 1, -2. */
static inline int64_t wl_unzigzag(uint64_t raw)
{
    const int64_t half = (int64_t)(raw >> 1);
    return (raw & 1) != 0 ? -half - 1 : half;
}

/* The unsigned number that a signed one is written as. */
static inline uint64_t wl_zigzag(int64_t value)
{
    return value < 0 ? (uint64_t)(-(value + 1)) << 1 | 1 : (uint64_t)value << 1;
}

/* How many bytes a varint takes: 1 to 10. */
static inline unsigned wl_varint_size(uint64_t raw)
{
    unsigned size = 1;
    while (raw > 0x7F) {
        raw >>= 7;
        size++;
    }
    return size;
}

/* Writes a varint at the end. Returns false where the capacity does not hold it. */
static inline bool wl_put_varint(wl_output *output, uint64_t raw)
{
    uint8_t *room = output->data + output->used;
    if (!wl_claim(output, wl_varint_size(raw))) {
        return false;
    }
    while (raw > 0x7F) {
        *room++ = (uint8_t)(raw | 0x80);
        raw >>= 7;
    }
    *room = (uint8_t)raw;
    return true;
}

/* Writes a varint at byte `at` of the output, and moves what is there behind it. */
static inline bool wl_insert_varint(wl_output *output, size_t at, uint64_t raw)
{
    const size_t size = wl_varint_size(raw);
    const size_t moved = output->used - at;
    if (size > output->capacity - output->used) {
        return false;
    }
    if (moved != 0) {
        memmove(output->data + at + size, output->data + at, moved);
    }
    output->used = at;
    (void)wl_put_varint(output, raw);
    output->used += moved;
    return true;
}

/* A constant of a tag: where it lies, and which bits of its bytes it has. */
typedef struct {
    const char *label;
    size_t byte;
    size_t size;
    int bit;
    const char *octets;
    const char *mask;
    bool is_version;
} wl_tag_field;

/* Says why the first `size` bytes, at most all of the tag, are no tag. Returns false. */
WL_COLD bool wl_tag_fault(
    const wl_tag_field *fields, size_t count, const uint8_t *data, size_t size, wl_fault *fault)
{
    size_t number;
    for (number = 0; number < count; number++) {
        const wl_tag_field *field = &fields[number];
        const size_t there = size < field->byte + field->size ? size - field->byte : field->size;
        size_t at;
        bool same = true;
        for (at = 0; at < there; at++) {
            const int mask = there == field->size ? (uint8_t)field->mask[at] : 0xFF;
            same = same && ((data[field->byte + at] ^ (uint8_t)field->octets[at]) & mask) == 0;
        }
        if (there == field->size && field->is_version) {
            return wl_fail(fault, "unknown-version", field->label, field->byte, field->bit);
        }
        if (!same && !field->is_version) {
            return wl_fail(fault, "foreign", field->label, field->byte, field->bit);
        }
        if (there < field->size) {
            return wl_fail(fault, "truncated", field->label, field->byte, field->bit);
        }
    }
    return wl_fail(fault, "foreign", fields[0].label, fields[0].byte, fields[0].bit);
}
