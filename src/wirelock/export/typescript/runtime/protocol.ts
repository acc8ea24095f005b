// What a protocol's versions share: the tag that tells them apart, and the hello by which peers agree on one.

import { Fault } from "./codec.js";

/** One constant field of a tag: where it lies, and which bits of its bytes are its own. */
export interface TagField {
  readonly label: string;
  readonly byte: number;
  /** Its highest bit, 7 to 0, if it does not fill its bytes. */
  readonly bit: number | null;
  readonly mask: readonly number[];
  /** Whether it is the number of the version, and not part of what every version begins with. */
  readonly isVersion: boolean;
}

/** The tag of a protocol: the bytes that each version begins with. */
export class Tag {
  private readonly fields: readonly TagField[];
  private readonly versions: readonly (readonly [number, readonly number[]])[];

  /** `versions` are (number, bytes), oldest first. */
  constructor(
    fields: readonly TagField[],
    versions: readonly (readonly [number, readonly number[]])[],
  ) {
    this.fields = fields;
    this.versions = versions;
  }

  /**
   * Return the version that the tag at byte `at` names.
   *
   * The fault is `foreign` for bytes of another protocol, `unknown-version`, or `truncated`. Versions above
   * `newest` count as unknown.
   */
  versionOf(bytes: Uint8Array, at = 0, newest = Infinity): number | Fault {
    for (const [version, tag] of this.versions) {
      if (version <= newest && startsWith(bytes, at, tag)) {
        return version;
      }
    }
    return this.fault(bytes.subarray(at));
  }

  private fault(found: Uint8Array): Fault {
    const known = this.versions[0]?.[1] ?? [];
    for (const { label, byte, bit, mask, isVersion } of this.fields) {
      if (found.length < byte + mask.length) {
        const begun = found.subarray(byte).every((octet, at) => octet === known[byte + at]);
        return new Fault(isVersion || begun ? "truncated" : "foreign", label, byte, bit);
      }
      if (isVersion) {
        return new Fault("unknown-version", label, byte, bit);
      }
      const differs = mask.some(
        (bits, at) => (((found[byte + at] ?? 0) ^ (known[byte + at] ?? 0)) & bits) !== 0,
      );
      if (differs) {
        return new Fault("foreign", label, byte, bit);
      }
    }
    // Every field is that of the first version, which is above `newest`.
    const { label = "", byte = 0, bit = null } = this.fields[this.fields.length - 1] ?? {};
    return new Fault("unknown-version", label, byte, bit);
  }
}

/** Return a fault in the tag of record `number` of a datagram, which begins at byte `at`. */
export function tagFault(fault: Fault, number: number, at: number): Fault {
  // Behind a record of ours, another protocol's magic is no other protocol's datagram.
  const code = number > 0 && fault.code === "foreign" ? "constant" : fault.code;
  return new Fault(code, fault.path, fault.byte, fault.bit).within(`[${number}]`, at);
}

function startsWith(bytes: Uint8Array, at: number, tag: readonly number[]): boolean {
  for (let place = 0; place < tag.length; place++) {
    if (bytes[at + place] !== tag[place]) {
      return false;
    }
  }
  return true;
}

/** A version that both peers speak, but not alike; `path` is the first part that differs. */
export interface Disagreement {
  readonly version: number;
  readonly path: string;
}

/** The version that two peers agree on, and the higher ones that they have, but not alike. */
export interface Negotiated {
  readonly version: number;
  readonly disagreements: readonly Disagreement[];
}

/** Two peers that have no version in common. */
export class NegotiationError extends Error {
  override readonly name = "NegotiationError";
  readonly protocol: string;
  /** The newest version that both have, but not alike; null where they have none in common. */
  readonly disagreement: Disagreement | null;

  constructor(protocol: string, problem: string, disagreement: Disagreement | null) {
    super(`${protocol}: ${problem}`);
    this.protocol = protocol;
    this.disagreement = disagreement;
  }
}

interface Offer {
  readonly version: number;
  readonly fingerprint: string;
  readonly parts: ReadonlyMap<string, string>;
}

const LONGEST_HELLO = 1 << 20;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isDigits(value: unknown, count: number): value is string {
  return typeof value === "string" && value.length === count && /^[0-9a-f]*$/.test(value);
}

/** Return the protocol's name and the versions that a hello offers, newest first; null for no hello. */
function readHello(text: string): [string, readonly Offer[]] | null {
  let hello: unknown;
  try {
    hello = text.length > LONGEST_HELLO ? null : JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(hello) || hello["wirelock_hello"] !== 1) {
    return null;
  }
  const { protocol, versions } = hello;
  if (typeof protocol !== "string" || !isObject(versions)) {
    return null;
  }
  const offers: Offer[] = [];
  for (const [number, offer] of Object.entries(versions)) {
    if (!/^(0|[1-9][0-9]{0,8})$/.test(number) || !isObject(offer)) {
      return null;
    }
    const { fingerprint, parts } = offer;
    if (!isDigits(fingerprint, 16) || !isObject(parts)) {
      return null;
    }
    const known = new Map<string, string>();
    for (const [path, part] of Object.entries(parts)) {
      if (!isDigits(part, 8)) {
        return null;
      }
      known.set(path, part);
    }
    offers.push({ version: Number(number), fingerprint, parts: known });
  }
  return [protocol, offers.sort((left, right) => right.version - left.version)];
}

/**
 * Return the highest version that two hellos have with the same layout.
 *
 * Throws NegotiationError where there is none, and for a text of the peer that is no hello.
 */
export function negotiate(protocol: string, ours: string, theirs: string): Negotiated {
  const peer = readHello(theirs);
  if (peer === null) {
    throw new NegotiationError(protocol, "this is no hello", null);
  }
  const [name, offers] = peer;
  if (name !== protocol) {
    throw new NegotiationError(
      protocol,
      `the peer speaks ${JSON.stringify(name.slice(0, 40))}`,
      null,
    );
  }
  const known = new Map(offers.map((offer) => [offer.version, offer]));
  const disagreements: Disagreement[] = [];
  for (const offer of readHello(ours)?.[1] ?? []) {
    const other = known.get(offer.version);
    if (other?.fingerprint === offer.fingerprint) {
      return { version: offer.version, disagreements };
    }
    if (other !== undefined) {
      disagreements.push({ version: offer.version, path: firstDifference(offer, other) });
    }
  }
  const [first] = disagreements;
  if (first !== undefined) {
    const problem = `v${first.version} differs at ${first.path || "the record"}`;
    throw new NegotiationError(protocol, problem, first);
  }
  throw new NegotiationError(protocol, "no version is spoken by both", null);
}

function firstDifference(ours: Offer, theirs: Offer): string {
  for (const [path, fingerprint] of ours.parts) {
    if (theirs.parts.get(path) !== fingerprint) {
      return path;
    }
  }
  const more = [...theirs.parts.keys()].find((path) => !ours.parts.has(path)) ?? "";
  return JSON.stringify(more.slice(0, 80)).slice(1, -1);
}
