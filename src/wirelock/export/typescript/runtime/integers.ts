// Integers that a DataView has no method for: 24, 40, 48 and 56 bits, and what Math lacks for bigint.

export function getUint24(view: DataView, at: number, little = false): number {
  return little
    ? view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
    : (view.getUint8(at) << 16) | view.getUint16(at + 1);
}

export function getInt24(view: DataView, at: number, little = false): number {
  return (getUint24(view, at, little) << 8) >> 8;
}

export function getUint40(view: DataView, at: number, little = false): number {
  return little
    ? view.getUint32(at, true) + view.getUint8(at + 4) * 2 ** 32
    : view.getUint8(at) * 2 ** 32 + view.getUint32(at + 1);
}

export function getInt40(view: DataView, at: number, little = false): number {
  return little
    ? view.getUint32(at, true) + view.getInt8(at + 4) * 2 ** 32
    : view.getInt8(at) * 2 ** 32 + view.getUint32(at + 1);
}

export function getUint48(view: DataView, at: number, little = false): number {
  return little
    ? view.getUint32(at, true) + view.getUint16(at + 4, true) * 2 ** 32
    : view.getUint16(at) * 2 ** 32 + view.getUint32(at + 2);
}

export function getInt48(view: DataView, at: number, little = false): number {
  return little
    ? view.getUint32(at, true) + view.getInt16(at + 4, true) * 2 ** 32
    : view.getInt16(at) * 2 ** 32 + view.getUint32(at + 2);
}

export function getBigUint56(view: DataView, at: number, little = false): bigint {
  const high = little ? getUint24(view, at + 4, true) : getUint24(view, at);
  const low = little ? view.getUint32(at, true) : view.getUint32(at + 3);
  return (BigInt(high) << 32n) | BigInt(low);
}

export function getBigInt56(view: DataView, at: number, little = false): bigint {
  return BigInt.asIntN(56, getBigUint56(view, at, little));
}

/** Write the low 24 bits of an integer. */
export function setUint24(view: DataView, at: number, value: number, little = false): void {
  if (little) {
    view.setUint16(at, value, true);
    view.setUint8(at + 2, value >> 16);
  } else {
    view.setUint8(at, value >> 16);
    view.setUint16(at + 1, value);
  }
}

/** Write the low 40 bits of an integer. */
export function setUint40(view: DataView, at: number, value: number, little = false): void {
  view.setUint32(little ? at : at + 1, value, little);
  view.setUint8(little ? at + 4 : at, Math.floor(value / 2 ** 32));
}

/** Write the low 48 bits of an integer. */
export function setUint48(view: DataView, at: number, value: number, little = false): void {
  view.setUint32(little ? at : at + 2, value, little);
  view.setUint16(little ? at + 4 : at, Math.floor(value / 2 ** 32), little);
}

/** Write the low 56 bits of an integer. */
export function setBigUint56(view: DataView, at: number, value: bigint, little = false): void {
  view.setUint32(little ? at : at + 3, Number(value & 0xffff_ffffn), little);
  setUint24(view, little ? at + 4 : at, Number((value >> 32n) & 0xff_ffffn), little);
}

/** Whether a number is an integer in low..high. */
export function isInteger(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}

/** Whether a bigint is in low..high. */
export function isBigInt(value: bigint, low: bigint, high: bigint): boolean {
  return typeof value === "bigint" && value >= low && value <= high;
}

export function absBigInt(value: bigint): bigint {
  return value < 0n ? -value : value;
}

export function minBigInt(...values: readonly bigint[]): bigint {
  return values.reduce((least, value) => (value < least ? value : least));
}

export function maxBigInt(...values: readonly bigint[]): bigint {
  return values.reduce((greatest, value) => (value > greatest ? value : greatest));
}

/** Floor division by a positive number. */
export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value < 0n && quotient * divisor !== value ? quotient - 1n : quotient;
}

/** The remainder of floor division by a positive number: 0..divisor-1. */
export function floorRemainder(value: bigint, divisor: bigint): bigint {
  const rest = value % divisor;
  return rest < 0n ? rest + divisor : rest;
}
