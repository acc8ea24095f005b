// Reads datagrams of pings, each in hexadecimal: how many records are in one, or the fault.
import { ping } from "./game.js";
import { Fault } from "./wirelock/codec.js";

for (const hex of process.argv.slice(2)) {
  const found = ping.tryParseAll(Uint8Array.from(Buffer.from(hex, "hex")));
  const told = found instanceof Fault ? `${found.code} ${found.byte} ${found.path}` : found.length;
  process.stdout.write(`${told}\n`);
}
