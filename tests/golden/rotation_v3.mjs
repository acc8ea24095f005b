// A client of rotation v3 that shares no code with the library: what docs/golden-vectors.md's runner runs.

const N = 16383;
const T = 2048;
const f = Math.fround;
const SCALE = f(N / f(Math.SQRT1_2));
const LEAST = Buffer.from("2b8cbccc", "hex").readFloatBE();

function refuse(code, path, byte) {
  throw Object.assign(new Error(`${code} ${path}`), { code, path, byte });
}

// -- the canonical form, in integers that a Number holds exactly

function nearTie(index, kept) {
  const magnitudes = kept.map(Math.abs);
  const m = Math.max(...magnitudes);
  const place = magnitudes.indexOf(m);
  const rest = 2 * N * N - kept.reduce((sum, n) => sum + n * n, 0) - T;
  return { m, place, first: place < index ? place : place + 1, rest };
}

function isCanonical(index, kept) {
  const { m, first, rest } = nearTie(index, kept);
  return rest >= m * m || (index < first && rest > m * m - m);
}

function settled(index, kept) {
  if (isCanonical(index, kept)) return [index, kept];
  const { m, first, rest } = nearTie(index, kept);
  let r = m;
  if (rest <= m * m - m) {
    r = Math.floor((1 + Math.sqrt(4 * rest - 3)) / 2);
    while (rest <= r * r - r) r--;
    while (rest > (r + 1) * r) r++;
  }
  const q = [...kept];
  q.splice(index, 0, r);
  const [largest] = q.splice(first, 1);
  return [first, q.map((n) => (largest < 0 ? -n : n) + 0)];
}

// -- bytes

export function decode(bytes) {
  for (const [path, byte, end] of [["largest_index", 0, 1], ["a", 0, 3], ["b", 2, 4], ["c", 4, 6]]) {
    if (bytes.length < end) refuse("truncated", path, byte);
  }
  if (bytes[5] & 1) refuse("not-canonical", "padding#4", 5);
  if (bytes.length > 6) refuse("trailing-bytes", "", 6);
  const value = BigInt(`0x${bytes.toString("hex")}`);
  const [a, b, c] = [31n, 16n, 1n].map((shift) => Number(BigInt.asIntN(15, value >> shift)));
  const t = [a, b, c].map((n) => Math.abs(n) * (Math.abs(n) - 1));
  if (t[0] + t[1] + t[2] + Math.max(...t) > 2 * N * N + 512) refuse("rule:reachable", "", 0);
  const largest_index = bytes[0] >> 6;
  if (!isCanonical(largest_index, [a, b, c])) refuse("rule:canonical", "", 0);
  return { largest_index, a, b, c };
}

export function encode({ largest_index, a, b, c }) {
  let value = BigInt(largest_index);
  for (const n of [a, b, c]) value = (value << 15n) | BigInt.asUintN(15, BigInt(n));
  return Buffer.from((value << 1n).toString(16).padStart(12, "0"), "hex");
}

// -- numbers, each rounded to binary32

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
  const kept = v.filter((_, i) => i !== index).map((component) => halfEven(f(component * SCALE)));
  const [largest_index, [a, b, c]] = settled(index, kept);
  return { largest_index, a, b, c };
}

export function toQuaternion({ largest_index, a, b, c }) {
  const [u, v, w] = [a, b, c].map((n) => f(n / SCALE));
  const omitted = f(Math.sqrt(f(1 - f(f(f(u * u) + f(v * v)) + f(w * w)))));
  const q = [u, v, w];
  q.splice(largest_index, 0, omitted);
  return normalised(q, squaredLength(q));
}
