// A client of rotation v1 that shares no code with the library: what docs/golden-vectors.md's runner runs.

const SCALE = Math.fround(46339.53515625);
const LEAST = Buffer.from("2b8cbccc", "hex").readFloatBE();
const f = Math.fround;

function refuse(code, path, byte) {
  throw Object.assign(new Error(`${code} ${path}`), { code, path, byte });
}

export function decode(bytes) {
  const fields = [["largest_index", 0, 1], ["a", 1, 2], ["b", 3, 2], ["c", 5, 2]];
  for (const [path, byte, size] of fields) if (bytes.length < byte + size) refuse("truncated", path, byte);
  if (bytes.length > 7) refuse("trailing-bytes", "", 7);
  const [a, b, c] = [1, 3, 5].map((byte) => bytes.readInt16LE(byte));
  if (bytes[0] > 3) refuse("out-of-range", "largest_index", 0);
  const t = [a, b, c].map((n) => Math.abs(n) * (Math.abs(n) - 1));
  if (t[0] + t[1] + t[2] + Math.max(...t) > 2147354626) refuse("rule:reachable", "", 0);
  return { largest_index: bytes[0], a, b, c };
}

export function encode({ largest_index, a, b, c }) {
  const bytes = Buffer.alloc(7);
  bytes.writeUInt8(largest_index, 0);
  [a, b, c].forEach((component, i) => bytes.writeInt16LE(component, 1 + 2 * i));
  return bytes;
}

function squaredLength([x, y, z, w]) {
  return f(f(f(x * x) + f(y * y)) + f(f(z * z) + f(w * w)));
}

function normalised(q, squared) {
  const length = f(Math.sqrt(squared));
  return q.map((component) => f(component / length));
}

function halfEven(x) {
  const low = Math.floor(x);
  if (x - low !== 0.5) return Math.round(x) + 0;
  return low % 2 === 0 ? low : low + 1;
}

export function fromQuaternion(q) {
  const squared = squaredLength(q);
  if (!(squared >= LEAST && squared < Infinity)) refuse("out-of-range", "", null);
  let v = normalised(q, squared);
  let index = 0;
  for (let i = 1; i < 4; i++) if (Math.abs(v[i]) > Math.abs(v[index])) index = i;
  if (v[index] < 0) v = v.map((component) => -component);
  const [a, b, c] = v.filter((_, i) => i !== index).map((component) => halfEven(f(component * SCALE)));
  return { largest_index: index, a, b, c };
}

export function toQuaternion({ largest_index, a, b, c }) {
  const [u, v, w] = [a, b, c].map((n) => f(n / SCALE));
  const omitted = f(Math.sqrt(f(1 - f(f(f(u * u) + f(v * v)) + f(w * w)))));
  const q = [u, v, w];
  q.splice(largest_index, 0, omitted);
  return normalised(q, squaredLength(q));
}
