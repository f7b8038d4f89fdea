// Percent-encoding as RFC 3986 §2.3 and RFC 5849 §3.6 have it (only letters, digits, - . _ ~ stay), and forms in it.

/** A form or query as pairs, in order; names may repeat. */
export type Parameters = readonly (readonly [name: string, value: string])[];

const LEFT_BY_THE_PLATFORM = /[!'()*]/g;

/** Encodes every octet that is not unreserved. A lone surrogate becomes U+FFFD: nothing here throws on input. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    LEFT_BY_THE_PLATFORM,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * A body of `application/x-www-form-urlencoded`. A space is `%20`, which readers of `+` and readers of `%20` both take.
 */
export function encodeForm(parameters: Parameters): string {
  return parameters.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`).join("&");
}

/** The pairs of a form body or of a query without its `?`, decoded, duplicates kept. */
export function decodeForm(text: string): [string, string][] {
  return [...new URLSearchParams(text)];
}
