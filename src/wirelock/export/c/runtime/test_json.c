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

/* Makes it an empty text. */
static void restart(growing *out)
{
    out->size = 0;
    put(out, "");
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
