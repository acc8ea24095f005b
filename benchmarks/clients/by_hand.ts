// rotation v1 and snapshot v2 as a TypeScript programmer writes them: the checks are those of the protocol.

export interface Rotation {
  readonly largestIndex: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export interface Pose extends Rotation {
  readonly flags: number;
}

export interface Position {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export interface Entity {
  readonly id: number;
  readonly position: Position;
  readonly rotation: Pose;
}

export interface Snapshot {
  readonly tick: number;
  readonly entities: readonly Entity[];
}

export class Refused {
  readonly code: string;
  readonly path: string;
  readonly byte: number;

  constructor(code: string, path: string, byte: number) {
    this.code = code;
    this.path = path;
    this.byte = byte;
  }
}

const REACHABLE_LIMIT = 2147354626;
const ROTATION_SIZE = 7;
const HEADER_SIZE = 9;
const ENTITY_SIZE = 21;
const MAGIC = 0x5753;

function inner(component: number): number {
  const magnitude = Math.abs(component);
  return magnitude * (magnitude - 1);
}

function isReachable(a: number, b: number, c: number): boolean {
  const x = inner(a);
  const y = inner(b);
  const z = inner(c);
  return x + y + z + Math.max(x, y, z) <= REACHABLE_LIMIT;
}

function rotationAt(view: DataView, at: number): Rotation | Refused {
  const largestIndex = view.getUint8(at);
  if (largestIndex > 3) {
    return new Refused("out-of-range", "largest_index", at);
  }
  const a = view.getInt16(at + 1, true);
  const b = view.getInt16(at + 3, true);
  const c = view.getInt16(at + 5, true);
  if (!isReachable(a, b, c)) {
    return new Refused("rule:reachable", "", at);
  }
  return { largestIndex, a, b, c };
}

function poseAt(view: DataView, at: number): Pose | Refused {
  const first = view.getUint8(at);
  const a = view.getInt16(at + 1, true);
  const b = view.getInt16(at + 3, true);
  const c = view.getInt16(at + 5, true);
  if (!isReachable(a, b, c)) {
    return new Refused("rule:reachable", "rotation", at);
  }
  return { flags: first >> 2, largestIndex: first & 3, a, b, c };
}

export function parseRotation(data: Uint8Array): Rotation | Refused {
  if (data.length !== ROTATION_SIZE) {
    return new Refused(
      data.length < ROTATION_SIZE ? "truncated" : "trailing-bytes",
      "",
      data.length,
    );
  }
  return rotationAt(new DataView(data.buffer, data.byteOffset, data.byteLength), 0);
}

function isSignalling(bits: number): boolean {
  return (bits & 0x7fc00000) === 0x7f800000 && (bits & 0x3fffff) !== 0;
}

function coordinate(view: DataView, at: number): number | null {
  const value = view.getFloat32(at, true);
  return value >= -8192 && value <= 8192 ? value : null;
}

function refusedCoordinate(view: DataView, at: number): Refused {
  const code = isSignalling(view.getUint32(at, true)) ? "not-canonical" : "out-of-range";
  return new Refused(code, "position", at);
}

function entityAt(view: DataView, at: number): Entity | Refused {
  const x = coordinate(view, at + 2);
  if (x === null) {
    return refusedCoordinate(view, at + 2);
  }
  const y = coordinate(view, at + 6);
  if (y === null) {
    return refusedCoordinate(view, at + 6);
  }
  const z = coordinate(view, at + 10);
  if (z === null) {
    return refusedCoordinate(view, at + 10);
  }
  const rotation = poseAt(view, at + 14);
  if (rotation instanceof Refused) {
    return rotation;
  }
  return { id: view.getUint16(at, true), position: { x, y, z }, rotation };
}

export function parseSnapshot(data: Uint8Array): Snapshot | Refused {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < HEADER_SIZE) {
    return new Refused("truncated", "", data.length);
  }
  if (view.getUint16(0) !== MAGIC || view.getUint8(2) !== 2) {
    return new Refused("constant", "", 0);
  }
  const tick = view.getUint32(3, true);
  const count = view.getUint16(7, true);
  if (data.length !== HEADER_SIZE + count * ENTITY_SIZE) {
    return new Refused("truncated", "entities", HEADER_SIZE);
  }
  const entities: Entity[] = [];
  for (let i = 0; i < count; i++) {
    const entity = entityAt(view, HEADER_SIZE + i * ENTITY_SIZE);
    if (entity instanceof Refused) {
      return entity;
    }
    entities.push(entity);
  }
  return { tick, entities };
}

function isInt(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}

function putComponents(view: DataView, at: number, rotation: Rotation): boolean {
  const { a, b, c } = rotation;
  if (!isInt16(a) || !isInt16(b) || !isInt16(c) || !isReachable(a, b, c)) {
    return false;
  }
  view.setInt16(at, a, true);
  view.setInt16(at + 2, b, true);
  view.setInt16(at + 4, c, true);
  return true;
}

function isInt16(value: number): boolean {
  return isInt(value, -32768, 32767);
}

export function buildRotation(rotation: Rotation): Uint8Array | Refused {
  const data = new Uint8Array(ROTATION_SIZE);
  const view = new DataView(data.buffer);
  if (!isInt(rotation.largestIndex, 0, 3) || !putComponents(view, 1, rotation)) {
    return new Refused("out-of-range", "", 0);
  }
  view.setUint8(0, rotation.largestIndex);
  return data;
}

function isMetres(value: number): boolean {
  return value >= -8192 && value <= 8192 && Math.fround(value) === value;
}

export function buildSnapshot(snapshot: Snapshot): Uint8Array | Refused {
  const { tick, entities } = snapshot;
  if (!isInt(tick, 0, 0xffffffff) || entities.length > 0xffff) {
    return new Refused("out-of-range", "", 0);
  }
  const data = new Uint8Array(HEADER_SIZE + entities.length * ENTITY_SIZE);
  const view = new DataView(data.buffer);
  view.setUint16(0, MAGIC);
  view.setUint8(2, 2);
  view.setUint32(3, tick, true);
  view.setUint16(7, entities.length, true);
  let at = HEADER_SIZE;
  for (const { id, position, rotation } of entities) {
    const { x, y, z } = position;
    const { flags, largestIndex } = rotation;
    if (!isInt(id, 0, 0xffff) || !isMetres(x) || !isMetres(y) || !isMetres(z)) {
      return new Refused("out-of-range", "entities", 0);
    }
    if (!isInt(flags, 0, 63) || !isInt(largestIndex, 0, 3)) {
      return new Refused("out-of-range", "entities", 0);
    }
    view.setUint16(at, id, true);
    view.setFloat32(at + 2, x, true);
    view.setFloat32(at + 6, y, true);
    view.setFloat32(at + 10, z, true);
    view.setUint8(at + 14, (flags << 2) | largestIndex);
    if (!putComponents(view, at + 15, rotation)) {
      return new Refused("out-of-range", "entities", 0);
    }
    at += ENTITY_SIZE;
  }
  return data;
}
