/* -- what the codec has */

typedef struct {
    const char *protocol;
    int32_t version;
    const char *digest; /* as in JSON */
    bool (*parse)(const uint8_t *data, size_t size, wl_fault *fault);
    bool (*build)(uint8_t *data, size_t capacity, size_t *size, wl_fault *fault);
    void (*tell)(growing *out);
    bool (*from_quaternion)(const float quaternion[4], wl_fault *fault);
    bool (*to_quaternion)(float quaternion[4], wl_fault *fault);
} a_version;

typedef struct {
    const char *name;
    int32_t (*version_of)(const uint8_t *data, size_t size, wl_fault *fault); /* NULL without a tag */
    bool (*unknown)(const uint8_t *data, size_t size, wl_fault *fault);
    int32_t (*receive)(const uint8_t *data, size_t size, wl_fault *fault);
    int32_t (*negotiate)(const char *hello, size_t size, wl_difference *difference);
} a_protocol;

static wl_arena arena; /* of the lists of the record that was read last */

//!versions

static const a_version *find_version(const char *protocol, size_t size, int32_t version)
{
    size_t at;
    for (at = 0; at < sizeof versions / sizeof *versions; at++) {
        if (strlen(versions[at].protocol) == size && memcmp(versions[at].protocol, protocol, size) == 0
            && versions[at].version == version) {
            return &versions[at];
        }
    }
    return NULL;
}

static const a_protocol *find_protocol(const char *name, size_t size)
{
    size_t at;
    for (at = 0; at < sizeof protocols / sizeof *protocols; at++) {
        if (strlen(protocols[at].name) == size && memcmp(protocols[at].name, name, size) == 0) {
            return &protocols[at];
        }
    }
    return NULL;
}

/* Bytes of a size that is theirs exactly, so that a sanitizer sees what reads or writes beyond. */
static uint8_t *exactly(size_t size)
{
    uint8_t *room = (uint8_t *)malloc(size != 0 ? size : 1);
    if (room == NULL) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    return room;
}

/* Reads hexadecimal digits; NULL where the text has others. */
static uint8_t *octets_of(const char *text, size_t digits, size_t *size)
{
    uint8_t *data = exactly(digits / 2);
    size_t at;
    *size = digits / 2;
    for (at = 0; at < digits; at++) {
        const int digit = wl_hex_digit(text[at]);
        if (digit < 0 || digits % 2 != 0) {
            free(data);
            return NULL;
        }
        data[at / 2] = (uint8_t)(at % 2 == 0 ? digit << 4 : data[at / 2] | digit);
    }
    return data;
}

/* Builds the record that was read last, into as many bytes as it was read from. */
static bool rebuild(const a_version *version, size_t size, growing *hex, wl_fault *fault)
{
    uint8_t *data = exactly(size);
    size_t built = 0;
    const bool done = version->build(data, size, &built, fault);
    if (done) {
        put_hex(hex, data, built);
    }
    free(data);
    return done;
}
