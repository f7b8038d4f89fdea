// Text in packets. Nearly all of it is short ASCII, which is read here faster than the runtime's decoder is called.

/** A byte order mark is a character like any other: left out, it would let two names pass as one. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/** Octets as text; invalid UTF-8 becomes U+FFFD. */
export function decodeText(octets: Uint8Array): string {
  if (octets.length > 64) return decoder.decode(octets);
  let text = "";
  for (let i = 0; i < octets.length; i++) {
    const octet = octets[i] as number;
    if (octet >= 0x80) return decoder.decode(octets);
    text += ASCII[octet];
  }
  return text;
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const encoded = new Map<string, Uint8Array<ArrayBuffer>>();

/** UTF-8 of one of a few texts that are written again and again; kept, up to a bound. */
export function encodeRepeated(text: string): Uint8Array<ArrayBuffer> {
  let octets = encoded.get(text);
  if (octets === undefined) {
    if (encoded.size >= 256) encoded.clear();
    octets = encoder.encode(text);
    encoded.set(text, octets);
  }
  return octets;
}
