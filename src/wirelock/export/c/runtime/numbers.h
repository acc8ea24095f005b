/* The binary32 of these bits. */
static inline float wl_float32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The binary64 of these bits. */
static inline double wl_float64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of a binary32. */
static inline uint32_t wl_bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of a binary64. */
static inline uint64_t wl_bits64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The binary32 that a binary16 of these bits is, a NaN with its payload. */
static inline float wl_float16(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    const uint32_t exponent = bits >> 10 & 31u;
    const uint32_t fraction = bits & 0x3FFu;
    if (exponent == 31) {
        return wl_float32(sign | 0x7F800000u | fraction << 13);
    }
    if (exponent != 0) {
        return wl_float32(sign | (exponent + 112) << 23 | fraction << 13);
    }
    return wl_float32(sign | wl_bits32((float)fraction / 16777216.0f)); /* in steps of 2 to the -24 */
}

/* The bits of a binary32 in binary16, a NaN with its payload; cut off where it does not fit. */
static inline uint16_t wl_bits16(float value)
{
    const uint32_t bits = wl_bits32(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t exponent = bits >> 23 & 255u;
    const uint32_t fraction = bits & 0x7FFFFFu;
    if (exponent == 255) {
        return (uint16_t)(sign | 0x7C00u | fraction >> 13);
    }
    if (exponent > 142) {
        return (uint16_t)(sign | 0x7C00u);
    }
    if (exponent > 112) {
        return (uint16_t)(sign | (exponent - 112) << 10 | fraction >> 13);
    }
    return (uint16_t)(sign | (exponent > 102 ? (fraction | 0x800000u) >> (126 - exponent) : 0));
}

/* Whether a binary32 is written and read back as itself in binary16: no signalling NaN does. */
static inline bool wl_fits16(float value)
{
    const uint16_t bits = wl_bits16(value);
    return wl_bits32(wl_float16(bits)) == wl_bits32(value) && ((bits & 0x7E00) != 0x7C00 || (bits & 0x1FF) == 0);
}

/* Whether a binary32 is no signalling NaN: those lose their bits in conversions. */
static inline bool wl_fits32(float value)
{
    const uint32_t bits = wl_bits32(value);
    return (bits & 0x7FC00000u) != 0x7F800000u || (bits & 0x3FFFFFu) == 0;
}

/* Whether a binary64 is no signalling NaN. */
static inline bool wl_fits64(double value)
{
    const uint64_t bits = wl_bits64(value);
    return (bits & UINT64_C(0x7FF8000000000000)) != UINT64_C(0x7FF0000000000000)
           || (bits & UINT64_C(0x7FFFFFFFFFFFF)) == 0;
}

/* A binary64 in binary32, a NaN with the upper part of its payload. */
static inline float wl_narrow(double value)
{
    const uint64_t bits = wl_bits64(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 31;
    if ((bits >> 52 & 0x7FF) == 0x7FF) {
        return wl_float32(sign | 0x7F800000u | ((uint32_t)(bits >> 29) & 0x7FFFFFu));
    }
    if (value > (double)FLT_MAX || value < -(double)FLT_MAX) {
        return wl_float32(sign | 0x7F800000u);
    }
    return (float)value;
}

/* A binary32 in binary64, a NaN with its payload. */
static inline double wl_widen(float value)
{
    const uint32_t bits = wl_bits32(value);
    if ((bits >> 23 & 0xFF) == 0xFF) {
        return wl_float64((uint64_t)(bits >> 31) << 63 | UINT64_C(0x7FF) << 52 | (uint64_t)(bits & 0x7FFFFFu) << 29);
    }
    return (double)value;
}

/* Whether a binary64 is written and read back as itself in binary32. */
static inline bool wl_narrows32(double value)
{
    const float narrow = wl_narrow(value);
    return wl_bits64(wl_widen(narrow)) == wl_bits64(value) && wl_fits32(narrow);
}

/* Whether a binary64 is written and read back as itself in binary16. */
static inline bool wl_narrows16(double value)
{
    return wl_narrows32(value) && wl_fits16(wl_narrow(value));
}

/* One step of arithmetic in binary64, rounded: no compiler fuses it with the next one. */
static inline double wl_rounded64(double value)
{
    volatile double stored = value;
    return stored;
}

/* The binary64 that an integer of the wire stands for: (raw * multiply + add) / divide. */
static inline double wl_scaled(int64_t raw, int64_t multiply, int64_t add, int64_t divide)
{
    return wl_rounded64((double)(raw * multiply + add) / (double)divide);
}

/* Finds the integer that stands for exactly this binary64. Returns false where none does. */
static inline bool wl_unscaled(double value, int64_t multiply, int64_t add, int64_t divide, int64_t *raw)
{
    const int64_t exact = INT64_C(1) << 53; /* up to here a binary64 holds every integer */
    const double steps =
        wl_rounded64(wl_rounded64(wl_rounded64(value * (double)divide) - (double)add) / (double)multiply);
    double rest;
    int64_t found;
    if (!(steps > -9223372036854774784.0 && steps < 9223372036854774784.0)) {
        return false;
    }
    found = (int64_t)steps;
    rest = wl_rounded64(steps - (double)found);
    if (rest > 0.5 || (rest == 0.5 && found % 2 != 0)) {
        found++;
    } else if (rest < -0.5 || (rest == -0.5 && found % 2 != 0)) {
        found--;
    }
    if (wl_abs(found) > (exact + wl_abs(add)) / wl_abs(multiply) || wl_abs(found * multiply + add) >= exact) {
        return false;
    }
    *raw = found;
    return wl_bits64(wl_scaled(found, multiply, add, divide)) == wl_bits64(value);
}

/* Whether an integer in low..high stands for exactly this binary64. */
static inline bool wl_scaled_fits(
    double value, int64_t multiply, int64_t add, int64_t divide, int64_t low, int64_t high)
{
    int64_t raw;
    return wl_unscaled(value, multiply, add, divide, &raw) && low <= raw && raw <= high;
}

/* The integer that stands for exactly this binary64, which one does. */
static inline int64_t wl_scaled_raw(double value, int64_t multiply, int64_t add, int64_t divide)
{
    int64_t raw = 0;
    (void)wl_unscaled(value, multiply, add, divide, &raw);
    return raw;
}
