/* One step of arithmetic in binary32, rounded. The bytes depend on every rounding: a compiler that fuses a
   multiplication with an addition, keeps more bits than a float has, or multiplies by a reciprocal would give
   others. What is stored in a volatile float is rounded to one, and no step is joined to the next. */
static inline float wl_rounded(float value)
{
    volatile float stored = value;
    return stored;
}

/* The numbers of a width of 4 to 16 bits a component. */
typedef struct {
    int64_t limit;   /* the largest component */
    float scale;     /* steps to the unit: limit / binary32(1 / sqrt 2) */
    int64_t largest; /* the largest sum that the rule of reachable packets allows */
    int64_t tie;     /* how far apart squares have to be to be told apart */
} wl_width;

static inline wl_width wl_width_of(unsigned bits)
{
    wl_width width;
    const int64_t limit = ((int64_t)1 << (bits - 1)) - 1;
    width.limit = limit;
    width.scale = wl_rounded((float)limit / 0.707106769084930419921875f);
    width.largest = 2 * limit * limit + (2 * limit * limit + 1048575) / 1048576;
    width.tie = (limit + 1) / 8;
    return width;
}

/* A quaternion without its largest component: which one that is, and the other three in steps. */
typedef struct {
    int64_t index;
    int64_t kept[3];
} wl_smallest_three;

/* |n| (|n| - 1): the square of the inner corner of a component's cell, less a quarter. */
static inline int64_t wl_inner(int64_t component)
{
    return wl_abs(component) * (wl_abs(component) - 1);
}

/* Whether some quaternion is written as these integers, give or take the roundings of binary32. */
static inline bool wl_is_reachable(wl_smallest_three packet, wl_width width)
{
    int64_t a, b, c;
    int slot;
    for (slot = 0; slot < 3; slot++) {
        if (packet.kept[slot] < -width.limit || packet.kept[slot] > width.limit) {
            return false; /* the rule says so too, but of any integer it would overflow */
        }
    }
    a = wl_inner(packet.kept[0]);
    b = wl_inner(packet.kept[1]);
    c = wl_inner(packet.kept[2]);
    return packet.index >= 0 && packet.index <= 3 && a + b + c + wl_max(a, wl_max(b, c)) <= width.largest;
}

/* The largest kept component of a packet, and what its square is compared with. */
typedef struct {
    int64_t rest;    /* the square of the component that is left out, less the tie */
    int64_t largest; /* the largest kept magnitude */
    int slot;        /* the first of the kept components that has it */
    int64_t place;   /* the same among x, y, z, w */
} wl_near_tie;

static inline wl_near_tie wl_near_tie_of(wl_smallest_three packet, wl_width width)
{
    wl_near_tie tie;
    int slot;
    tie.rest = 2 * width.limit * width.limit - width.tie;
    tie.largest = -1;
    tie.slot = 0;
    for (slot = 0; slot < 3; slot++) {
        const int64_t magnitude = wl_abs(packet.kept[slot]);
        tie.rest -= magnitude * magnitude;
        if (magnitude > tie.largest) {
            tie.largest = magnitude;
            tie.slot = slot;
        }
    }
    tie.place = tie.slot + (tie.slot >= packet.index);
    return tie;
}

/* Whether a packet is the one that is written for its rotation: near ties there are several. */
static inline bool wl_is_canonical(wl_smallest_three packet, wl_width width)
{
    const wl_near_tie tie = wl_near_tie_of(packet, width);
    const int64_t square = tie.largest * tie.largest;
    return packet.index >= 0 && packet.index <= 3
           && (tie.rest >= square || (packet.index < tie.place && tie.rest > square - tie.largest));
}

/* The largest integer whose square is not above `value`. */
static inline int64_t wl_integer_root(int64_t value)
{
    int64_t root = 0;
    int64_t bit = (int64_t)1 << 20;
    for (; bit != 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= value) {
            root += bit;
        }
    }
    return root;
}

/* The canonical packet of the rotation that a reachable one stands for. */
static inline wl_smallest_three wl_canonical(wl_smallest_three packet, wl_width width)
{
    const wl_near_tie tie = wl_near_tie_of(packet, width);
    wl_smallest_three found;
    int64_t omitted, sign, place;
    int from = 0, to = 0;
    if (wl_is_canonical(packet, width)) {
        return packet;
    }
    omitted = tie.largest;
    if (tie.rest <= tie.largest * tie.largest - tie.largest) {
        omitted = (1 + wl_integer_root(4 * tie.rest - 3)) / 2;
    }
    sign = packet.kept[tie.slot] < 0 ? -1 : 1;
    found.index = tie.place;
    for (place = 0; place < 4; place++) {
        const int64_t component = place == packet.index ? omitted : packet.kept[from++];
        if (place != tie.place) {
            found.kept[to++] = sign * component;
        }
    }
    return found;
}

/* The squared length: (x*x + y*y) + (z*z + w*w), each step rounded. */
static inline float wl_squared_length(const float q[4])
{
    const float xx = wl_rounded(q[0] * q[0]), yy = wl_rounded(q[1] * q[1]);
    const float zz = wl_rounded(q[2] * q[2]), ww = wl_rounded(q[3] * q[3]);
    const float xy = wl_rounded(xx + yy), zw = wl_rounded(zz + ww);
    return wl_rounded(xy + zw);
}

/* Divides four numbers by a length: four divisions, and no multiplication by a reciprocal. */
static inline void wl_over_length(const float q[4], float squared_length, float unit[4])
{
    const float length = wl_rounded(sqrtf(squared_length));
    int place;
    for (place = 0; place < 4; place++) {
        unit[place] = wl_rounded(q[place] / wl_rounded(length));
    }
}

/* The nearest integer of a number below 2 to the 23, halves to even. */
static inline int32_t wl_nearest(float value)
{
    const int32_t whole = (int32_t)value;
    const float rest = wl_rounded(value - (float)whole);
    if (rest > 0.5f || (rest == 0.5f && whole % 2 != 0)) {
        return whole + 1;
    }
    if (rest < -0.5f || (rest == -0.5f && whole % 2 != 0)) {
        return whole - 1;
    }
    return whole;
}

/* Finds the packet of the rotation that a quaternion (x, y, z, w) of any length stands for.
   Returns false where its squared length is below 1e-12, infinite or NaN. */
static inline bool wl_encode_quaternion(
    const float quaternion[4], unsigned bits, bool canonical, wl_smallest_three *packet)
{
    const wl_width width = wl_width_of(bits);
    const float squared_length = wl_squared_length(quaternion);
    const float least = wl_float32(0x2B8CBCCCu); /* 1e-12 */
    float unit[4], scale;
    int place, slot = 0;
    if (!(squared_length >= least && squared_length <= FLT_MAX)) { /* a NaN fails this too */
        return false;
    }
    wl_over_length(quaternion, squared_length, unit);
    packet->index = 0;
    for (place = 1; place < 4; place++) {
        if (fabsf(unit[place]) > fabsf(unit[packet->index])) {
            packet->index = place;
        }
    }
    scale = unit[packet->index] > 0 ? width.scale : -width.scale;
    for (place = 0; place < 4; place++) {
        if (place != packet->index) {
            packet->kept[slot++] = wl_nearest(wl_rounded(unit[place] * scale));
        }
    }
    if (canonical) {
        *packet = wl_canonical(*packet, width);
    }
    return true;
}

/* Finds the unit quaternion (x, y, z, w) of a packet; the component that was left out comes out positive.
   Returns NULL, or the code of what is wrong with a packet that no encoder writes. */
static inline const char *wl_decode_quaternion(
    wl_smallest_three packet, unsigned bits, bool canonical, float quaternion[4])
{
    const wl_width width = wl_width_of(bits);
    float kept[3], squares[3], sum, whole[4];
    int place, slot;
    if (packet.index < 0 || packet.index > 3) {
        return "out-of-range";
    }
    if (!wl_is_reachable(packet, width)) {
        return "rule:reachable";
    }
    if (canonical && !wl_is_canonical(packet, width)) {
        return "rule:canonical";
    }
    for (slot = 0; slot < 3; slot++) {
        kept[slot] = wl_rounded((float)packet.kept[slot] / wl_rounded(width.scale));
        squares[slot] = wl_rounded(kept[slot] * kept[slot]);
    }
    sum = wl_rounded(wl_rounded(squares[0] + squares[1]) + squares[2]);
    slot = 0;
    for (place = 0; place < 4; place++) {
        whole[place] = place == packet.index ? wl_rounded(sqrtf(wl_rounded(1.0f - sum))) : kept[slot++];
    }
    wl_over_length(whole, wl_squared_length(whole), quaternion);
    return NULL;
}
