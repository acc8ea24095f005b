// Floats bit for bit, NaN payloads included.
//
// A JavaScript engine may change the payload and the sign of a NaN whenever it likes, so a `number` cannot
// carry them. The one NaN that a `number` stands for here is 0x7fc00000 (0x7ff8000000000000 in binary64),
// and every other quiet NaN is a QuietNaN. What was read is thus written back as it was.

/** A quiet NaN other than the one that a `number` stands for. */
export class QuietNaN {
  /** As binary64: a narrower NaN has its payload in the upper bits. */
  readonly bits: bigint;

  /** Throws RangeError for bits that are no quiet NaN. */
  constructor(bits: bigint) {
    if ((bits & 0x7ff8_0000_0000_0000n) !== 0x7ff8_0000_0000_0000n || bits >> 64n !== 0n) {
      throw new RangeError(`0x${bits.toString(16)} is no quiet NaN of 64 bits`);
    }
    this.bits = bits;
  }

  valueOf(): number {
    return NaN;
  }
}

/** A float of the wire that may be any NaN. */
export type Float = number | QuietNaN;

/** Return a float as a number, whatever its payload. */
export function numberOf(value: Float): number {
  return value instanceof QuietNaN ? NaN : value;
}

const CANONICAL = 0x7ff8_0000_0000_0000n;
const view = new DataView(new ArrayBuffer(8));
const FRACTION = { 16: 10, 32: 23, 64: 52 } as const;
type Bits = keyof typeof FRACTION;

function widened(raw: bigint, bits: Bits): bigint {
  const fraction = BigInt(FRACTION[bits]);
  const payload = (raw & ((1n << fraction) - 1n)) << (52n - fraction);
  return ((raw >> BigInt(bits - 1)) << 63n) | (0x7ffn << 52n) | payload;
}

function nanOf(raw: bigint, bits: Bits): Float {
  const wide = widened(raw, bits);
  return wide === CANONICAL ? NaN : new QuietNaN(wide);
}

/** Return the bits of a NaN at a width. */
function nanBits(value: Float, bits: Bits): bigint {
  const wide = value instanceof QuietNaN ? value.bits : CANONICAL;
  const fraction = BigInt(FRACTION[bits]);
  const exponent = (1n << (BigInt(bits - 1) - fraction)) - 1n;
  const payload = (wide & ((1n << 52n) - 1n)) >> (52n - fraction);
  return ((wide >> 63n) << BigInt(bits - 1)) | (exponent << fraction) | payload;
}

/** Return the number that binary16 bits are. */
export function numberOf16(raw: number): number {
  const sign = raw & 0x8000 ? -1 : 1;
  const exponent = (raw >> 10) & 0x1f;
  const fraction = raw & 0x3ff;
  if (exponent === 0x1f) {
    return fraction === 0 ? sign * Infinity : NaN;
  }
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (0x400 | fraction) * 2 ** (exponent - 25);
}

/** Return the number that binary32 bits are. */
export function numberOf32(raw: number): number {
  view.setUint32(0, raw);
  return view.getFloat32(0);
}

/** Return the number that binary64 bits are. */
export function numberOf64(raw: bigint): number {
  view.setBigUint64(0, raw);
  return view.getFloat64(0);
}

/** Return the float that binary16 bits are, and that no signalling NaN is. */
export function floatOf16(raw: number): Float {
  const value = numberOf16(raw);
  return value === value ? value : nanOf(BigInt(raw), 16);
}

/** Return the float that binary32 bits are, and that no signalling NaN is. */
export function floatOf32(raw: number): Float {
  const value = numberOf32(raw);
  return value === value ? value : nanOf(BigInt(raw), 32);
}

/** Return the float that binary64 bits are, and that no signalling NaN is. */
export function floatOf64(raw: bigint): Float {
  const value = numberOf64(raw);
  return value === value ? value : nanOf(raw, 64);
}

/** Return the binary16 bits of a float that fits. */
export function bitsOf16(value: Float): number {
  if (value instanceof QuietNaN || value !== value) {
    return Number(nanBits(value, 16));
  }
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude < 2 ** -14) {
    return sign | (magnitude * 2 ** 24);
  }
  const single = bitsOf32(magnitude);
  return magnitude === Infinity ? sign | 0x7c00 : sign | ((single - (112 << 23)) >> 13);
}

/** Return the binary32 bits of a float that fits. */
export function bitsOf32(value: Float): number {
  if (value instanceof QuietNaN || value !== value) {
    return Number(nanBits(value, 32));
  }
  view.setFloat32(0, value);
  return view.getUint32(0);
}

/** Return the binary64 bits of a float. */
export function bitsOf64(value: Float): bigint {
  if (value instanceof QuietNaN || value !== value) {
    return nanBits(value, 64);
  }
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

function narrow(value: QuietNaN, bits: Bits): boolean {
  return widened(nanBits(value, bits), bits) === value.bits;
}

/** Whether binary16 holds exactly this float. */
export function fits16(value: Float): boolean {
  return value instanceof QuietNaN ? narrow(value, 16) : isBinary16(value);
}

/** Whether binary32 holds exactly this float. */
export function fits32(value: Float): boolean {
  return value instanceof QuietNaN ? narrow(value, 32) : isBinary32(value);
}

/** Whether binary16 holds exactly this number. */
export function isBinary16(value: number): boolean {
  const magnitude = Math.abs(value);
  if (magnitude < 2 ** -14) {
    return Number.isInteger(magnitude * 2 ** 24);
  }
  if (magnitude <= 65504) {
    return Math.fround(value) === value && (bitsOf32(value) & 0x1fff) === 0;
  }
  return magnitude === Infinity || value !== value;
}

/** Whether binary32 holds exactly this number. */
export function isBinary32(value: number): boolean {
  return Math.fround(value) === value || value !== value;
}

/** Return the integer that stands for exactly this number in steps; null if none of low..high does. */
export function rawOf(
  value: number,
  multiply: number,
  add: number,
  divide: number,
  low: number,
  high: number,
): number | null {
  const raw = nearestRaw(value, multiply, add, divide);
  if (!(Math.abs(raw * multiply + add) < 2 ** 53) || raw < low || raw > high) {
    return null;
  }
  return Object.is((raw * multiply + add) / divide, value) ? raw : null;
}

/** Return the integer that stands for the number in steps that is nearest, of two the even one. */
export function nearestRaw(value: number, multiply: number, add: number, divide: number): number {
  const raw = (value * divide - add) / multiply;
  const below = Math.floor(raw);
  const rest = raw - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}
