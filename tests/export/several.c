/* Reads datagrams of pings, each in hexadecimal: how many records are in one, or the fault. */
#include <stdio.h>
#include <stdlib.h>
#include "game.h"

static void tell(const char *text)
{
    uint8_t data[64];
    size_t size = 0, at = 0;
    uint32_t number = 0;
    game_ping_record record;
    game_fault fault;
    for (; text[2 * size] != 0; size++) {
        const char digits[] = {text[2 * size], text[2 * size + 1], 0};
        data[size] = (uint8_t)strtol(digits, NULL, 16);
    }
    do {
        if (!game_ping_protocol_next(data, size, &at, number, &record, &fault)) {
            printf("%s %d %s\n", fault.code, (int)fault.byte, fault.path);
            return;
        }
        number++;
    } while (at < size);
    printf("%d\n", (int)number);
}

int main(int count, char **words)
{
    for (int word = 1; word < count; word++) {
        tell(words[word]);
    }
    return 0;
}
