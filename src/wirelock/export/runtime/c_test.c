/* Text that grows. */
typedef struct {
    char *text;
    size_t size;
    size_t capacity;
} growing;

static void put_text(growing *out, const char *text, size_t size)
{
    if (out->size + size + 1 > out->capacity) {
        out->capacity = 2 * (out->size + size + 1);
        out->text = (char *)realloc(out->text, out->capacity);
        if (out->text == NULL) {
            fputs("no memory\n", stderr);
            exit(2);
        }
    }
    memcpy(out->text + out->size, text, size);
    out->size += size;
    out->text[out->size] = '\0';
}

static void put(growing *out, const char *text)
{
    put_text(out, text, strlen(text));
}

static void put_format(growing *out, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(out, text);
}

static void put_hex(growing *out, const uint8_t *data, size_t size)
{
    size_t at;
    for (at = 0; at < size; at++) {
        put_format(out, "%02x", data[at]);
    }
}

/* -- records as JSON */

static void tell_comma(growing *out)
{
    const char last = out->size != 0 ? out->text[out->size - 1] : '{';
    if (last != '{' && last != '[' && last != ':') {
        put(out, ",");
    }
}

static void tell_word(growing *out, const char *word)
{
    tell_comma(out);
    put(out, word);
}

static void tell_integer(growing *out, int64_t value)
{
    const int64_t exact = INT64_C(1) << 53;
    tell_comma(out);
    put_format(out, value < -exact || value > exact ? "\"%" PRId64 "\"" : "%" PRId64, value);
}

static void tell_unsigned(growing *out, uint64_t value)
{
    tell_comma(out);
    put_format(out, value > UINT64_C(1) << 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, value);
}

static void tell_float64(growing *out, double value)
{
    char text[64];
    int digits;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tell_comma(out);
    if ((bits >> 52 & 0x7FF) == 0x7FF) {
        put_format(out, "{\"bits\":\"%016" PRIx64 "\"}", bits);
        return;
    }
    for (digits = 15; digits < 18; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    put(out, text);
    if (strpbrk(text, ".e") == NULL) {
        put(out, ".0");
    }
}

static void tell_float32(growing *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits >> 23 & 0xFF) == 0xFF) {
        tell_comma(out);
        put_format(out, "{\"bits\":\"%08" PRIx32 "\"}", bits);
    } else {
        tell_float64(out, (double)value);
    }
}

static void tell_float16(growing *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits >> 23 & 0xFF) == 0xFF) {
        tell_comma(out);
        put_format(
            out, "{\"bits\":\"%04" PRIx32 "\"}", (bits >> 16 & 0x8000u) | 0x7C00u | (bits >> 13 & 0x3FFu));
    } else {
        tell_float64(out, (double)value);
    }
}

static void tell_bytes(growing *out, const uint8_t *data, size_t size)
{
    tell_comma(out);
    put(out, "\"");
    put_hex(out, data, size);
    put(out, "\"");
}

static void tell_characters(growing *out, const uint8_t *text, size_t size, wl_encoding encoding)
{
    size_t at = 0;
    tell_comma(out);
    put(out, "\"");
    while (at < size) {
        const uint32_t point = wl_code_point(text, &at, size, encoding);
        if (point >= 0x10000) {
            put_format(out, "\\u%04x", 0xD800 + ((unsigned)point - 0x10000) / 0x400);
            put_format(out, "\\u%04x", 0xDC00 + (unsigned)point % 0x400);
        } else if (point < 0x20 || point > 0x7E || point == '"' || point == '\\') {
            put_format(out, "\\u%04x", (unsigned)point);
        } else {
            put_format(out, "%c", (char)point);
        }
    }
    put(out, "\"");
}

static void tell_text(growing *out, const char *text)
{
    tell_characters(out, (const uint8_t *)text, strlen(text), WL_UTF_8);
}

static void tell_key(growing *out, const char *key)
{
    tell_text(out, key);
    put(out, ":");
}

//!records

/* -- what the codec has */

typedef struct {
    const char *protocol;
    int32_t version;
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

/* -- golden files */

static size_t told; /* tests so far */
static size_t failures;

/* Whether two values of JSON are the same: objects in any order, numbers to the last bit. */
static bool same_json(const char *a, const char *a_end, const char *b, const char *b_end)
{
    wl_json_walk one, other;
    if (*a == '{') {
        size_t members = 0;
        one = wl_json_walk_over(a, a_end);
        other = wl_json_walk_over(b, b_end);
        if (*b != '{') {
            return false;
        }
        while (wl_json_next(&one)) {
            const char *value = wl_json_member(b, b_end, one.key);
            if (value == NULL || !same_json(one.value, a_end, value, b_end)) {
                return false;
            }
            members++;
        }
        while (wl_json_next(&other)) {
            members--;
        }
        return members == 0;
    }
    if (*a == '[') {
        one = wl_json_walk_over(a, a_end);
        other = wl_json_walk_over(b, b_end);
        if (*b != '[') {
            return false;
        }
        for (;;) {
            const bool more = wl_json_next(&one);
            if (more != wl_json_next(&other)) {
                return false;
            }
            if (!more) {
                return true;
            }
            if (!same_json(one.value, a_end, other.value, b_end)) {
                return false;
            }
        }
    }
    if (*a == '"') {
        return wl_json_same_string(a, b);
    }
    {
        const size_t a_size = (size_t)(wl_json_value(a, a_end, 0) - a);
        const char *b_stop = wl_json_value(b, b_end, 0);
        char a_text[512], b_text[512];
        double a_number, b_number;
        if (b_stop == NULL || a_size >= sizeof a_text || (size_t)(b_stop - b) >= sizeof b_text) {
            return false;
        }
        memcpy(a_text, a, a_size);
        a_text[a_size] = '\0';
        memcpy(b_text, b, (size_t)(b_stop - b));
        b_text[b_stop - b] = '\0';
        if (strcmp(a_text, b_text) == 0) {
            return true;
        }
        if (*a == '"' || *a == 't' || *a == 'f' || *a == 'n' || *b == '"' || *b == 't' || *b == 'f' || *b == 'n'
            || *b == '{' || *b == '[') {
            return false;
        }
        a_number = strtod(a_text, NULL);
        b_number = strtod(b_text, NULL);
        return memcmp(&a_number, &b_number, sizeof a_number) == 0;
    }
}

/* Writes one line of TAP; where the test failed also what was found and wanted. */
static void tell_test(bool went, const growing *label, const char *found, const char *wanted, size_t wanted_size)
{
    told++;
    printf("%s %lu - %s\n", went ? "ok" : "not ok", (unsigned long)told, label->text);
    if (!went) {
        failures++;
        printf("  ---\n  found: |\n    %s\n  wanted: |\n    %.*s\n  ...\n", found, (int)wanted_size, wanted);
    }
}

/* The fault in the words of a golden file's `error`. */
static void put_error(growing *out, const wl_fault *fault)
{
    put_format(out, "{\"code\":\"%s\",", fault->code != NULL ? fault->code : "");
    put(out, "\"path\":");
    tell_text(out, fault->path);
    if (fault->byte == WL_NOWHERE) {
        put(out, ",\"byte\":null}");
    } else {
        put_format(out, ",\"byte\":%lu}", (unsigned long)fault->byte);
    }
}

/* Reads bytes as a peer does for which `version` is the newest one. */
static bool receive(const a_protocol *protocol, const a_version *version, const uint8_t *data, size_t size, wl_fault *fault)
{
    if (protocol->version_of != NULL) {
        const int32_t found = protocol->version_of(data, size, fault);
        if (found < 0) {
            return false;
        }
        if (found > version->version) {
            return protocol->unknown(data, size, fault);
        }
        version = find_version(protocol->name, strlen(protocol->name), found);
    }
    return version->parse(data, size, fault);
}

typedef struct {
    const a_protocol *protocol;
    const a_version *version;
    const char *end;
} golden;

static void begin_label(const golden *file, const char *item, const char *promise, growing *label)
{
    const char *id = wl_json_member(item, file->end, "\"id\"");
    label->size = 0;
    put_format(label, "%s/v%ld ", file->version->protocol, (long)file->version->version);
    put_text(label, id + 1, (size_t)(wl_json_string(id, file->end) - id) - 2);
    put_format(label, " %s", promise);
}

/* Runs the promises of one case. Returns false where it is none. */
static bool run_case(const golden *file, const char *item)
{
    static growing label, found;
    const char *bytes = wl_json_member(item, file->end, "\"bytes\"");
    const char *record = wl_json_member(item, file->end, "\"record\"");
    const char *error = wl_json_member(item, file->end, "\"error\"");
    const char *wanted = record != NULL ? record : error;
    const size_t wanted_size = wanted != NULL ? (size_t)(wl_json_value(wanted, file->end, 100) - wanted) : 0;
    wl_json_walk promises = wl_json_walk_over(wl_json_member(item, file->end, "\"promises\""), file->end);
    size_t size, digits;
    uint8_t *data;
    wl_fault fault;
    bool went;
    if (bytes == NULL || wanted == NULL || wl_json_member(item, file->end, "\"id\"") == NULL) {
        return false;
    }
    digits = (size_t)(wl_json_string(bytes, file->end) - bytes) - 2;
    data = octets_of(bytes + 1, digits, &size);
    if (data == NULL) {
        return false;
    }
    went = receive(file->protocol, file->version, data, size, &fault);
    found.size = 0;
    if (error != NULL || !went) {
        put_error(&found, &fault);
    }
    if (error != NULL) {
        begin_label(file, item, "invalid", &label);
        went = !went && same_json(error, file->end, found.text, found.text + found.size);
        tell_test(went, &label, found.text, error, wanted_size);
    }
    while (wl_json_next(&promises)) {
        if (wl_json_same_string(promises.value, "\"decode-old\"")) {
            begin_label(file, item, "decode-old", &label);
            if (went) {
                found.size = 0;
                file->version->tell(&found);
            }
            tell_test(
                went && same_json(record, file->end, found.text, found.text + found.size), &label, found.text, record,
                wanted_size);
        } else if (wl_json_same_string(promises.value, "\"encode-exact\"")) {
            bool same = false;
            begin_label(file, item, "encode-exact", &label);
            if (went) {
                found.size = 0;
                same = rebuild(file->version, size, &found, &fault);
                if (!same) {
                    put_error(&found, &fault);
                }
                same = same && found.size == digits && memcmp(found.text, bytes + 1, digits) == 0;
            }
            tell_test(same, &label, found.text, bytes + 1, digits);
        } else {
            free(data);
            return false;
        }
    }
    free(data);
    return true;
}

/* Reads four binary32 of eight hexadecimal digits each. */
static bool quaternion_of(const char *list, const char *end, float quaternion[4])
{
    wl_json_walk walk = wl_json_walk_over(list, end);
    int place = 0;
    while (wl_json_next(&walk)) {
        const uint32_t bits = (uint32_t)strtoul(walk.value + 1, NULL, 16);
        if (place == 4 || !wl_is_fingerprint(walk.value, 8)) {
            return false;
        }
        memcpy(&quaternion[place++], &bits, sizeof bits);
    }
    return place == 4;
}

/* Runs one pose. Returns false where it is none. */
static bool run_pose(const golden *file, const char *item)
{
    static growing label, found;
    const a_version *version = file->version;
    const char *direction = wl_json_member(item, file->end, "\"direction\"");
    const char *bytes = wl_json_member(item, file->end, "\"bytes\"");
    const char *given = wl_json_member(item, file->end, "\"quaternion\"");
    const char *error = wl_json_member(item, file->end, "\"error\"");
    const bool encodes = wl_json_same_string(direction, "\"encode\"");
    const char *wanted = error != NULL ? wl_json_member(error, file->end, "\"code\"") : encodes ? bytes : given;
    float quaternion[4];
    wl_fault fault;
    bool went;
    if (wanted == NULL || (encodes ? given : bytes) == NULL || version->from_quaternion == NULL
        || wl_json_member(item, file->end, "\"id\"") == NULL) {
        return false;
    }
    found.size = 0;
    begin_label(file, item, encodes ? "encode" : "decode", &label);
    if (encodes) {
        if (!quaternion_of(given, file->end, quaternion)) {
            return false;
        }
        put(&found, "\"");
        went = version->from_quaternion(quaternion, &fault) && rebuild(version, 4096, &found, &fault);
        put(&found, "\"");
    } else {
        size_t size;
        int place;
        uint8_t *data = octets_of(bytes + 1, (size_t)(wl_json_string(bytes, file->end) - bytes) - 2, &size);
        if (data == NULL) {
            return false;
        }
        went = receive(file->protocol, version, data, size, &fault) && version->to_quaternion(quaternion, &fault);
        free(data);
        put(&found, "[");
        for (place = 0; went && place < 4; place++) {
            uint32_t bits;
            memcpy(&bits, &quaternion[place], sizeof bits);
            put_format(&found, "%s\"%08" PRIx32 "\"", place != 0 ? "," : "", bits);
        }
        put(&found, "]");
    }
    if (!went) {
        found.size = 0;
        put_format(&found, "\"%s\"", fault.code);
    }
    tell_test(
        went == (error == NULL) && same_json(wanted, file->end, found.text, found.text + found.size), &label,
        found.text, wanted, (size_t)(wl_json_value(wanted, file->end, 1) - wanted));
    return true;
}

/* Runs a golden file. Returns false where it cannot be read, or is of a version that the codec does not have. */
static bool run_file(const char *path)
{
    growing text = {NULL, 0, 0};
    char block[65536];
    size_t size;
    golden file;
    const char *start, *protocol, *version, *cases;
    wl_json_walk walk;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        fprintf(stderr, "%s: it cannot be opened\n", path);
        return false;
    }
    while ((size = fread(block, 1, sizeof block, stream)) != 0) {
        put_text(&text, block, size);
    }
    fclose(stream);
    put(&text, "");
    file.end = text.text + text.size;
    start = wl_json_space(text.text, file.end);
    protocol = wl_json_value(start, file.end, 100) != NULL ? wl_json_member(start, file.end, "\"protocol\"") : NULL;
    version = wl_json_member(start, file.end, "\"version\"");
    cases = wl_json_member(start, file.end, "\"cases\"");
    if (protocol == NULL || *protocol != '"' || version == NULL || cases == NULL
        || !wl_json_same_string(wl_json_member(start, file.end, "\"format\""), "\"wirelock-golden/1\"")) {
        fprintf(stderr, "%s: this is no golden file\n", path);
        return false;
    }
    size = (size_t)(wl_json_string(protocol, file.end) - protocol) - 2;
    file.protocol = find_protocol(protocol + 1, size);
    file.version = find_version(protocol + 1, size, (int32_t)strtol(version, NULL, 10));
    if (file.protocol == NULL || file.version == NULL) {
        fprintf(stderr, "%s: the codec does not have this version\n", path);
        return false;
    }
    walk = wl_json_walk_over(cases, file.end);
    while (wl_json_next(&walk)) {
        if (!run_case(&file, walk.value)) {
            fprintf(stderr, "%s: a case that is none\n", path);
            return false;
        }
    }
    walk = wl_json_walk_over(wl_json_member(start, file.end, "\"poses\""), file.end);
    while (wl_json_next(&walk)) {
        if (!run_pose(&file, walk.value)) {
            fprintf(stderr, "%s: a pose that is none, or of a record that is no quaternion\n", path);
            return false;
        }
    }
    free(text.text);
    return true;
}

/* -- one request a line */

static void put_fault(growing *out, const wl_fault *fault)
{
    put_format(out, "fault %s ", fault->code);
    if (fault->byte == WL_NOWHERE) {
        put(out, "- ");
    } else {
        put_format(out, "%lu ", (unsigned long)fault->byte);
    }
    if (fault->bit < 0) {
        put(out, "- ");
    } else {
        put_format(out, "%d ", fault->bit);
    }
    put(out, fault->path[0] != '\0' ? fault->path : "-");
}

/* Answers with the record that was read: its bytes again, and as JSON. */
static void put_record(growing *out, const a_version *version, size_t size)
{
    growing json = {NULL, 0, 0};
    growing hex = {NULL, 0, 0};
    wl_fault fault;
    put(&hex, "");
    if (!rebuild(version, size, &hex, &fault)) {
        put(out, "not built: ");
        put_fault(out, &fault);
    } else {
        version->tell(&json);
        put(out, hex.size != 0 ? hex.text : "-");
        put(out, " ");
        put(out, json.text);
    }
    free(hex.text);
    free(json.text);
}

/* Answers `parse NAME/vN HEX` and `receive NAME HEX`. Returns false for what is no such request. */
static bool answer_bytes(growing *out, const char *name, const char *hex, bool tagged)
{
    const char *slash = strchr(name, '/');
    const size_t length = slash != NULL ? (size_t)(slash - name) : strlen(name);
    const a_protocol *protocol = find_protocol(name, length);
    const a_version *version = slash != NULL ? find_version(name, length, (int32_t)strtol(slash + 2, NULL, 10)) : NULL;
    size_t size;
    uint8_t *data = octets_of(hex, strcmp(hex, "-") == 0 ? 0 : strlen(hex), &size);
    wl_fault fault;
    bool went;
    if (data == NULL || protocol == NULL || (tagged ? protocol->receive == NULL : version == NULL)) {
        free(data);
        return false;
    }
    if (tagged) {
        const int32_t number = protocol->receive(data, size, &fault);
        went = number >= 0;
        version = went ? find_version(name, length, number) : NULL;
    } else {
        went = version->parse(data, size, &fault);
    }
    if (!went) {
        put_fault(out, &fault);
    } else {
        put(out, "ok ");
        if (tagged) {
            put_format(out, "%ld ", (long)version->version);
        }
        put_record(out, version, size);
    }
    free(data);
    return true;
}

static void answer_encode(growing *out, char **words)
{
    float quaternion[4];
    wl_smallest_three packet;
    int place;
    for (place = 0; place < 4; place++) {
        const uint32_t bits = (uint32_t)strtoul(words[3 + place], NULL, 16);
        memcpy(&quaternion[place], &bits, sizeof bits);
    }
    if (wl_encode_quaternion(quaternion, (unsigned)atoi(words[1]), words[2][0] == '1', &packet)) {
        put_format(out, "ok %ld %ld ", (long)packet.index, (long)packet.kept[0]);
        put_format(out, "%ld %ld", (long)packet.kept[1], (long)packet.kept[2]);
    } else {
        put(out, "fault out-of-range");
    }
}

static void answer_decode(growing *out, char **words)
{
    float quaternion[4];
    wl_smallest_three packet;
    const char *code;
    int place;
    packet.index = strtoll(words[3], NULL, 10);
    for (place = 0; place < 3; place++) {
        packet.kept[place] = strtoll(words[4 + place], NULL, 10);
    }
    code = wl_decode_quaternion(packet, (unsigned)atoi(words[1]), words[2][0] == '1', quaternion);
    put(out, code == NULL ? "ok" : "fault ");
    put(out, code == NULL ? "" : code);
    for (place = 0; code == NULL && place < 4; place++) {
        uint32_t bits;
        memcpy(&bits, &quaternion[place], sizeof bits);
        put_format(out, " %08" PRIx32, bits);
    }
}

static bool answer_negotiate(growing *out, const char *name, const char *hello)
{
    const a_protocol *protocol = find_protocol(name, strlen(name));
    wl_difference difference;
    int32_t version;
    if (protocol == NULL) {
        return false;
    }
    version = protocol->negotiate(hello, strlen(hello), &difference);
    if (version >= 0) {
        put_format(out, "ok %ld", (long)version);
    } else {
        put_format(out, "fault %s", difference.path[0] != '\0' ? difference.path : "-");
    }
    return true;
}

/* Splits a line at its blanks into up to `most` words, the last of which has the rest. Returns how many. */
static int split(char *line, char **words, int most)
{
    int count = 0;
    while (count < most) {
        words[count++] = line;
        line = count < most ? strchr(line, ' ') : NULL;
        if (line == NULL) {
            break;
        }
        *line++ = '\0';
    }
    return count;
}

static bool answer(growing *out, char *line)
{
    char *words[8];
    if (strncmp(line, "encode ", 7) == 0 || strncmp(line, "decode ", 7) == 0) {
        const bool encodes = line[0] == 'e';
        if (split(line, words, 8) != 7) {
            return false;
        }
        (encodes ? answer_encode : answer_decode)(out, words);
        return true;
    }
    if (split(line, words, 3) != 3) {
        return false;
    }
    if (strcmp(words[0], "negotiate") == 0) {
        return answer_negotiate(out, words[1], words[2]);
    }
    if (strcmp(words[0], "parse") == 0 || strcmp(words[0], "receive") == 0) {
        return answer_bytes(out, words[1], words[2], words[0][0] == 'r');
    }
    return false;
}

static int run_lines(void)
{
    growing line = {NULL, 0, 0};
    growing out = {NULL, 0, 0};
    int character;
    while ((character = getchar()) != EOF) {
        char text = (char)character;
        if (text != '\n') {
            put_text(&line, &text, 1);
            continue;
        }
        put(&line, "");
        out.size = 0;
        if (!answer(&out, line.text)) {
            fprintf(stderr, "not a request: %s\n", line.text);
            return 2;
        }
        puts(out.text);
        fflush(stdout);
        line.size = 0;
    }
    free(line.text);
    free(out.text);
    return 0;
}

int main(int count, char **words)
{
    const size_t room = (size_t)1 << 24;
    void *memory = malloc(room);
    int number, status = 0;
    if (memory == NULL) {
        return 2;
    }
    arena = wl_arena_over(memory, room);
    if (count == 2 && strcmp(words[1], "lines") == 0) {
        status = run_lines();
    } else if (count > 2 && strcmp(words[1], "golden") == 0) {
        puts("TAP version 14");
        for (number = 2; number < count && status == 0; number++) {
            status = run_file(words[number]) ? 0 : 2;
        }
        printf("1..%lu\n", (unsigned long)told);
        status = status == 0 && failures != 0 ? 1 : status;
    } else {
        fprintf(stderr, "usage: %s golden FILE.json ... | lines\n", words[0]);
        status = 2;
    }
    free(memory);
    return status;
}
