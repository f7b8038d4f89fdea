// The text of a file that a person chose: UTF-8, or UTF-16 with a byte order mark, which XML 1.0 §4.3.3 requires and Excel writes.

/** `null` if the octets are in neither encoding. */
export function decodeFileText(octets: Uint8Array): string | null {
  const [first, second] = octets;
  const encoding = first === 0xff && second === 0xfe
    ? "utf-16le"
    : first === 0xfe && second === 0xff
    ? "utf-16be"
    : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(octets);
  } catch (_otherEncoding) {
    return null;
  }
}
