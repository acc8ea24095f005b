/* How text is written on the wire. */
typedef enum { WL_ASCII, WL_UTF_8, WL_UTF_16_LE, WL_UTF_16_BE, WL_UTF_32_LE, WL_UTF_32_BE } wl_encoding;

/* What wl_code_point gives for bytes that are no text. */
#define WL_NO_TEXT 0xFFFFFFFFu

/* Reads one code point at `*at`, before `size`, and moves behind it. Unpaired surrogates are given as they are. */
static inline uint32_t wl_code_point(const uint8_t *text, size_t *at, size_t size, wl_encoding encoding)
{
    const uint8_t *here = text + *at;
    const size_t left = size - *at;
    if (encoding == WL_ASCII || (encoding == WL_UTF_8 && here[0] < 0x80)) {
        *at += 1;
        return here[0] < 0x80 ? here[0] : WL_NO_TEXT;
    }
    if (encoding == WL_UTF_8) {
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        const size_t length = here[0] >= 0xF0 ? 4 : here[0] >= 0xE0 ? 3 : 2;
        uint32_t found = here[0] & (0x7Fu >> length);
        size_t next;
        if (here[0] < 0xC2 || here[0] > 0xF4 || left < length) {
            return WL_NO_TEXT;
        }
        for (next = 1; next < length; next++) {
            if ((here[next] & 0xC0) != 0x80) {
                return WL_NO_TEXT;
            }
            found = found << 6 | (here[next] & 0x3Fu);
        }
        *at += length;
        return found >= least[length] && found <= 0x10FFFF ? found : WL_NO_TEXT;
    }
    if (encoding == WL_UTF_16_LE || encoding == WL_UTF_16_BE) {
        const size_t low = encoding == WL_UTF_16_BE;
        uint32_t first, second;
        if (left < 2) {
            return WL_NO_TEXT;
        }
        first = here[low] | (uint32_t)here[1 - low] << 8;
        *at += 2;
        if (first < 0xD800 || first > 0xDBFF || left < 4) {
            return first;
        }
        second = here[2 + low] | (uint32_t)here[3 - low] << 8;
        if (second < 0xDC00 || second > 0xDFFF) {
            return first;
        }
        *at += 2;
        return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }
    {
        const size_t low = encoding == WL_UTF_32_BE ? 3 : 0;
        const size_t step = encoding == WL_UTF_32_BE ? (size_t)0 - 1 : 1;
        uint32_t found;
        if (left < 4) {
            return WL_NO_TEXT;
        }
        found = here[low] | (uint32_t)here[low + step] << 8 | (uint32_t)here[low + 2 * step] << 16
                | (uint32_t)here[low + 3 * step] << 24;
        *at += 4;
        return found <= 0x10FFFF ? found : WL_NO_TEXT;
    }
}

/* Why bytes are no text: 0 if they are, 1 for bad-text, 2 for not-canonical. `closed` text holds no NUL. */
static inline int wl_text_code(const uint8_t *text, size_t size, wl_encoding encoding, bool closed)
{
    int code = 0;
    size_t at = 0;
    while (at < size) {
        const size_t start = at;
        const uint32_t found = wl_code_point(text, &at, size, encoding);
        if (found == WL_NO_TEXT) {
            return 1;
        }
        if ((found >= 0xD800 && found <= 0xDFFF) || (start == 0 && found == 0xFEFF) || (closed && found == 0)) {
            code = 2;
        }
    }
    return code;
}

/* How many bytes text takes; -1 where it is none, or holds unpaired surrogates. */
static inline int64_t wl_text_size(wl_bytes text, wl_encoding encoding)
{
    size_t at = 0;
    while (at < text.size) {
        const uint32_t found = wl_code_point(text.data, &at, text.size, encoding);
        if (found == WL_NO_TEXT || (found >= 0xD800 && found <= 0xDFFF)) {
            return -1;
        }
    }
    return (int64_t)text.size;
}

/* How many code points text has. */
static inline size_t wl_text_length(wl_bytes text, wl_encoding encoding)
{
    size_t at = 0;
    size_t length = 0;
    while (at < text.size && wl_code_point(text.data, &at, text.size, encoding) != WL_NO_TEXT) {
        length++;
    }
    return length;
}
