// A unit quaternion as its smallest three components: the arithmetic, step by step, in binary32.
//
// Two programs agree on the bytes only if they agree on every rounding. JavaScript computes in binary64, so
// each single + - * / and sqrt of binary32 numbers is rounded by Math.fround before the next one: binary64 has
// more than twice the bits and two to spare, hence one step so rounded is what binary32 would have given. Two
// steps before rounding are not. For the same reason nothing here is normalised by a library, multiplied by a
// reciprocal, or summed in another order.

import { Fault } from "./codec.js";

const { abs, floor, fround, max, sqrt } = Math;

/** A rotation. Components are rounded to binary32 first. */
export interface Quaternion {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly w: number;
}

/** Which of x, y, z, w is left out, and the other three in ascending order, in steps. */
export interface SmallestThree {
  readonly index: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** The smallest squared length that is encoded: 1e-12 in binary32, bits 2b8cbccc. */
const LEAST_SQUARED_LENGTH = fround(1e-12);
/** One over the square root of two in binary32, bits 3f3504f3. */
const HALF_ROOT = 11863283 / 2 ** 24;

interface Width {
  /** The largest magnitude of a kept component. */
  readonly limit: number;
  /** Steps to the unit, in binary32. */
  readonly scale: number;
  /** The largest sum of a packet that some quaternion has. */
  readonly reachable: number;
  /** How much the square of the omitted component must exceed that of any other. */
  readonly tie: number;
}

const WIDTHS: readonly Width[] = Array.from({ length: 17 }, (_, bits) => {
  const limit = 2 ** (bits - 1) - 1;
  const square = 2 * limit ** 2;
  return {
    limit,
    scale: fround(limit / HALF_ROOT),
    reachable: square + Math.ceil(square / 2 ** 20),
    tie: floor((limit + 1) / 8),
  };
});

function widthOf(bits: number): Width {
  const width = bits >= 4 ? WIDTHS[bits] : undefined;
  if (width === undefined) {
    throw new RangeError(`a component has 4 to 16 bits, not ${bits}`);
  }
  return width;
}

function squaredLength(x: number, y: number, z: number, w: number): number {
  const xy = fround(fround(x * x) + fround(y * y));
  const zw = fround(fround(z * z) + fround(w * w));
  return fround(xy + zw);
}

/**
 * Return the packet of the rotation that a quaternion of any length stands for; q and -q give one packet.
 *
 * `bits` is 4 to 16 a component. With `canonical` near ties have one packet too. The fault `out-of-range` where
 * the squared length is below 1e-12, infinite or NaN.
 */
export function encode(q: Quaternion, bits = 16, canonical = false): SmallestThree | Fault {
  const width = widthOf(bits);
  const x = fround(q.x);
  const y = fround(q.y);
  const z = fround(q.z);
  const w = fround(q.w);
  const squared = squaredLength(x, y, z, w);
  // A NaN is neither: both comparisons are false for it.
  if (!(squared >= LEAST_SQUARED_LENGTH && squared < Infinity)) {
    return new Fault("out-of-range", "", null, null);
  }
  const length = fround(sqrt(squared));
  const unitX = fround(x / length);
  const unitY = fround(y / length);
  const unitZ = fround(z / length);
  const unitW = fround(w / length);
  let index = 0;
  let largest = unitX;
  if (abs(unitY) > abs(largest)) {
    index = 1;
    largest = unitY;
  }
  if (abs(unitZ) > abs(largest)) {
    index = 2;
    largest = unitZ;
  }
  if (abs(unitW) > abs(largest)) {
    index = 3;
    largest = unitW;
  }
  // To negate the factor negates the product, exactly.
  const scale = largest > 0 ? width.scale : -width.scale;
  const a = steps(index === 0 ? unitY : unitX, scale);
  const b = steps(index <= 1 ? unitZ : unitY, scale);
  const c = steps(index <= 2 ? unitW : unitZ, scale);
  const packet = { index, a, b, c };
  return canonical ? canonicalOf(packet, bits) : packet;
}

function steps(component: number, scale: number): number {
  return roundHalfEven(fround(component * scale));
}

/** Of numbers far below 2**51: adding 1.5 * 2**52 leaves no bits for the fraction. */
function roundHalfEven(value: number): number {
  return value + 6755399441055744 - 6755399441055744;
}

/**
 * Return the unit quaternion of a packet, in binary32; the omitted component comes out positive.
 *
 * Nothing is computed from a packet that no quaternion has: the fault `out-of-range` for its index,
 * `rule:reachable` for its components; with `canonical` also `rule:canonical`. `path` is that of the index.
 */
export function decode(
  packet: SmallestThree,
  bits = 16,
  canonical = false,
  path = "largest_index",
): Quaternion | Fault {
  const { index, a, b, c } = packet;
  if (index !== 0 && index !== 1 && index !== 2 && index !== 3) {
    return new Fault("out-of-range", path, null, null);
  }
  if (!isReachable(packet, bits)) {
    return new Fault("rule:reachable", "", null, null);
  }
  if (canonical && !isCanonical(packet, bits)) {
    return new Fault("rule:canonical", "", null, null);
  }
  const { scale } = widthOf(bits);
  const u = fround(a / scale);
  const v = fround(b / scale);
  const w = fround(c / scale);
  const uv = fround(fround(u * u) + fround(v * v));
  const kept = fround(uv + fround(w * w));
  // At least 0.2499, since the packet is reachable.
  const omitted = fround(sqrt(fround(1 - kept)));
  return normalised(
    index === 0 ? omitted : u,
    index === 0 ? u : index === 1 ? omitted : v,
    index <= 1 ? v : index === 2 ? omitted : w,
    index === 3 ? omitted : w,
  );
}

function normalised(x: number, y: number, z: number, w: number): Quaternion {
  const length = fround(sqrt(squaredLength(x, y, z, w)));
  return {
    x: fround(x / length),
    y: fround(y / length),
    z: fround(z / length),
    w: fround(w / length),
  };
}

/** Whether some quaternion encodes to these components, give or take binary32; by integers alone. */
export function isReachable(packet: SmallestThree, bits = 16): boolean {
  const a = abs(packet.a) * (abs(packet.a) - 1);
  const b = abs(packet.b) * (abs(packet.b) - 1);
  const c = abs(packet.c) * (abs(packet.c) - 1);
  return a + b + c + max(a, b, c) <= widthOf(bits).reachable;
}

/** The square of the omitted component less the tie, the largest kept magnitude, and who has it first. */
function nearTie(packet: SmallestThree, bits: number): [number, number, number] {
  const { index, a, b, c } = packet;
  const { limit, tie } = widthOf(bits);
  const largest = max(abs(a), abs(b), abs(c));
  const slot = abs(a) === largest ? 0 : abs(b) === largest ? 1 : 2;
  const rest = 2 * limit * limit - (a * a + b * b + c * c) - tie;
  return [rest, largest, slot >= index ? slot + 1 : slot];
}

/** Whether a packet is the one of its rotation that an encoder with `canonical` writes. */
export function isCanonical(packet: SmallestThree, bits = 16): boolean {
  const [rest, largest, first] = nearTie(packet, bits);
  const square = largest * largest;
  return rest >= square || (packet.index < first && rest > square - largest);
}

/** Where another component is as large as the omitted one, write that and omit the other instead. */
function canonicalOf(packet: SmallestThree, bits: number): SmallestThree {
  if (isCanonical(packet, bits)) {
    return packet;
  }
  const { index, a, b, c } = packet;
  const [rest, largest, first] = nearTie(packet, bits);
  const omitted =
    rest > largest * largest - largest ? largest : floor((1 + floor(sqrt(4 * rest - 3))) / 2);
  const components = [a, b, c];
  components.splice(index, 0, omitted);
  const [dropped = 0] = components.splice(first, 1);
  const sign = dropped < 0 ? -1 : 1;
  const [d = 0, e = 0, f = 0] = components;
  return { index: first, a: sign * d, b: sign * e, c: sign * f };
}
