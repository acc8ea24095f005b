// Text in the encodings of the wire. Written out, since TextDecoder knows no UTF-32, forgives what the wire
// does not, and is not part of the language.

export type Encoding = "ascii" | "utf-8" | "utf-16-le" | "utf-16-be" | "utf-32-le" | "utf-32-be";

const NONE = -1;
const BYTE_ORDER_MARK = 0xfeff;

/** Calls `found` with each code point, surrogates among them. False for bytes that are no text. */
function scan(
  bytes: Uint8Array,
  encoding: Encoding,
  found: (code: number, isSurrogate: boolean) => void,
): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const little = encoding.endsWith("le");
  let at = 0;
  while (at < bytes.length) {
    let code = NONE;
    let size = 1;
    if (encoding === "ascii") {
      const octet = view.getUint8(at);
      code = octet < 0x80 ? octet : NONE;
    } else if (encoding === "utf-8") {
      const first = view.getUint8(at);
      size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      code = at + size <= bytes.length ? utf8(view, at, size) : NONE;
    } else if (encoding.startsWith("utf-16")) {
      size = 2;
      code = at + 2 <= bytes.length ? view.getUint16(at, little) : NONE;
      if (code >= 0xd800 && code < 0xdc00 && at + 4 <= bytes.length) {
        const low = view.getUint16(at + 2, little);
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          size = 4;
        }
      }
    } else {
      size = 4;
      code = at + 4 <= bytes.length ? view.getUint32(at, little) : NONE;
    }
    if (code === NONE || code > 0x10ffff) {
      return false;
    }
    found(code, code >= 0xd800 && code < 0xe000);
    at += size;
  }
  return true;
}

/** Return the code point of `size` bytes; NONE where they are none in the shortest form. */
function utf8(view: DataView, at: number, size: number): number {
  const first = view.getUint8(at);
  if (size === 1) {
    return first;
  }
  if (first < 0xc2 || first > 0xf4) {
    return NONE;
  }
  let code = first & (0x7f >> size);
  for (let place = at + 1; place < at + size; place++) {
    const octet = view.getUint8(place);
    if ((octet & 0xc0) !== 0x80) {
      return NONE;
    }
    code = (code << 6) | (octet & 0x3f);
  }
  return code < (size === 3 ? 0x800 : size === 4 ? 0x10000 : 0x80) ? NONE : code;
}

/** Return 0 for text, 1 for bytes that are none, 2 for text that would be written otherwise. */
export function textCode(bytes: Uint8Array, encoding: Encoding, closed: boolean): 0 | 1 | 2 {
  let first = NONE;
  let canonical = true;
  const isText = scan(bytes, encoding, (code, isSurrogate) => {
    first = first === NONE ? code : first;
    canonical &&= !isSurrogate && !(closed && code === 0);
  });
  return !isText ? 1 : canonical && first !== BYTE_ORDER_MARK ? 0 : 2;
}

/** Return the text that bytes are, for which textCode is not 1. */
export function textOf(bytes: Uint8Array, encoding: Encoding): string {
  const parts: string[] = [];
  scan(bytes, encoding, (code) => parts.push(String.fromCodePoint(code)));
  return parts.join("");
}

/** Return how many code points a text has. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/** Return how many bytes a text takes; -1 where it cannot be encoded. */
export function textSize(text: string, encoding: Encoding): number {
  let size = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if ((code >= 0xd800 && code < 0xe000) || (encoding === "ascii" && code > 0x7f)) {
      return -1;
    }
    size += sizeOf(code, encoding);
  }
  return size;
}

function sizeOf(code: number, encoding: Encoding): number {
  if (encoding === "ascii") {
    return 1;
  }
  if (encoding === "utf-8") {
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return encoding.startsWith("utf-16") && code < 0x10000 ? 2 : 4;
}

/** Whether a text is read back as the same text. `closed` text holds no NUL. */
export function textFits(text: string, encoding: Encoding, closed: boolean): boolean {
  const canonical = !text.startsWith("\ufeff") && !(closed && text.includes("\0"));
  return canonical && textSize(text, encoding) >= 0;
}

/** Write a text that can be encoded, from byte `at` on, where there is room for it. */
export function putText(view: DataView, at: number, text: string, encoding: Encoding): void {
  const little = encoding.endsWith("le");
  let place = at;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const size = sizeOf(code, encoding);
    if (encoding.startsWith("utf-32")) {
      view.setUint32(place, code, little);
    } else if (encoding.startsWith("utf-16")) {
      for (let unit = 0; unit < character.length; unit++) {
        view.setUint16(place + 2 * unit, character.charCodeAt(unit), little);
      }
    } else if (size === 1) {
      view.setUint8(place, code);
    } else {
      view.setUint8(place, ((0xf00 >> size) & 0xff) | (code >> (6 * (size - 1))));
      for (let rest = 1; rest < size; rest++) {
        view.setUint8(place + rest, 0x80 | ((code >> (6 * (size - 1 - rest))) & 0x3f));
      }
    }
    place += size;
  }
}

/** Return the bytes of a text that can be encoded. */
export function encoded(text: string, encoding: Encoding): Uint8Array {
  const bytes = new Uint8Array(textSize(text, encoding));
  putText(new DataView(bytes.buffer), 0, text, encoding);
  return bytes;
}
