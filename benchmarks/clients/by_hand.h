/* What a programmer writes by hand for rotation v1 and snapshot v2: the same checks, a code and an offset. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const char *code;
    size_t byte;
} hand_fault;

typedef struct {
    uint8_t index;
    int16_t kept[3];
} hand_rotation;

typedef struct {
    uint16_t id;
    float position[3];
    uint8_t flags;
    hand_rotation rotation;
} hand_entity;

typedef struct {
    uint32_t tick;
    size_t count;
    hand_entity *entities;
} hand_snapshot;

static inline bool hand_fails(hand_fault *fault, const char *code, size_t byte)
{
    fault->code = code;
    fault->byte = byte;
    return false;
}

static inline uint16_t hand_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t hand_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void hand_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void hand_put32(uint8_t *at, uint32_t value)
{
    hand_put16(at, value);
    hand_put16(at + 2, value >> 16);
}

static inline bool hand_reachable(const int16_t kept[3])
{
    const int32_t x = kept[0] < 0 ? -kept[0] : kept[0];
    const int32_t y = kept[1] < 0 ? -kept[1] : kept[1];
    const int32_t z = kept[2] < 0 ? -kept[2] : kept[2];
    const int64_t a = x * (x - 1);
    const int64_t b = y * (y - 1);
    const int64_t c = z * (z - 1);
    const int64_t most = a > b ? (a > c ? a : c) : (b > c ? b : c);
    return a + b + c + most <= 2147354626;
}

static inline void hand_load_kept(const uint8_t *at, int16_t kept[3])
{
    kept[0] = (int16_t)hand_u16(at);
    kept[1] = (int16_t)hand_u16(at + 2);
    kept[2] = (int16_t)hand_u16(at + 4);
}

static inline void hand_store_kept(uint8_t *at, const int16_t kept[3])
{
    hand_put16(at, (uint16_t)kept[0]);
    hand_put16(at + 2, (uint16_t)kept[1]);
    hand_put16(at + 4, (uint16_t)kept[2]);
}

static inline bool hand_rotation_parse(const uint8_t *data, size_t size, hand_rotation *record, hand_fault *fault)
{
    if (size != 7) {
        return hand_fails(fault, size < 7 ? "truncated" : "trailing-bytes", size < 7 ? size : 7);
    }
    record->index = data[0];
    hand_load_kept(data + 1, record->kept);
    if (record->index > 3) {
        return hand_fails(fault, "out-of-range", 0);
    }
    if (!hand_reachable(record->kept)) {
        return hand_fails(fault, "rule:reachable", 0);
    }
    return true;
}

static inline bool hand_rotation_build(const hand_rotation *record, uint8_t *data, hand_fault *fault)
{
    if (record->index > 3) {
        return hand_fails(fault, "out-of-range", 0);
    }
    if (!hand_reachable(record->kept)) {
        return hand_fails(fault, "rule:reachable", 0);
    }
    data[0] = record->index;
    hand_store_kept(data + 1, record->kept);
    return true;
}

static inline bool hand_in_world(float metres)
{
    return metres >= -8192.0f && metres <= 8192.0f;
}

/* The entities go to `record->entities`, which has room for `room` of them. */
static inline bool hand_snapshot_parse(
    const uint8_t *data, size_t size, hand_snapshot *record, size_t room, hand_fault *fault)
{
    size_t number, axis;
    if (size < 9 || data[0] != 'W' || data[1] != 'S' || data[2] != 2) {
        return hand_fails(fault, size < 9 ? "truncated" : "foreign", 0);
    }
    record->tick = hand_u32(data + 3);
    record->count = hand_u16(data + 7);
    if (record->count > (size - 9) / 21 || record->count > room) {
        return hand_fails(fault, "truncated", 9);
    }
    if (size != 9 + record->count * 21) {
        return hand_fails(fault, "trailing-bytes", 9 + record->count * 21);
    }
    for (number = 0; number < record->count; number++) {
        const uint8_t *at = data + 9 + number * 21;
        hand_entity *entity = &record->entities[number];
        entity->id = hand_u16(at);
        for (axis = 0; axis < 3; axis++) {
            const uint32_t bits = hand_u32(at + 2 + 4 * axis);
            memcpy(&entity->position[axis], &bits, 4);
            if (!hand_in_world(entity->position[axis])) {
                return hand_fails(fault, "out-of-range", (size_t)(at - data) + 2 + 4 * axis);
            }
        }
        entity->flags = at[14] >> 2;
        entity->rotation.index = at[14] & 3;
        hand_load_kept(at + 15, entity->rotation.kept);
        if (!hand_reachable(entity->rotation.kept)) {
            return hand_fails(fault, "rule:reachable", (size_t)(at - data) + 14);
        }
    }
    return true;
}

static inline bool hand_snapshot_build(
    const hand_snapshot *record, uint8_t *data, size_t capacity, size_t *size, hand_fault *fault)
{
    size_t number, axis;
    if (record->count > 65535 || capacity < 9 || (capacity - 9) / 21 < record->count) {
        return hand_fails(fault, "out-of-range", 7);
    }
    memcpy(data, "WS\2", 3);
    hand_put32(data + 3, record->tick);
    hand_put16(data + 7, (uint32_t)record->count);
    for (number = 0; number < record->count; number++) {
        uint8_t *at = data + 9 + number * 21;
        const hand_entity *entity = &record->entities[number];
        hand_put16(at, entity->id);
        for (axis = 0; axis < 3; axis++) {
            uint32_t bits;
            memcpy(&bits, &entity->position[axis], 4);
            hand_put32(at + 2 + 4 * axis, bits);
            if (!hand_in_world(entity->position[axis])) {
                return hand_fails(fault, "out-of-range", 9 + number * 21);
            }
        }
        if (entity->flags > 63 || entity->rotation.index > 3 || !hand_reachable(entity->rotation.kept)) {
            return hand_fails(fault, "out-of-range", 9 + number * 21);
        }
        at[14] = (uint8_t)(entity->flags << 2 | entity->rotation.index);
        hand_store_kept(at + 15, entity->rotation.kept);
    }
    *size = 9 + record->count * 21;
    return true;
}

#endif
