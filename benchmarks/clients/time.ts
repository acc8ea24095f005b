// Times records that wirelock's codec and by_hand.ts parse and build: medians of interleaved rounds.
//
//     node --expose-gc time.js ROUNDS MILLISECONDS < cases.json
//
// Cases are {"rotation": [hex, ...], "snapshot": [hex, ...]}. Prints {"rotation parse": [ns, ns], ...}: wirelock's
// nanoseconds a record, then those by hand. Every loop runs once in every round.

import { readFileSync } from "node:fs";
import process from "node:process";

import * as byHand from "./by_hand.js";
import { RotationV1, SnapshotV2 } from "./protocols.js";
import { Fault } from "./wirelock/codec.js";

interface Loop {
  readonly name: string;
  readonly run: () => void;
  readonly items: number;
  readonly samples: number[];
}

let kept = 0;

function must<T extends object>(found: T | Fault | byHand.Refused): T {
  if (found instanceof Fault || found instanceof byHand.Refused) {
    throw new Error(`${found.code} at ${found.path}`);
  }
  return found;
}

function same(left: Uint8Array, right: Uint8Array): void {
  if (Buffer.compare(left, right) !== 0) {
    throw new Error("the two do not build the same bytes");
  }
}

const [rounds = 31, span = 2] = process.argv.slice(2).map(Number);
const cases = JSON.parse(readFileSync(0, "utf8")) as {
  readonly rotation: readonly string[];
  readonly snapshot: readonly string[];
};
const rotations = cases.rotation.map((hex) => Uint8Array.from(Buffer.from(hex, "hex")));
const snapshots = cases.snapshot.map((hex) => Uint8Array.from(Buffer.from(hex, "hex")));
const ourRotations = rotations.map((data) => must(RotationV1.tryParse(data)));
const ourSnapshots = snapshots.map((data) => must(SnapshotV2.tryParse(data)));
const theirRotations = rotations.map((data) => must(byHand.parseRotation(data)));
const theirSnapshots = snapshots.map((data) => must(byHand.parseSnapshot(data)));
rotations.forEach((data, at) => {
  same(data, must(RotationV1.tryBuild(ourRotations[at]!)));
  same(data, must(byHand.buildRotation(theirRotations[at]!)));
});
snapshots.forEach((data, at) => {
  same(data, must(SnapshotV2.tryBuild(ourSnapshots[at]!)));
  same(data, must(byHand.buildSnapshot(theirSnapshots[at]!)));
});

// Each loop is written out: one that they shared would call what it measures through a pointer.
const loops: Loop[] = [
  loop("rotation parse", rotations.length, () => {
    for (const data of rotations) {
      kept += RotationV1.tryParse(data) instanceof Fault ? 1 : 2;
    }
  }),
  loop("rotation parse", rotations.length, () => {
    for (const data of rotations) {
      kept += byHand.parseRotation(data) instanceof byHand.Refused ? 1 : 2;
    }
  }),
  loop("rotation build", rotations.length, () => {
    for (const record of ourRotations) {
      kept += RotationV1.tryBuild(record) instanceof Fault ? 1 : 2;
    }
  }),
  loop("rotation build", rotations.length, () => {
    for (const record of theirRotations) {
      kept += byHand.buildRotation(record) instanceof byHand.Refused ? 1 : 2;
    }
  }),
  loop("snapshot parse", snapshots.length, () => {
    for (const data of snapshots) {
      kept += SnapshotV2.tryParse(data) instanceof Fault ? 1 : 2;
    }
  }),
  loop("snapshot parse", snapshots.length, () => {
    for (const data of snapshots) {
      kept += byHand.parseSnapshot(data) instanceof byHand.Refused ? 1 : 2;
    }
  }),
  loop("snapshot build", snapshots.length, () => {
    for (const record of ourSnapshots) {
      kept += SnapshotV2.tryBuild(record) instanceof Fault ? 1 : 2;
    }
  }),
  loop("snapshot build", snapshots.length, () => {
    for (const record of theirSnapshots) {
      kept += byHand.buildSnapshot(record) instanceof byHand.Refused ? 1 : 2;
    }
  }),
];

function loop(name: string, items: number, run: () => void): Loop {
  return { name, items, run, samples: [] };
}

function nanoseconds(run: () => void, turns: number): number {
  globalThis.gc?.(); // nobody pays for what others have thrown away
  const started = process.hrtime.bigint();
  for (let turn = 0; turn < turns; turn++) {
    run();
  }
  return Number(process.hrtime.bigint() - started) / turns;
}

for (const { run } of loops) {
  nanoseconds(run, 200); // the compiler has seen all before anything is timed
}
const turns = loops.map(({ run }) => Math.max(1, Math.round((span * 1e6) / nanoseconds(run, 50))));
for (let round = 0; round < rounds; round++) {
  for (let step = 0; step < loops.length; step++) {
    const at = (step + round) % loops.length;
    const { run, items, samples } = loops[at]!;
    samples.push(nanoseconds(run, turns[at]!) / items);
  }
}
const found: Record<string, number[]> = {};
for (const { name, samples } of loops) {
  const median = samples.sort((left, right) => left - right)[samples.length >> 1] ?? NaN;
  (found[name] ??= []).push(median);
}
process.stdout.write(`${JSON.stringify(found)}\n`);
if (kept === 0) {
  process.exitCode = 1;
}
