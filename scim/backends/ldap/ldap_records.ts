// What is read from and written to a directory (entries, searches, changes), and its form in ldapts.

import { Buffer } from "node:buffer";
import { Attribute, type Entry as RawEntry, type Filter } from "ldapts";

/** Values of one attribute of a new entry or a change. */
export type LdapValues = readonly string[] | readonly Uint8Array[];

export interface LdapChange {
  readonly operation: "add" | "delete" | "replace";
  readonly attribute: string;
  readonly values: LdapValues;
}

/** An entry as it was found. */
export interface LdapEntry {
  readonly dn: string;
  /** By attribute in lower case; values that are no UTF-8 are left out. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** The attributes that were asked for as octets, by attribute in lower case, in hexadecimal. */
  readonly octets: ReadonlyMap<string, string>;
}

export interface LdapSearch {
  readonly baseDn: string;
  readonly scope: "base" | "sub";
  readonly filter: Filter;
  readonly attributes: readonly string[];
  /** Which of `attributes` are octets. */
  readonly octets?: readonly string[];
  readonly sizeLimit?: number;
}

/** A search as ldapts takes it. */
export function searchOptions({ scope, filter, attributes, octets = [], sizeLimit }: LdapSearch) {
  return {
    scope,
    filter,
    attributes: [...attributes],
    explicitBufferAttributes: [...octets],
    ...sizeLimit === undefined ? {} : { sizeLimit },
  };
}

/** An attribute as ldapts takes it, of texts or of octets. */
export function toAttribute(type: string, values: LdapValues): Attribute {
  const texts: string[] = [];
  const octets: Buffer[] = [];
  for (const value of values) {
    if (typeof value === "string") texts.push(value);
    else octets.push(Buffer.from(value));
  }
  return new Attribute({ type, values: octets.length > 0 ? octets : texts });
}

/** An entry as ldapts gives it, with `octetNames` read as octets. */
export function readEntry(raw: RawEntry, octetNames: readonly string[]): LdapEntry {
  const asOctets = new Set(octetNames.map((name) => name.toLowerCase()));
  const texts = new Map<string, readonly string[]>();
  const octets = new Map<string, string>();
  for (const [name, value] of Object.entries(raw)) {
    if (name === "dn") continue;
    const key = name.toLowerCase();
    const values: readonly (string | Uint8Array)[] = Array.isArray(value) ? value : [value];
    if (asOctets.has(key)) {
      const [one] = values;
      if (one instanceof Uint8Array && one.length > 0) octets.set(key, Buffer.from(one).toString("hex"));
      continue;
    }
    const known = values.filter((one): one is string => typeof one === "string");
    if (known.length > 0) texts.set(key, known);
  }
  return { dn: raw.dn, texts, octets };
}
