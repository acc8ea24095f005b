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
    const bool numbered = slash != NULL && slash[1] == 'v';
    const a_version *version = numbered ? find_version(name, length, (int32_t)strtol(slash + 2, NULL, 10)) : NULL;
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
        if (split(line, words, 8) != 7 || atoi(words[1]) < 4 || atoi(words[1]) > 16) {
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
    int character, status = 0;
    while (status == 0 && (character = getchar()) != EOF) {
        char text = (char)character;
        if (text != '\n') {
            put_text(&line, &text, 1);
            continue;
        }
        put(&line, "");
        out.size = 0;
        if (!answer(&out, line.text)) {
            fprintf(stderr, "not a request: %s\n", line.text);
            status = 2;
        } else {
            puts(out.text);
            fflush(stdout);
        }
        line.size = 0;
    }
    free(line.text);
    free(out.text);
    return status;
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
        for (number = 2; number < count; number++) {
            status = run_file(words[number]) ? status : 2;
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
