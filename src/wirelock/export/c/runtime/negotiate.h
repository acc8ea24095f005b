/* How deep the values of a hello may nest; a hello's own take three. */
#define WL_JSON_DEPTH 256

/* How long a hello may be, in characters. */
#define WL_HELLO_LENGTH 1048576

/* How many members of a hello may be none of it because another one of the same name follows. */
#define WL_HELLO_REPLACED 64

/* Moves behind white space. */
static inline const char *wl_json_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    return at;
}

/* The value of a hexadecimal digit, or -1. */
static inline int wl_hex_digit(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Moves behind the string that begins at `at`; NULL where none does. */
static inline const char *wl_json_string(const char *at, const char *end)
{
    if (at == end || *at != '"') {
        return NULL;
    }
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) {
            return NULL;
        }
        if (*at == '\\') {
            at++;
            if (at == end || *at == '\0' || strchr("\"\\/bfnrtu", *at) == NULL) {
                return NULL;
            }
            if (*at == 'u') {
                int digit;
                for (digit = 0; digit < 4; digit++) {
                    at++;
                    if (at == end || wl_hex_digit(*at) < 0) {
                        return NULL;
                    }
                }
            }
        }
    }
    return at == end ? NULL : at + 1;
}

/* Moves behind digits; NULL where there are none. */
static inline const char *wl_json_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at == start ? NULL : at;
}

/* Moves behind the number that begins at `at`; NULL where none does. */
static inline const char *wl_json_number(const char *at, const char *end)
{
    at += at < end && *at == '-';
    at = at < end && *at == '0' ? at + 1 : wl_json_digits(at, end);
    if (at != NULL && at < end && *at == '.') {
        at = wl_json_digits(at + 1, end);
    }
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        at = wl_json_digits(at, end);
    }
    return at;
}

/* Moves behind the value that begins at `at`; NULL where none does, or it nests deeper than `depth`. */
static inline const char *wl_json_value(const char *at, const char *end, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    char close;
    size_t word;
    if (at == end) {
        return NULL;
    }
    if (*at == '"') {
        return wl_json_string(at, end);
    }
    for (word = 0; word < 3; word++) {
        const size_t size = strlen(words[word]);
        if ((size_t)(end - at) >= size && memcmp(at, words[word], size) == 0) {
            return at + size;
        }
    }
    if (*at != '{' && *at != '[') {
        return wl_json_number(at, end);
    }
    if (depth == 0) {
        return NULL;
    }
    close = *at == '{' ? '}' : ']';
    at = wl_json_space(at + 1, end);
    if (at < end && *at == close) {
        return at + 1;
    }
    for (;;) {
        if (close == '}') {
            at = wl_json_string(at, end);
            if (at == NULL) {
                return NULL;
            }
            at = wl_json_space(at, end);
            if (at == end || *at != ':') {
                return NULL;
            }
            at = wl_json_space(at + 1, end);
        }
        at = wl_json_value(at, end, depth - 1);
        if (at == NULL) {
            return NULL;
        }
        at = wl_json_space(at, end);
        if (at == end || (*at != ',' && *at != close)) {
            return NULL;
        }
        if (*at == close) {
            return at + 1;
        }
        at = wl_json_space(at + 1, end);
    }
}

/* A walk over the members of an object, or the elements of an array, of valid JSON. */
typedef struct {
    const char *at;
    const char *end;
    const char *key;   /* the string before the colon; NULL in an array */
    const char *value; /* the first character of the value */
} wl_json_walk;

/* A walk over what begins at `at`; over nothing where that is NULL, or no object or array. */
static inline wl_json_walk wl_json_walk_over(const char *at, const char *end)
{
    wl_json_walk walk;
    walk.at = at != NULL && at < end && (*at == '{' || *at == '[') ? at : end;
    walk.end = end;
    walk.key = walk.at < end && *walk.at == '{' ? walk.at : NULL;
    walk.value = NULL;
    return walk;
}

/* Goes to the next member or element. Returns false behind the last one. */
static inline bool wl_json_next(wl_json_walk *walk)
{
    const char *at = walk->at;
    if (at == walk->end || *at == '}' || *at == ']') {
        return false;
    }
    at = wl_json_space(at + 1, walk->end); /* behind the bracket or the comma */
    if (*at == '}' || *at == ']') {
        return false;
    }
    if (walk->key != NULL) {
        walk->key = at;
        at = wl_json_space(wl_json_string(at, walk->end), walk->end);
        at = wl_json_space(at + 1, walk->end);
    }
    walk->value = at;
    walk->at = wl_json_space(wl_json_value(at, walk->end, WL_JSON_DEPTH), walk->end);
    return true;
}

/* The four hexadecimal digits behind \u. */
static inline uint32_t wl_json_unit(const char *digits)
{
    uint32_t unit = 0;
    int digit;
    for (digit = 0; digit < 4; digit++) {
        unit = unit << 4 | (uint32_t)wl_hex_digit(digits[digit]);
    }
    return unit;
}

/* What wl_json_character gives at the end of a string. */
#define WL_JSON_QUOTE 0xFFFFFFFFu

/* The next code point of a string. Bytes that are no UTF-8 are given one by one. */
static inline uint32_t wl_json_character(const char **at)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const unsigned char *here = (const unsigned char *)*at;
    uint32_t found;
    int more, next;
    if (*here == '"') {
        return WL_JSON_QUOTE;
    }
    if (*here == '\\' && here[1] != 'u') {
        *at += 2;
        return (unsigned char)meant[strchr(escapes, here[1]) - escapes];
    }
    if (*here == '\\') {
        found = wl_json_unit(*at + 2);
        *at += 6;
        if (found >= 0xD800 && found < 0xDC00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
            const uint32_t second = wl_json_unit(*at + 2);
            if (second >= 0xDC00 && second < 0xE000) {
                *at += 6;
                return 0x10000 + ((found - 0xD800) << 10) + (second - 0xDC00);
            }
        }
        return found;
    }
    more = *here < 0xC2 ? 0 : *here < 0xE0 ? 1 : *here < 0xF0 ? 2 : *here < 0xF5 ? 3 : 0;
    found = more == 0 ? *here : *here & (0x3Fu >> more);
    for (next = 1; next <= more; next++) {
        if ((here[next] & 0xC0) != 0x80) {
            *at += 1;
            return *here;
        }
        found = found << 6 | (here[next] & 0x3Fu);
    }
    *at += 1 + more;
    return found;
}

/* Whether two values are strings with the same characters. */
static inline bool wl_json_same_string(const char *a, const char *b)
{
    if (a == NULL || b == NULL || *a++ != '"' || *b++ != '"') {
        return false;
    }
    for (;;) {
        const uint32_t character = wl_json_character(&a);
        if (character != wl_json_character(&b)) {
            return false;
        }
        if (character == WL_JSON_QUOTE) {
            return true;
        }
    }
}

/* The value of a member, given as a string in JSON; the last of several. NULL where there is none. */
static inline const char *wl_json_member(const char *object, const char *end, const char *key)
{
    const char *found = NULL;
    wl_json_walk walk = wl_json_walk_over(object, end);
    while (wl_json_next(&walk)) {
        if (wl_json_same_string(walk.key, key)) {
            found = walk.value;
        }
    }
    return found;
}

/* Whether a value is a string of so many hexadecimal digits in lower case. */
static inline bool wl_is_fingerprint(const char *value, int digits)
{
    if (value == NULL || *value++ != '"') {
        return false;
    }
    for (; digits > 0; digits--) {
        const uint32_t digit = wl_json_character(&value);
        if (digit > 'f' || wl_hex_digit((char)digit) < 0 || (digit >= 'A' && digit <= 'F')) {
            return false;
        }
    }
    return *value == '"';
}

/* The number that a key of a hello's versions is; -1 where it is none. */
static inline int32_t wl_hello_version(const char *key)
{
    int32_t number = 0;
    int digits = 0;
    uint32_t first = 0;
    for (key++; *key != '"'; digits++) {
        const uint32_t digit = wl_json_character(&key);
        if (digits == 9 || digit < '0' || digit > '9') {
            return -1;
        }
        first = digits == 0 ? digit : first;
        number = number * 10 + (int32_t)(digit - '0');
    }
    return digits == 0 || (digits > 1 && first == '0') ? -1 : number;
}

/* Whether another member of the same name comes later, so that this one does not count. */
static inline bool wl_json_replaced(wl_json_walk walk, int *more)
{
    const char *key = walk.key;
    if (*more == 0) {
        return false;
    }
    --*more;
    while (wl_json_next(&walk)) {
        if (wl_json_same_string(walk.key, key)) {
            return true;
        }
    }
    return false;
}

/* Whether a value is what a hello says of one version. */
static inline bool wl_is_offer(const char *offer, const char *end, int *more)
{
    const char *parts = wl_json_member(offer, end, "\"parts\"");
    wl_json_walk part = wl_json_walk_over(parts, end);
    if (*offer != '{' || parts == NULL || *parts != '{'
        || !wl_is_fingerprint(wl_json_member(offer, end, "\"fingerprint\""), 16)) {
        return false;
    }
    while (wl_json_next(&part)) {
        if (!wl_is_fingerprint(part.value, 8) && !wl_json_replaced(part, more)) {
            return false;
        }
    }
    return true;
}

/* Whether text in UTF-8 is longer than a hello may be. */
static inline bool wl_is_long(const char *text, size_t size)
{
    size_t at, length = 0;
    for (at = 0; at < size && length <= WL_HELLO_LENGTH; at++) {
        length += (text[at] & 0xC0) != 0x80; /* each character begins with one such byte */
    }
    return length > WL_HELLO_LENGTH || size / 4 > WL_HELLO_LENGTH;
}

/* Whether a text is a hello. */
static inline bool wl_is_hello(const char *text, const char *end)
{
    const char *behind = wl_json_value(text, end, WL_JSON_DEPTH);
    const char *format, *versions, *protocol;
    int more = WL_HELLO_REPLACED;
    wl_json_walk walk;
    if (behind == NULL || *text != '{' || wl_json_space(behind, end) != end) {
        return false;
    }
    format = wl_json_member(text, end, "\"wirelock_hello\"");
    protocol = wl_json_member(text, end, "\"protocol\"");
    versions = wl_json_member(text, end, "\"versions\"");
    if (format == NULL || *format != '1' || wl_json_number(format, end) != format + 1 || protocol == NULL
        || *protocol != '"' || versions == NULL || *versions != '{') {
        return false;
    }
    walk = wl_json_walk_over(versions, end);
    while (wl_json_next(&walk)) {
        if (wl_hello_version(walk.key) < 0
            || (!wl_is_offer(walk.value, end, &more) && !wl_json_replaced(walk, &more))) {
            return false;
        }
    }
    return true;
}

/* A version that two peers have under one number, but not alike, and the first part of it that differs. */
typedef struct {
    int32_t version; /* -1 where there is none */
    char path[88];   /* up to 80 characters; "" where no part differs that both have */
} wl_difference;

/* Writes a string of JSON as a path: up to 80 characters, any that is not printable ASCII as '?'. */
static inline void wl_put_path(const char *string, wl_difference *difference)
{
    size_t size = 0;
    string++;
    while (size < 80) {
        const uint32_t character = wl_json_character(&string);
        if (character == WL_JSON_QUOTE) {
            break;
        }
        difference->path[size++] = character >= 0x20 && character < 0x7F ? (char)character : '?';
    }
    difference->path[size] = '\0';
}

/* Finds the first part in which two offers of one version differ. */
static inline void wl_first_difference(
    const char *ours, const char *ours_end, const char *theirs, const char *end, wl_difference *difference)
{
    const char *our_parts = wl_json_member(ours, ours_end, "\"parts\"");
    const char *their_parts = wl_json_member(theirs, end, "\"parts\"");
    wl_json_walk walk = wl_json_walk_over(our_parts, ours_end);
    while (wl_json_next(&walk)) {
        if (!wl_json_same_string(walk.value, wl_json_member(their_parts, end, walk.key))) {
            wl_put_path(walk.key, difference);
            return;
        }
    }
    walk = wl_json_walk_over(their_parts, end);
    while (wl_json_next(&walk)) {
        if (wl_json_member(our_parts, ours_end, walk.key) == NULL) {
            wl_put_path(walk.key, difference);
            return;
        }
    }
}

/* Returns the highest version that two hellos have with one layout, or -1. `difference` says of the highest
   version that both have, but not alike, where they differ. */
static inline int32_t wl_negotiate(const char *ours, const char *theirs, size_t size, wl_difference *difference)
{
    const char *ours_end = ours + strlen(ours);
    const char *end;
    wl_json_walk mine;
    difference->version = -1;
    difference->path[0] = '\0';
    if (theirs == NULL || wl_is_long(theirs, size)) {
        return -1;
    }
    end = theirs + size;
    theirs = wl_json_space(theirs, end);
    if (!wl_is_hello(theirs, end)
        || !wl_json_same_string(
            wl_json_member(ours, ours_end, "\"protocol\""), wl_json_member(theirs, end, "\"protocol\""))) {
        return -1;
    }
    mine = wl_json_walk_over(wl_json_member(ours, ours_end, "\"versions\""), ours_end);
    while (wl_json_next(&mine)) { /* the newest first */
        const char *other = wl_json_member(wl_json_member(theirs, end, "\"versions\""), end, mine.key);
        if (other == NULL) {
            continue;
        }
        if (wl_json_same_string(
                wl_json_member(mine.value, ours_end, "\"fingerprint\""),
                wl_json_member(other, end, "\"fingerprint\""))) {
            return wl_hello_version(mine.key);
        }
        if (difference->version < 0) {
            difference->version = wl_hello_version(mine.key);
            wl_first_difference(mine.value, ours_end, other, end, difference);
        }
    }
    return -1;
}
