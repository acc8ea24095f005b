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
    const char *id = item != NULL ? wl_json_member(item, file->end, "\"id\"") : NULL;
    label->size = 0;
    put(label, file->version->protocol);
    put_format(label, "/v%ld ", (long)file->version->version);
    if (id != NULL) {
        put_text(label, id + 1, (size_t)(wl_json_string(id, file->end) - id) - 2);
        put(label, " ");
    }
    put(label, promise);
}

/* A member that begins with a character: '"' of a string, '{' of an object, '[' of an array; or NULL. */
static const char *member_of(const char *object, const char *end, const char *key, char begins)
{
    const char *found = wl_json_member(object, end, key);
    return found != NULL && *found == begins ? found : NULL;
}

/* Runs the promises of one case. Returns what is wrong with it, or NULL. */
static const char *run_case(const golden *file, const char *item)
{
    static growing label, found;
    const char *bytes = member_of(item, file->end, "\"bytes\"", '"');
    const char *record = member_of(item, file->end, "\"record\"", '{');
    const char *error = member_of(item, file->end, "\"error\"", '{');
    const char *wanted = record != NULL ? record : error;
    const size_t wanted_size = wanted != NULL ? (size_t)(wl_json_value(wanted, file->end, 100) - wanted) : 0;
    const char *list = member_of(item, file->end, "\"promises\"", '[');
    wl_json_walk promises = wl_json_walk_over(list, file->end);
    size_t size, digits, kept = 0;
    uint8_t *data;
    wl_fault fault;
    bool went;
    if (bytes == NULL || (record == NULL) == (error == NULL) || (record == NULL) != (list == NULL)
        || member_of(item, file->end, "\"id\"", '"') == NULL) {
        return "a case without an id, bytes, and either a record with promises or an error";
    }
    digits = (size_t)(wl_json_string(bytes, file->end) - bytes) - 2;
    data = octets_of(bytes + 1, digits, &size);
    if (data == NULL) {
        return "bytes of a case that are no hexadecimal digits";
    }
    went = receive(file->protocol, file->version, data, size, &fault);
    restart(&found);
    if (!went) {
        put_error(&found, &fault);
    } else {
        file->version->tell(&found);
    }
    if (error != NULL) {
        begin_label(file, item, "invalid", &label);
        went = !went && same_json(error, file->end, found.text, found.text + found.size);
        tell_test(went, &label, found.text, error, wanted_size);
        free(data);
        return NULL;
    }
    /* What was read must be the case's record: then it is that record that is built below. */
    went = went && same_json(record, file->end, found.text, found.text + found.size);
    for (; wl_json_next(&promises); kept++) {
        if (wl_json_same_string(promises.value, "\"decode-old\"")) {
            begin_label(file, item, "decode-old", &label);
            tell_test(went, &label, found.text, record, wanted_size);
        } else if (wl_json_same_string(promises.value, "\"encode-exact\"")) {
            static growing built;
            bool same = went;
            begin_label(file, item, "encode-exact", &label);
            restart(&built);
            if (went && !rebuild(file->version, size, &built, &fault)) {
                same = false;
                put_error(&built, &fault);
            }
            same = same && built.size == digits && memcmp(built.text, bytes + 1, digits) == 0;
            tell_test(same, &label, went ? built.text : found.text, bytes + 1, digits);
        } else {
            free(data);
            return "a promise that is neither decode-old nor encode-exact";
        }
    }
    free(data);
    return kept != 0 ? NULL : "a case without promises";
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

/* Runs one pose. Returns what is wrong with it, or NULL. */
static const char *run_pose(const golden *file, const char *item)
{
    static growing label, found;
    const a_version *version = file->version;
    const char *direction = wl_json_member(item, file->end, "\"direction\"");
    const char *bytes = member_of(item, file->end, "\"bytes\"", '"');
    const char *given = member_of(item, file->end, "\"quaternion\"", '[');
    const char *error = member_of(item, file->end, "\"error\"", '{');
    const bool encodes = wl_json_same_string(direction, "\"encode\"");
    const char *wanted = error != NULL ? wl_json_member(error, file->end, "\"code\"") : encodes ? bytes : given;
    float quaternion[4];
    wl_fault fault;
    bool went;
    if (version->from_quaternion == NULL) {
        return "a pose of a record that is no quaternion";
    }
    if (wanted == NULL || (encodes ? given : bytes) == NULL
        || (!encodes && !wl_json_same_string(direction, "\"decode\""))
        || member_of(item, file->end, "\"id\"", '"') == NULL) {
        return "a pose without an id, a direction, bytes and a quaternion, or an error";
    }
    restart(&found);
    begin_label(file, item, encodes ? "encode" : "decode", &label);
    if (encodes) {
        if (!quaternion_of(given, file->end, quaternion)) {
            return "a quaternion that is not four times eight hexadecimal digits";
        }
        put(&found, "\"");
        went = version->from_quaternion(quaternion, &fault) && rebuild(version, 4096, &found, &fault);
        put(&found, "\"");
    } else {
        size_t size;
        int place;
        uint8_t *data = octets_of(bytes + 1, (size_t)(wl_json_string(bytes, file->end) - bytes) - 2, &size);
        if (data == NULL) {
            return "bytes of a pose that are no hexadecimal digits";
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
    return NULL;
}

/* Runs a golden file that was read. Returns why it cannot be run, or NULL. */
static const char *run_golden(const char *text, const char *end)
{
    static growing label;
    golden file;
    const char *start = wl_json_space(text, end);
    const char *behind = wl_json_value(start, end, WL_JSON_DEPTH);
    const char *protocol, *version, *digest, *poses, *problem = NULL;
    wl_json_walk cases, walk;
    size_t size, items = 0;
    if (behind == NULL || wl_json_space(behind, end) != end || *start != '{'
        || !wl_json_same_string(wl_json_member(start, end, "\"format\""), "\"wirelock-golden/1\"")) {
        return "this is no golden file of the format wirelock-golden/1";
    }
    file.end = end;
    protocol = member_of(start, end, "\"protocol\"", '"');
    version = wl_json_member(start, end, "\"version\"");
    digest = member_of(start, end, "\"digest\"", '"');
    poses = wl_json_member(start, end, "\"poses\"");
    cases = wl_json_walk_over(member_of(start, end, "\"cases\"", '['), end);
    if (protocol == NULL || digest == NULL || member_of(start, end, "\"cases\"", '[') == NULL
        || (poses != NULL && *poses != '[') || version == NULL
        || wl_json_digits(version, end) != wl_json_value(version, end, 1)) {
        return "a golden file without a protocol, a version, a digest, cases, or with poses that are no list";
    }
    size = (size_t)(wl_json_string(protocol, end) - protocol) - 2;
    file.protocol = find_protocol(protocol + 1, size);
    if (file.protocol == NULL) {
        return "the codec has no such protocol";
    }
    file.version = find_version(protocol + 1, size, (int32_t)strtol(version, NULL, 10));
    if (file.version == NULL) {
        return "the codec has no such version of the protocol";
    }
    if (!wl_json_same_string(digest, file.version->digest)) {
        begin_label(&file, NULL, "digest", &label);
        tell_test(
            false, &label, file.version->digest, digest, (size_t)(wl_json_string(digest, end) - digest));
    }
    for (walk = cases; problem == NULL && wl_json_next(&walk); items++) {
        problem = run_case(&file, walk.value);
    }
    walk = wl_json_walk_over(poses, end);
    for (; problem == NULL && wl_json_next(&walk); items++) {
        problem = run_pose(&file, walk.value);
    }
    return problem == NULL && items == 0 ? "it has no cases" : problem;
}

/* Runs a golden file. Returns false where it cannot be run, for the reason that is told. */
static bool run_file(const char *path)
{
    growing text = {NULL, 0, 0};
    char block[65536];
    const char *problem;
    size_t size;
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
    size = text.size >= 3 && memcmp(text.text, "\357\273\277", 3) == 0 ? 3 : 0; /* a byte order mark */
    problem = run_golden(text.text + size, text.text + text.size);
    if (problem != NULL) {
        fprintf(stderr, "%s: %s\n", path, problem);
    }
    free(text.text);
    return problem == NULL;
}
