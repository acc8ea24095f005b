// A client of the snapshot protocol over UDP, on the exported codec. test_export_contract.py is its server.
//
// It agrees on a version, answers each packet of the server with its verdict and the bytes that it builds of
// the record, and then sends packets of its own, whole and spoiled, each behind its verdict of them.

import { createSocket } from "node:dgram";
import process from "node:process";

import { type Snapshot, snapshot } from "./protocols.js";
import { Fault } from "./wirelock/codec.js";

const port = Number(process.argv[2]);
const socket = createSocket("udp4");
let version = 0;
let last: Uint8Array = new Uint8Array();

function verdict(data: Uint8Array): string {
  const found: Snapshot | Fault = snapshot.tryParse(data);
  if (found instanceof Fault) {
    return JSON.stringify([found.code, found.path, found.byte, found.bit]);
  }
  last = snapshot.build(found);
  return JSON.stringify({ version: found.version, bytes: Buffer.from(last).toString("hex") });
}

function spoiled(data: Uint8Array): Uint8Array[] {
  const packets = [data, data.subarray(0, data.length - 1), Uint8Array.from([...data, 0])];
  for (let bit = 0; bit < data.length * 8; bit += 5) {
    const flipped = Uint8Array.from(data);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    packets.push(flipped);
  }
  return packets;
}

function send(head: string, data: Uint8Array = new Uint8Array(), behind?: () => void): void {
  socket.send(Buffer.concat([Buffer.from(`${head}\n`), data]), port, "127.0.0.1", behind);
}

const waiting: Uint8Array[] = [];

socket.on("message", (data) => {
  const text = data.toString();
  if (version === 0) {
    version = snapshot.negotiate(text).version;
    send(`speak ${version}`);
    return;
  }
  if (text !== "your turn" && text !== "next") {
    send(verdict(data));
    return;
  }
  if (text === "your turn") {
    waiting.push(...spoiled(last));
  }
  const packet = waiting.shift();
  if (packet === undefined) {
    send("done", new Uint8Array(), () => socket.close());
  } else {
    send(verdict(packet), packet);
  }
});

send(snapshot.HELLO);
