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
