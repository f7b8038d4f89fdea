// Distinguished names (RFC 4514): builds a DN below a base, and reads the first RDN of a DN.

/** RFC 4514 §2.4: escaped with a backslash at every position. NUL is written in hexadecimal. */
const SPECIAL = new Set(['"', "+", ",", ";", "<", ">", "\\", "="]);
const HEX_PAIR = /^[0-9a-fA-F]{2}$/;

/** Escapes a value for a DN (RFC 4514 §2.4). Control characters are hexadecimal, so that logs show them. */
export function escapeDnValue(value: string): string {
  let text = "";
  for (let at = 0; at < value.length; at++) {
    const one = value.charAt(at);
    const code = value.charCodeAt(at);
    const outer = at === 0 || at === value.length - 1;
    if (code < 0x20 || code === 0x7f) text += `\\${code.toString(16).padStart(2, "0")}`;
    else if (SPECIAL.has(one) || (one === "#" && at === 0) || (one === " " && outer)) text += `\\${one}`;
    else text += one;
  }
  return text;
}

/** `uid=anna,ou=people,dc=example`. */
export function makeDn(rdn: { attribute: string; value: string }, baseDn: string): string {
  return `${makeRdn(rdn)},${baseDn}`;
}

/** `uid=anna`. */
export function makeRdn({ attribute, value }: { attribute: string; value: string }): string {
  return `${attribute}=${escapeDnValue(value)}`;
}

/** The DN of the entry above; "" for the first one. */
export function parentDn(dn: string): string {
  for (let at = 0; at < dn.length; at++) {
    const one = dn.charAt(at);
    if (one === "\\") at++;
    else if (one === "," || one === ";") return dn.slice(at + 1).trimStart();
  }
  return "";
}

/** The first RDN of a DN. */
interface Rdn {
  /** In lower case. */
  readonly attribute: string;
  readonly value: string;
}

/** `null` if it is not a DN, has several values in its first RDN, or has the value in hexadecimal (`#04…`). */
export function firstRdn(dn: string): Rdn | null {
  const equals = dn.indexOf("=");
  if (equals < 1) return null;
  const attribute = dn.slice(0, equals).trim().toLowerCase();
  const value = unescapeValue(dn.slice(equals + 1));
  return value === null || value === "" ? null : { attribute, value };
}

/** Reads up to the first comma that is not escaped. */
function unescapeValue(text: string): string | null {
  // Only U+0020 may precede a value (RFC 4514 §3). Other blanks are part of it.
  let from = 0;
  while (text.charAt(from) === " ") from += 1;
  if (text.charAt(from) === "#") return null;
  const encoder = new TextEncoder();
  const octets: number[] = [];
  /** The length of `octets` without trailing blanks. An escaped blank is part of the value. */
  let firm = 0;
  for (let at = from; at < text.length; at++) {
    const one = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (one === "," || one === ";") break;
    if (one === "+") return null;
    if (one !== "\\") {
      octets.push(...encoder.encode(one));
      at += one.length - 1;
      if (one !== " ") firm = octets.length;
      continue;
    }
    const pair = text.slice(at + 1, at + 3);
    if (HEX_PAIR.test(pair)) {
      octets.push(Number.parseInt(pair, 16));
      at += 2;
    } else {
      if (at + 1 >= text.length) return null;
      octets.push(...encoder.encode(text.charAt(at + 1)));
      at += 1;
    }
    firm = octets.length;
  }
  return decodeUtf8(octets.slice(0, firm));
}

function decodeUtf8(octets: readonly number[]): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(octets));
  } catch (fault) {
    if (fault instanceof TypeError) return null;
    throw fault;
  }
}

/** Two DNs with the same key are equal. A server may treat more DNs as equal. */
export function dnKey(dn: string): string {
  return dn.toLowerCase().replaceAll(/ ?, ?/g, ",");
}
