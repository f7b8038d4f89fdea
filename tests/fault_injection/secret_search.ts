// Searches logs, answers and files for planted secrets.

/** The encodings in which a secret could appear. */
const ENCODINGS: Readonly<Record<string, (octets: Uint8Array) => Uint8Array>> = {
  "as it is": (octets) => octets,
  "in UTF-16": (octets) => Uint8Array.from([...octets].flatMap((octet) => [octet, 0])),
  "in hexadecimal": (octets) => new TextEncoder().encode(octets.toHex()),
  "in base64": (octets) => new TextEncoder().encode(octets.toBase64().replace(/=+$/, "").slice(0, -1)),
  "in base64url": (octets) =>
    new TextEncoder().encode(octets.toBase64({ alphabet: "base64url", omitPadding: true }).slice(0, -1)),
};

/** Whether `text` is in the octets. */
export function holdsText(octets: Uint8Array, text: string): boolean {
  return holds(octets, new TextEncoder().encode(text));
}

/** Every secret that was found, with its encoding and its place. */
export function findSecrets(
  secrets: Readonly<Record<string, Uint8Array>>,
  written: readonly (readonly [place: string, octets: Uint8Array])[],
): { secret: string; encoding: string; place: string }[] {
  return Object.entries(secrets).flatMap(([secret, octets]) =>
    Object.entries(ENCODINGS).flatMap(([encoding, encode]) =>
      written.filter(([, content]) => holds(content, encode(octets)))
        .map(([place]) => ({ secret, encoding, place }))
    )
  );
}

function holds(hay: Uint8Array, needle: Uint8Array): boolean {
  for (let at = hay.indexOf(needle[0] ?? 0); at >= 0; at = hay.indexOf(needle[0] ?? 0, at + 1)) {
    let same = 1;
    while (same < needle.length && hay[at + same] === needle[same]) same++;
    if (same === needle.length) return true;
  }
  return false;
}
