// Runs golden files against a codec and prints TAP; or answers requests, a line each. For Node.
//
//     node protocols.golden.js golden fixtures/rotation/v1.json ...
//     node protocols.golden.js lines
//
// docs/golden-vectors.md of wirelock describes the files. Exits with 1 if a case fails, with 2 if a file cannot
// be read or is for a protocol or a version that the codec does not have; the other files are run nevertheless.

import { readFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";

import { Fault } from "./codec.js";
import { bitsOf16, bitsOf32, bitsOf64, type Float, numberOf } from "./floats.js";
import { NegotiationError } from "./protocol.js";
import { decode, encode, type Quaternion } from "./quaternion.js";

/** A record as JSON, piece by piece. */
export class JsonWriter {
  private text = "";
  private behindValue = false;

  private put(piece: string): void {
    this.text += this.behindValue ? `, ${piece}` : piece;
    this.behindValue = true;
  }

  open(bracket: "{" | "["): void {
    this.put(bracket);
    this.behindValue = false;
  }

  close(bracket: "}" | "]"): void {
    this.text += bracket;
    this.behindValue = true;
  }

  key(name: string): void {
    this.put(`${JSON.stringify(name)}: `);
    this.behindValue = false;
  }

  integer(value: number | bigint): void {
    const isSafe = value >= -(2 ** 53) && value <= 2 ** 53;
    this.put(isSafe ? String(value) : `"${value}"`);
  }

  bool(value: boolean): void {
    this.put(String(value));
  }

  float(value: Float, bits: 16 | 32 | 64): void {
    const number = numberOf(value);
    if (!Number.isFinite(number)) {
      const raw = { 16: bitsOf16, 32: bitsOf32, 64: bitsOf64 }[bits](value);
      this.put(`{"bits": "${raw.toString(16).padStart(bits / 4, "0")}"}`);
    } else {
      const digits = Object.is(number, -0) ? "-0" : String(number);
      this.put(/[.e]/.test(digits) ? digits : `${digits}.0`);
    }
  }

  bytes(value: Uint8Array): void {
    this.put(`"${toHex(value)}"`);
  }

  string(value: string): void {
    this.put(JSON.stringify(value));
  }

  nothing(): void {
    this.put("null");
  }

  toString(): string {
    return this.text;
  }
}

/** What bytes were found to be: a version's record, as JSON and built again. */
export interface Answer {
  readonly version: number;
  readonly json: string;
  readonly built: Uint8Array | Fault;
}

/** One version of a protocol. */
export interface Version {
  readonly number: number;
  readonly digest: string;
  parse(data: Uint8Array): Answer | Fault;
  /** Of a record that is a quaternion. */
  readonly pose: {
    build(q: Quaternion): Uint8Array | Fault;
    parse(data: Uint8Array): Quaternion | Fault;
  } | null;
}

/** One protocol, to be tested. */
export interface Subject {
  readonly name: string;
  readonly versions: readonly Version[];
  /** Parse a record by its tag; null where the protocol has none. Versions above `newest` are unknown. */
  readonly receive: ((data: Uint8Array, newest: number) => Answer | Fault) | null;
  negotiate(hello: string): { readonly version: number };
}

/** Return a record's answer. */
export function answer<R>(
  version: number,
  record: R,
  tell: (json: JsonWriter, record: R) => void,
  built: Uint8Array | Fault,
): Answer {
  const json = new JsonWriter();
  tell(json, record);
  return { version, json: json.toString(), built };
}

/** Return the fault that was thrown; anything else is thrown again. */
export function caught<T>(attempt: () => T): T | Fault {
  try {
    return attempt();
  } catch (error) {
    const fault: unknown = (error as { readonly fault?: unknown }).fault;
    if (fault instanceof Fault) {
      return fault;
    }
    throw error;
  }
}

/** Run what the command line asks for. */
export async function main(subjects: readonly Subject[]): Promise<void> {
  const [mode, ...paths] = process.argv.slice(2);
  if (mode === "lines") {
    for await (const line of createInterface({ input: process.stdin })) {
      process.stdout.write(`${reply(subjects, line)}\n`);
    }
  } else if (mode === "golden" && paths.length > 0) {
    process.exitCode = golden(subjects, paths);
  } else {
    process.stderr.write("usage: golden FILE.json ... | lines\n");
    process.exitCode = 2;
  }
}

// -- golden files

interface Case {
  readonly id: string;
  readonly promises?: readonly string[];
  readonly bytes: string;
  readonly record?: unknown;
  readonly error?: {
    readonly code: string;
    readonly path: string;
    readonly byte: number | null;
  };
}

interface Pose {
  readonly id: string;
  readonly direction: "encode" | "decode";
  readonly quaternion?: readonly string[];
  readonly bytes?: string;
  readonly error?: { readonly code: string };
}

interface GoldenFile {
  readonly format: string;
  readonly protocol: string;
  readonly version: number;
  /** Of the layout that the file was written for. */
  readonly digest?: string;
  readonly cases: readonly Case[];
  readonly poses?: readonly Pose[];
}

class Tap {
  private count = 0;
  failed = 0;

  constructor() {
    process.stdout.write("TAP version 14\n");
  }

  /** Report whether what was found is what is wanted; if not, both where they differ first. */
  test(name: string, found: unknown, wanted: unknown): void {
    this.count += 1;
    const differs = difference(found, wanted, "");
    process.stdout.write(`${differs === null ? "ok" : "not ok"} ${this.count} - ${name}\n`);
    if (differs !== null) {
      this.failed += 1;
      const path = differs.path === "" ? "" : `  path: ${JSON.stringify(differs.path)}\n`;
      const told = `  found: ${shown(differs.found)}\n  wanted: ${shown(differs.wanted)}\n`;
      process.stdout.write(`  ---\n${path}${told}  ...\n`);
    }
  }

  end(): number {
    process.stdout.write(`1..${this.count}\n`);
    return this.failed > 0 ? 1 : 0;
  }
}

interface Difference {
  /** `entities[0].x`; empty for the whole. */
  readonly path: string;
  readonly found: unknown;
  readonly wanted: unknown;
}

/** Return the first place at which two JSON values differ, null where they are the same; -0 is not 0. */
function difference(found: unknown, wanted: unknown, path: string): Difference | null {
  if (isDeepStrictEqual(found, wanted)) {
    return null;
  }
  if (isTree(found) && isTree(wanted) && Array.isArray(found) === Array.isArray(wanted)) {
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(found)])) {
      const step = Array.isArray(wanted) ? `[${key}]` : path === "" ? key : `.${key}`;
      const inner = difference(found[key], wanted[key], path + step);
      if (inner !== null) {
        return inner;
      }
    }
  }
  return { path, found, wanted };
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Return a value as JSON, which knows no -0 and nothing that is absent. */
function shown(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(shown).join(", ")}]`;
  }
  if (isTree(value)) {
    const members = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}: ${shown(item)}`,
    );
    return `{${members.join(", ")}}`;
  }
  return Object.is(value, -0) ? "-0.0" : value === undefined ? "(absent)" : JSON.stringify(value);
}

function golden(subjects: readonly Subject[], paths: readonly string[]): number {
  const tap = new Tap();
  let isComplete = true;
  for (const path of paths) {
    const problem = runFile(tap, subjects, path);
    if (problem !== null) {
      process.stderr.write(`${path}: ${problem}\n`);
      isComplete = false;
    }
  }
  const status = tap.end();
  return isComplete ? status : 2;
}

/** Run one file; returns why it cannot be run. */
function runFile(tap: Tap, subjects: readonly Subject[], path: string): string | null {
  let file: GoldenFile;
  try {
    const read: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
    if (!isGolden(read)) {
      return "this is no golden file of the format wirelock-golden/1";
    }
    file = read;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { protocol } = file;
  const subject = subjects.find((item) => item.name === protocol);
  if (subject === undefined) {
    const known = subjects.map((item) => item.name).join(", ");
    return `the codec has no protocol ${protocol}: it has ${known}`;
  }
  const version = subject.versions.find((item) => item.number === file.version);
  if (version === undefined) {
    const known = subject.versions.map((item) => `v${item.number}`).join(", ");
    return `${protocol} v${file.version} is not in this codec: it has ${known}`;
  }
  const poses = file.poses ?? [];
  if (file.cases.length + poses.length === 0) {
    return "the file has no cases";
  }
  const odd = file.cases.flatMap((item) => item.promises ?? []).find((item) => !isPromise(item));
  if (odd !== undefined) {
    return `${JSON.stringify(odd)} is no promise: there are decode-old and encode-exact`;
  }
  const name = `${protocol}/v${file.version}`;
  if (file.digest !== undefined && file.digest !== version.digest) {
    tap.test(`${name} digest`, version.digest, file.digest);
  }
  for (const item of file.cases) {
    runCase(tap, `${name} ${item.id}`, subject, version, item);
  }
  for (const pose of poses) {
    runPose(tap, `${name} ${pose.id}`, version, pose);
  }
  return null;
}

function isPromise(text: string): boolean {
  return text === "decode-old" || text === "encode-exact";
}

/** Whether this is a golden file as far as it must be one to be run. */
function isGolden(value: unknown): value is GoldenFile {
  return (
    isTree(value) &&
    value["format"] === "wirelock-golden/1" &&
    typeof value["protocol"] === "string" &&
    typeof value["version"] === "number" &&
    isList(value["cases"], isCase) &&
    (value["poses"] === undefined || isList(value["poses"], isPose))
  );
}

function isList(
  value: unknown,
  holds: (item: Readonly<Record<string, unknown>>) => boolean,
): boolean {
  return Array.isArray(value) && value.every((item) => isTree(item) && holds(item));
}

function isCase(item: Readonly<Record<string, unknown>>): boolean {
  const { bytes, error, promises } = item;
  const kept = error === undefined ? promises : [];
  return typeof bytes === "string" && (kept === undefined || Array.isArray(kept));
}

function isPose(item: Readonly<Record<string, unknown>>): boolean {
  const { bytes, direction, quaternion } = item;
  return direction === "encode" ? Array.isArray(quaternion) : typeof bytes === "string";
}

function runCase(tap: Tap, name: string, subject: Subject, version: Version, item: Case): void {
  const bytes = fromHex(item.bytes);
  const found = subject.receive?.(bytes, version.number) ?? version.parse(bytes);
  if (item.error !== undefined) {
    tap.test(`${name} invalid`, found instanceof Fault ? told(found) : found, item.error);
    return;
  }
  for (const promise of item.promises ?? []) {
    const title = `${name} ${promise}`;
    if (found instanceof Fault) {
      tap.test(title, told(found), item.record);
      continue;
    }
    const record: unknown = JSON.parse(found.json);
    const { built } = found;
    // What is built is what was parsed: the case's record only if the two are the same.
    if (promise === "decode-old" || !isDeepStrictEqual(record, item.record)) {
      tap.test(title, record, item.record);
    } else {
      tap.test(title, built instanceof Fault ? told(built) : toHex(built), item.bytes);
    }
  }
}

function runPose(tap: Tap, name: string, version: Version, pose: Pose): void {
  if (version.pose === null) {
    tap.test(`${name} ${pose.direction}`, "no quaternion", pose.direction);
  } else if (pose.direction === "encode") {
    const built = version.pose.build(quaternionOf(pose.quaternion ?? []));
    const found = built instanceof Fault ? { code: built.code } : toHex(built);
    tap.test(`${name} encode`, found, pose.error ?? pose.bytes);
  } else {
    const parsed = version.pose.parse(fromHex(pose.bytes ?? ""));
    const found = parsed instanceof Fault ? { code: parsed.code } : wordsOf(parsed);
    tap.test(`${name} decode`, found, pose.error ?? pose.quaternion);
  }
}

function told(fault: Fault): object {
  return { code: fault.code, path: fault.path, byte: fault.byte };
}

// -- one request a line

function reply(subjects: readonly Subject[], line: string): string {
  const [request = "", name = "", ...words] = line.split(" ");
  const rest = words.join(" ");
  if (request === "encode" || request === "decode") {
    return converted(request, Number(name), words);
  }
  const [protocol, number] = name.split("/v");
  const subject = subjects.find((item) => item.name === protocol);
  if (subject === undefined) {
    return "error no such protocol";
  }
  switch (request) {
    case "parse": {
      const version = subject.versions.find((item) => item.number === Number(number));
      const found = version?.parse(fromHex(rest));
      return found === undefined ? "error no such version" : answered(found, "");
    }
    case "receive": {
      const found = subject.receive?.(fromHex(rest), Infinity);
      return found === undefined
        ? "error no tag"
        : answered(found, found instanceof Fault ? "" : `${found.version} `);
    }
    case "negotiate":
      try {
        return `ok ${subject.negotiate(rest).version}`;
      } catch (error) {
        if (error instanceof NegotiationError) {
          return `fault ${error.disagreement?.path || "-"}`;
        }
        throw error;
      }
  }
  return "error no such request";
}

function answered(found: Answer | Fault, prefix: string): string {
  if (found instanceof Fault) {
    return faultLine(found);
  }
  const { built, json } = found;
  return built instanceof Fault
    ? `unbuilt ${faultLine(built)}`
    : `ok ${prefix}${toHex(built) || "-"} ${json}`;
}

function faultLine(fault: Fault): string {
  return `fault ${fault.code} ${fault.byte ?? "-"} ${fault.bit ?? "-"} ${fault.path || "-"}`;
}

function converted(request: "encode" | "decode", bits: number, words: readonly string[]): string {
  const [canonical, ...rest] = words;
  if (request === "encode") {
    const found = encode(quaternionOf(rest), bits, canonical === "1");
    return found instanceof Fault
      ? `fault ${found.code}`
      : `ok ${found.index} ${found.a} ${found.b} ${found.c}`;
  }
  const [index = NaN, a = NaN, b = NaN, c = NaN] = rest.map(Number);
  const found = decode({ index, a, b, c }, bits, canonical === "1");
  return found instanceof Fault ? `fault ${found.code}` : `ok ${wordsOf(found).join(" ")}`;
}

// -- bytes and floats as hex

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (octet) => octet.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/[0-9a-f]{2}/g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function quaternionOf(words: readonly string[]): Quaternion {
  const view = new DataView(new ArrayBuffer(4));
  const [x = NaN, y = NaN, z = NaN, w = NaN] = words.map((word) => {
    view.setUint32(0, Number.parseInt(word, 16));
    return view.getFloat32(0);
  });
  return { x, y, z, w };
}

function wordsOf(q: Quaternion): string[] {
  return [q.x, q.y, q.z, q.w].map((component) => bitsOf32(component).toString(16).padStart(8, "0"));
}
