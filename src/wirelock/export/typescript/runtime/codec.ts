// Faults, and the readers and writers that find them. Part of what `wirelock export typescript` writes.

import type { Float } from "./floats.js";

/** What is wrong: a stable word, the same in every language that speaks the protocol. */
export type FaultCode =
  | "truncated"
  | "trailing-bytes"
  | "constant"
  | "not-canonical"
  | "bad-count"
  | "unknown-case"
  | "unknown-member"
  | "out-of-range"
  | "bad-text"
  | "too-large"
  | "checksum"
  | "wrong-type"
  | "unknown-version"
  | "foreign"
  | `rule:${string}`;

/** Why bytes are no record, or why a record cannot be sent: one fault, the first by its rank. */
export class Fault {
  declare readonly code: FaultCode;
  /** The field, with indices: `entities[3].rotation.a`; empty for the record as a whole. */
  readonly path: string;
  /** Where in the bytes; null where the fault has no place, as when building. */
  readonly byte: number | null;
  /** The highest bit, 7 to 0, of a field that does not fill its bytes; null otherwise. */
  readonly bit: number | null;

  constructor(code: FaultCode, path: string, byte: number | null, bit: number | null) {
    this.code = code;
    this.path = path;
    this.byte = byte;
    this.bit = bit;
  }

  /** The same fault, seen from what holds the record at byte `start` under the path `prefix`. */
  within(prefix: string, start: number): Fault {
    const byte = this.byte === null ? null : this.byte + start;
    return new Fault(this.code, joined(prefix, this.path), byte, this.bit);
  }

  /** In words: `entities[3].x: out-of-range (byte 41 bit 6)`. */
  toString(): string {
    const bit = this.bit === null ? "" : ` bit ${this.bit}`;
    const place = this.byte === null ? "" : ` (byte ${this.byte}${bit})`;
    return `${this.path === "" ? "" : `${this.path}: `}${this.code}${place}`;
  }
}

/** What `parse` and `build` throw. `tryParse` and `tryBuild` return the fault itself instead. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly fault: Fault;
  readonly code: FaultCode;
  readonly path: string;
  readonly byte: number | null;
  readonly bit: number | null;

  constructor(record: string, fault: Fault) {
    super(`${record}: ${fault.toString()}`);
    this.fault = fault;
    this.code = fault.code;
    this.path = fault.path;
    this.byte = fault.byte;
    this.bit = fault.bit;
  }
}

/** Return what was made, or throw the fault that was found instead, as one of `record`. */
export function must<T>(record: string, found: T | Fault): T {
  if (found instanceof Fault) {
    throw new WireError(record, found);
  }
  return found;
}

function joined(outer: string, inner: string): string {
  return outer === "" || inner === "" || inner.startsWith("[")
    ? outer + inner
    : `${outer}.${inner}`;
}

const RULE = 1;
const VALUE = 2;
const STRUCTURE = 3;

/** The one fault of a call. Paths grow from the inside out, as the functions of records return. */
interface Slot {
  /** How many faults were ever put here: a caller sees by it whether the call it made found one. */
  faults: number;
  found: Fault | null;
  rank: number;
}

function put(
  slot: Slot,
  rank: number,
  code: FaultCode,
  path: string,
  byte: number | null,
  bit: number | null,
): void {
  slot.faults += 1;
  slot.rank = rank;
  slot.found = new Fault(code, path, byte, bit);
}

/** Put the path of a record before the fault that was found in it. */
function prefix(slot: Slot, path: string): void {
  slot.found = slot.found?.within(path, 0) ?? null;
}

const NOTHING = new Uint8Array(0);

/**
 * The bytes of one datagram, and the fault that was found in them.
 *
 * Fields are declared only, and set by the constructor; no class is above this one. Both cost time otherwise, of
 * which parsing a small record does not take much.
 */
export class Reader implements Slot {
  declare faults: number;
  declare found: Fault | null;
  declare rank: number;
  declare readonly bytes: Uint8Array;
  declare readonly view: DataView;
  /** The byte behind the record, or the varint, that was read last. */
  declare next: number;

  constructor(bytes: Uint8Array) {
    this.faults = 0;
    this.found = null;
    this.rank = 0;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.next = 0;
  }

  /** A value out of its limits: kept unless there is one already, or one put since `over`. */
  value(
    code: FaultCode,
    path: string,
    byte: number | null = null,
    bit: number | null = null,
    over = this.faults,
  ): void {
    if (this.rank < VALUE || this.faults > over) {
      put(this, VALUE, code, path, byte, bit);
    }
  }

  /** A rule that does not hold: kept unless there is a fault already. */
  rule(code: FaultCode, path: string, byte: number | null = null): void {
    if (this.rank < RULE) {
      put(this, RULE, code, path, byte, null);
    }
  }

  /** Put the path of a record before the fault that was found in it. */
  within(path: string): null {
    prefix(this, path);
    return null;
  }

  /** Put a fault of the structure here. Nothing behind it is read. */
  fail(code: FaultCode, path: string, byte: number | null, bit: number | null = null): null {
    put(this, STRUCTURE, code, path, byte, bit);
    return null;
  }

  /** Return the record that was read, if it is all of the bytes and has no fault. */
  finish<T>(record: T | null): T | Fault {
    if (record !== null && this.next !== this.bytes.length) {
      this.fail("trailing-bytes", "", this.next);
    }
    return this.prefix(record);
  }

  /** Return the record that was read, whatever is behind it, if it has no fault. */
  prefix<T>(record: T | null): T | Fault {
    return this.found ?? (record as T);
  }

  /** Return a copy of bytes that are there. */
  slice(at: number, size: number): Uint8Array {
    const copy = new Uint8Array(size);
    copy.set(this.bytes.subarray(at, at + size));
    return copy;
  }

  /** Whether the bytes from `at` on, which may be too few, are these. */
  equals(at: number, wanted: Uint8Array): boolean {
    return sameBytes(this.bytes.subarray(at, at + wanted.length), wanted);
  }

  /** Return the byte at which a mark lies first, in steps of its length from `at`; or -1. */
  findMark(at: number, end: number, mark: Uint8Array): number {
    return findMark(this.bytes, at, end, mark);
  }

  /** Return the end of at..end without the NULs there, taken off in units of so many bytes. */
  stripNuls(at: number, end: number, unit: number): number {
    let last = end;
    while (last > at && this.bytes[last - 1] === 0) {
      last -= 1;
    }
    return Math.min(end, at + Math.ceil((last - at) / unit) * unit);
  }

  /** Return the first byte of at..end that is not `pattern`; `end` if all are. */
  filled(at: number, end: number, pattern: number): number {
    let place = at;
    while (place < end && this.bytes[place] === pattern) {
      place += 1;
    }
    return place;
  }

  /**
   * Read a varint: seven bits a byte, the least first, in the fewest bytes; at most 64 bits.
   * `next` is the byte behind it. Returns null, with nothing put here, where there is none.
   */
  varint(at: number, end: number): bigint | null {
    const stop = Math.min(end, at + 10);
    let low = 0;
    let high = 0n;
    for (let place = at; place < stop; place++) {
      const octet = this.view.getUint8(place);
      const index = place - at;
      if (index < 7) {
        low += (octet & 0x7f) * 2 ** (7 * index);
      } else {
        high |= BigInt(octet & 0x7f) << BigInt(7 * index);
      }
      if (octet < 0x80) {
        const raw = BigInt(low) | high;
        if (raw > 0xffff_ffff_ffff_ffffn || (octet === 0 && index > 0)) {
          return null;
        }
        this.next = place + 1;
        return raw;
      }
    }
    return null;
  }

  /** Put here why there is no varint at `at`. */
  failVarint(at: number, end: number, path: string): null {
    const stop = Math.min(end, at + 10);
    let last = at;
    while (last < stop && this.view.getUint8(last) >= 0x80) {
      last += 1;
    }
    if (last === stop && stop < at + 10) {
      return this.fail("truncated", path, at);
    }
    const large = last === stop || (last === at + 9 && this.view.getUint8(last) > 1);
    return this.fail(large ? "too-large" : "not-canonical", path, at);
  }
}

// To make a writer costs more than to build a small record: one is kept for the next call.
let spareWriter: Writer | null = null;

function keepWriter(writer: Writer): void {
  if (writer.bytes.length <= 65536) {
    spareWriter = writer;
  }
}

// V8 forgets what it has learnt of a class of which no object is left.
export const KEPT: readonly Reader[] = [new Reader(NOTHING)];

/** Bytes that grow, and the fault that keeps a record from being sent. */
export class Writer implements Slot {
  declare faults: number;
  declare found: Fault | null;
  declare rank: number;
  declare bytes: Uint8Array;
  declare view: DataView;
  declare length: number;

  constructor() {
    this.faults = 0;
    this.found = null;
    this.rank = 0;
    this.bytes = new Uint8Array(1024);
    this.view = new DataView(this.bytes.buffer);
    this.length = 0;
  }

  /** Return a writer that is empty; one that `finish` was called on, if there is one. */
  static take(): Writer {
    const writer = spareWriter ?? new Writer();
    spareWriter = null;
    return writer;
  }

  /** Return the bytes that were written, unless there is a fault, and leave the writer to others. */
  finish(written: boolean): Uint8Array | Fault {
    const { found, bytes, length } = this;
    const built = written && found === null ? bytes.slice(0, length) : NOTHING;
    bytes.fill(0, 0, length);
    this.length = 0;
    keepWriter(this);
    if (found !== null) {
      this.faults = 0;
      this.found = null;
      this.rank = 0;
      return found;
    }
    return built;
  }

  /** A value out of its limits: kept unless there is one already, or one put since `over`. */
  value(
    code: FaultCode,
    path: string,
    byte: number | null = null,
    bit: number | null = null,
    over = this.faults,
  ): void {
    if (this.rank < VALUE || this.faults > over) {
      put(this, VALUE, code, path, byte, bit);
    }
  }

  /** A rule that does not hold: kept unless there is a fault already. */
  rule(code: FaultCode, path: string, byte: number | null = null): void {
    if (this.rank < RULE) {
      put(this, RULE, code, path, byte, null);
    }
  }

  /** Put the path of a record before the fault that was found in it. */
  within(path: string): void {
    prefix(this, path);
  }

  /** Put a fault here that ends the writing. */
  fail(code: FaultCode, path: string): false {
    put(this, STRUCTURE, code, path, null, null);
    return false;
  }

  /** Put here why a float does not fit its width: it is too large for it, or would be rounded. */
  failFloat(path: string, value: Float, bits: 16 | 32): false {
    const magnitude = Math.abs(Number(value));
    // Half a step above the largest one of that width: from there on, rounding gives an infinity.
    const bound = bits === 16 ? 65520 : (2 - 2 ** -24) * 2 ** 127;
    const isLarge = magnitude >= bound && magnitude < Infinity;
    return this.fail(isLarge ? "out-of-range" : "not-canonical", path);
  }

  /** Put the path of a record before the fault that ended the writing of it. */
  failed(path: string): false {
    prefix(this, path);
    return false;
  }

  /** Make room for so many bytes, all zero, and return where it begins. */
  reserve(size: number): number {
    const at = this.length;
    this.length = at + size;
    if (this.length > this.bytes.length) {
      const grown = new Uint8Array(Math.max(this.length, 2 * this.bytes.length));
      grown.set(this.bytes);
      this.bytes = grown;
      this.view = new DataView(grown.buffer);
    }
    return at;
  }

  /** Write a number of 0..2**64-1 as a varint behind what was written. */
  putVarint(value: bigint): void {
    this.insertVarint(this.length, value);
  }

  /** Write a number of 0..2**64-1 as a varint at byte `at`, and what is there already behind it. */
  insertVarint(at: number, value: bigint): void {
    const size = varintSize(value);
    const end = this.reserve(size);
    this.bytes.copyWithin(at + size, at, end);
    let raw = value;
    for (let place = at; place < at + size; place++) {
      this.bytes[place] = Number(raw & 0x7fn) | (place < at + size - 1 ? 0x80 : 0);
      raw >>= 7n;
    }
  }
}

/** Return how many bytes a varint takes. */
export function varintSize(value: bigint): number {
  let size = 1;
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) {
    size += 1;
  }
  return size;
}

/** Return the unsigned number that a signed one is written as: 0, -1, 1, -2 are 0, 1, 2, 3. */
export function zigzag(value: bigint): bigint {
  return value >= 0n ? value << 1n : (~value << 1n) | 1n;
}

/** Return the signed number that an unsigned one stands for. */
export function unzigzag(raw: bigint): bigint {
  return (raw >> 1n) ^ -(raw & 1n);
}

/** A record whose fields are still being set. */
export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Whether two byte strings are the same. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((octet, at) => octet === right[at]);
}

/** Whether bytes end in a unit of so many NULs, which would be taken for padding. */
export function endsInNuls(bytes: Uint8Array, unit: number): boolean {
  return bytes.length >= unit && bytes.subarray(bytes.length - unit).every((octet) => octet === 0);
}

/** Return the byte at which a mark lies first, in steps of its length from `at`; or -1. */
export function findMark(bytes: Uint8Array, at: number, end: number, mark: Uint8Array): number {
  for (let place = at; place + mark.length <= end; place += mark.length) {
    if (mark.every((octet, number) => bytes[place + number] === octet)) {
      return place;
    }
  }
  return -1;
}
