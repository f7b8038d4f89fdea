// Seed files in PSKC, the Portable Symmetric Key Container (RFC 6030): plain, or encrypted with a pre-shared key or a password.

import {
  checkSeedRow,
  EMPTY_SEED_ROW,
  type RawSeedRow,
  type SeedFileOptions,
  type SeedFileProblem,
  type SeedRow,
  type SeedRowProblem,
} from "./seed_rows.ts";
import { createDecipheriv, createHmac, timingSafeEqual } from "node:crypto";

const NAMESPACE = "urn:ietf:params:xml:ns:keyprov:pskc";
/** RFC 6030 §10.2. Older files have other prefixes before the name. */
const ALGORITHM = /(?:^|[:#])(hotp|totp)$/i;

/** The right spelling of names of elements and attributes, by their lower case: privacyIDEA writes all in lower case. */
const NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...["KeyContainer", "EncryptionKey", "KeyName", "DerivedKey", "KeyDerivationMethod", "PBKDF2-params"],
    ...["Parameters", "Salt", "Specified", "IterationCount", "KeyLength", "PRF", "X509Data", "KeyValue"],
    ...["MACMethod", "MACKey", "EncryptionMethod", "CipherData", "CipherValue", "EncryptedValue", "ValueMAC"],
    ...["KeyPackage", "DeviceInfo", "Manufacturer", "SerialNo", "Model", "UserId", "Key", "Issuer"],
    ...["AlgorithmParameters", "Suite", "ResponseFormat", "Data", "Secret", "PlainValue", "Time"],
    ...["TimeInterval", "Counter", "TimeDrift", "Policy", "StartDate", "ExpiryDate", "KeyUsage", "PINPolicy"],
    ...["NumberOfTransactions", "Signature", "Id", "Algorithm", "Length", "Encoding", "CheckDigits"],
    ...["CheckDigit", "PINUsageMode"],
  ].map((name) => [name.toLowerCase(), name]),
);

interface PskcFile {
  readonly rows: readonly SeedRow[];
  /** It has a signature (RFC 6030 §7), which is not checked. */
  readonly isSigned: boolean;
}

/** Whether a text is XML, so that it is not a table. */
export function isXml(text: string): boolean {
  return /^\ufeff?\s*</.test(text.slice(0, 2000));
}

/** @param limits.most key packages @param limits.pause called often, so that logins continue meanwhile */
export async function readPskc(
  text: string,
  { options, most, pause }: { options: SeedFileOptions; most: number; pause: () => Promise<void> },
): Promise<PskcFile | SeedFileProblem> {
  const packages: XmlElement[] = [];
  const header: XmlElement[] = [];
  let isSigned = false;
  try {
    const root = await readXml(text, {
      pause,
      take(child) {
        if (child.name === "KeyPackage") {
          if (packages.push(child) > most) throw new XmlRefusal("too_many_tokens");
        } else if (child.name === "Signature") isSigned = true;
        else if (header.length < 20) header.push(child);
      },
    });
    if (root.name !== "KeyContainer" || !root.uri.startsWith(NAMESPACE)) return "unknown_format";
  } catch (fault) {
    if (fault instanceof XmlRefusal) return fault.code;
    throw fault;
  }
  if (packages.length === 0) return "empty_file";
  const isEncrypted = header.some(({ name }) => name === "EncryptionKey") ||
    packages.some(hasEncryptedSecret);
  const keys = await openPskcKeys(isEncrypted ? header : [], options);
  if (typeof keys === "string") return keys;
  const rows: SeedRow[] = [];
  for (const [at, one] of packages.entries()) {
    rows.push(checkSeedRow(rawRow(one, at + 1, keys), options, "hotp"));
    if (at % 200 === 199) await pause();
  }
  const isWrongKey = keys !== null &&
    rows.every(({ problem }) => problem === "wrong_mac" || problem === "not_decrypted");
  return isWrongKey ? "wrong_key" : { rows, isSigned };
}

function hasEncryptedSecret(keyPackage: XmlElement): boolean {
  return findElement(keyPackage, "Key", "Data", "Secret", "EncryptedValue") !== undefined;
}

function rawRow(keyPackage: XmlElement, line: number, keys: PskcKeys | null): RawSeedRow {
  const device = findElement(keyPackage, "DeviceInfo");
  const key = findElement(keyPackage, "Key");
  const format = findElement(key, "AlgorithmParameters", "ResponseFormat");
  const data = (name: string) => readValue(findElement(key, "Data", name), keys);
  const policy = findElement(key, "Policy");
  const secret = data("Secret");
  const suite = findElement(key, "AlgorithmParameters", "Suite");
  // privacyIDEA writes the name of the hash as an attribute, seconds as drift, and "None" for what it does not know.
  const isPrivacyIdea = elementText(key, "Issuer") === "privacyIDEA";
  const known = (text: string) => text === "None" ? "" : text;
  const head: RawSeedRow = {
    ...EMPTY_SEED_ROW,
    line,
    serial: elementText(device, "SerialNo") || (key?.attributes.get("Id") ?? "").trim(),
    seed: secret.octets,
    kind: ALGORITHM.exec(key?.attributes.get("Algorithm") ?? "")?.[1] ?? "unknown",
    // RFC 6030 §4.3.4: <Suite> names the hash.
    algorithm: suite?.text.trim() || (suite?.attributes.get("hashalgo") ?? ""),
    digits: format?.attributes.get("Length") ?? "",
    periodS: known(data("TimeInterval").text),
    counter: known(data("Counter").text),
    drift: isPrivacyIdea ? "" : data("TimeDrift").text,
    manufacturer: elementText(device, "Manufacturer"),
    model: elementText(device, "Model"),
    user: elementText(key, "UserId") || elementText(device, "UserId"),
    validFrom: elementText(policy, "StartDate"),
    validTo: elementText(policy, "ExpiryDate"),
  };
  return {
    ...head,
    problem: secret.problem ?? policyProblem(policy) ?? formProblem(head, format, data("Time").text),
  };
}

/** What a policy can say here. The other elements of RFC 6030 §5, PINPolicy and NumberOfTransactions, are not enforced. */
const POLICY_ELEMENTS = new Set(["StartDate", "ExpiryDate", "KeyUsage"]);

/**
 * RFC 6030 §5: a key that is not for OTP must not be used for it, and a policy that is not understood permits no use. The device itself checks
 * a local PIN.
 */
function policyProblem(policy: XmlElement | undefined): SeedRowProblem | null {
  const parts = policy?.children ?? [];
  const usages = parts.filter(({ name }) => name === "KeyUsage").map(({ text }) => text.trim());
  if (usages.length > 0 && !usages.includes("OTP")) return "key_usage";
  const isUnderstood = (part: XmlElement) =>
    POLICY_ELEMENTS.has(part.name) ||
    part.name === "PINPolicy" && part.attributes.get("PINUsageMode") === "Local";
  return parts.every(isUnderstood) ? null : "other_policy";
}

function formProblem(
  { kind }: RawSeedRow,
  format: XmlElement | undefined,
  startTime: string,
): SeedRowProblem | null {
  const encoding = format?.attributes.get("Encoding") ?? "DECIMAL";
  const checkDigits = format?.attributes.get("CheckDigits") ?? format?.attributes.get("CheckDigit") ??
    "false";
  if (kind === "unknown") return "other_kind";
  if (encoding !== "DECIMAL" || checkDigits === "true" || checkDigits === "1") return "not_decimal";
  // RFC 6238 §4.1: T0. Real tokens count from the epoch.
  return startTime === "" || startTime === "0" ? null : "start_time";
}

/** A value of <Data>: plain, or encrypted with its MAC (RFC 6030 §4.2, §6.1). Numbers are read as text. */
function readValue(
  element: XmlElement | undefined,
  keys: PskcKeys | null,
): PskcValue & { readonly text: string } {
  const none = { octets: null, text: "", problem: null };
  if (element === undefined) return none;
  const plain = findElement(element, "PlainValue");
  if (plain !== undefined) {
    const text = plain.text.trim();
    if (element.name !== "Secret") return { ...none, text };
    try {
      // Without its padding, the text may be cut off.
      return { ...none, octets: Uint8Array.fromBase64(text, { lastChunkHandling: "strict" }) };
    } catch (_notBase64) {
      return { ...none, problem: "bad_seed" };
    }
  }
  const encrypted = findElement(element, "EncryptedValue");
  if (encrypted === undefined) return none;
  const value = keys === null
    ? { octets: null, problem: "not_decrypted" as const }
    : keys.open(encrypted, elementText(element, "ValueMAC"));
  // Encrypted numbers are big-endian (RFC 6030 §4.2).
  const isNumber = element.name !== "Secret" && value.octets !== null && value.octets.length <= 8;
  return { ...value, text: isNumber ? String(BigInt(`0x${value.octets?.toHex() || "0"}`)) : "" };
}

// The keys of an encrypted PSKC file (RFC 6030 §6): a pre-shared key or a key of a password (PBKDF2, RFC 8018 §5.2), AES in CBC mode, and the
// MAC of each value.

interface PskcValue {
  readonly octets: Uint8Array | null;
  readonly problem: SeedRowProblem | null;
}

interface PskcKeys {
  /** Checks the MAC of an encrypted value, then decrypts it. */
  open(encrypted: XmlElement, valueMac: string): PskcValue;
}

/** XML Encryption §5.2.2, by the last part of the algorithm's URI; the length of its key in octets. */
const CIPHERS: ReadonlyMap<string, { readonly name: string; readonly keyOctets: number }> = new Map([
  ["aes128-cbc", { name: "aes-128-cbc", keyOctets: 16 }],
  ["aes192-cbc", { name: "aes-192-cbc", keyOctets: 24 }],
  ["aes256-cbc", { name: "aes-256-cbc", keyOctets: 32 }],
]);
/** RFC 6030 §6.1.1; XML Signature §6.3.1 and RFC 9231 §2.2. */
const MACS: ReadonlyMap<string, string> = new Map([
  ["hmac-sha1", "sha1"],
  ["hmac-sha224", "sha224"],
  ["hmac-sha256", "sha256"],
  ["hmac-sha384", "sha384"],
  ["hmac-sha512", "sha512"],
]);
/** PRFs of PBKDF2; RFC 8018 §5.2 uses HMAC-SHA-1 by default. */
const PRFS: ReadonlyMap<string, string> = new Map([
  ["hmac-sha1", "SHA-1"],
  ["hmac-sha256", "SHA-256"],
  ["hmac-sha384", "SHA-384"],
  ["hmac-sha512", "SHA-512"],
]);

const MAX_ITERATIONS = 2_000_000;
const MAX_SALT_OCTETS = 1024;
const MAX_PASSWORD_CHARACTERS = 1000;
const BLOCK_OCTETS = 16;

/** @param header the elements before the key packages; empty: the file is plain, and the result is `null` */
async function openPskcKeys(
  header: readonly XmlElement[],
  options: Pick<SeedFileOptions, "key" | "password">,
): Promise<PskcKeys | SeedFileProblem | null> {
  if (header.length === 0) return null;
  const encryption = header.find(({ name }) => name === "EncryptionKey");
  if (encryption === undefined) return "unknown_encryption";
  const key = await encryptionKey(encryption, options);
  if (typeof key === "string") return key;
  const method = header.find(({ name }) => name === "MACMethod");
  const mac = method === undefined ? null : macOf(method, key);
  return typeof mac === "string" ? mac : createKeys(key, mac);
}

async function encryptionKey(
  encryption: XmlElement,
  { key, password }: Pick<SeedFileOptions, "key" | "password">,
): Promise<Uint8Array | SeedFileProblem> {
  const derived = findElement(encryption, "DerivedKey");
  if (derived !== undefined) return await derivedKey(derived, password);
  // A key of a certificate (RFC 6030 §6.3) would need the private key of the recipient.
  const isAsymmetric = encryption.children.some(({ name }) => name === "X509Data" || name === "KeyValue");
  if (isAsymmetric) return "unknown_encryption";
  const text = key.replace(/[\s:-]/g, "");
  if (text === "") return "needs_key";
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return "bad_key";
  const octets = Uint8Array.fromHex(text);
  return [...CIPHERS.values()].some(({ keyOctets }) => keyOctets === octets.length) ? octets : "bad_key";
}

/** RFC 6030 §6.2: PBKDF2-params of PKCS #5. */
async function derivedKey(
  derived: XmlElement,
  password: string,
): Promise<Uint8Array<ArrayBuffer> | SeedFileProblem> {
  const method = findElement(derived, "KeyDerivationMethod");
  const params = findElement(method, "PBKDF2-params") ?? findElement(method, "Parameters");
  if (params === undefined || !/pbkdf2$/i.test(method?.attributes.get("Algorithm") ?? "")) {
    return "unknown_encryption";
  }
  const iterations = Number(elementText(params, "IterationCount"));
  const keyOctets = Number(elementText(params, "KeyLength") || "16");
  const prf = PRFS.get(lastPart(findElement(params, "PRF")?.attributes.get("Algorithm") ?? "hmac-sha1"));
  const isKnownLength = [...CIPHERS.values()].some((cipher) => cipher.keyOctets === keyOctets);
  const salt = fromBase64(elementText(params, "Salt", "Specified"));
  if (prf === undefined || !isKnownLength || salt === null || salt.length > MAX_SALT_OCTETS) {
    return "unknown_encryption";
  }
  if (!Number.isInteger(iterations) || iterations < 1) return "unknown_encryption";
  if (iterations > MAX_ITERATIONS) return "too_much_derivation";
  if (password === "" || password.length > MAX_PASSWORD_CHARACTERS) return "needs_password";
  const octets = new TextEncoder().encode(password);
  const base = await crypto.subtle.importKey("raw", octets, "PBKDF2", false, ["deriveBits"]);
  const bits = await crypto.subtle.deriveBits(
    { name: "PBKDF2", hash: prf, salt, iterations },
    base,
    keyOctets * 8,
  );
  return new Uint8Array(bits);
}

interface Mac {
  readonly hash: string;
  readonly key: Uint8Array;
}

/** RFC 6030 §6.1.1: without a MACKey, the encryption key is used. */
function macOf(method: XmlElement, key: Uint8Array): Mac | SeedFileProblem {
  const hash = MACS.get(lastPart(method.attributes.get("Algorithm") ?? ""));
  if (hash === undefined) return "unknown_encryption";
  const macKey = findElement(method, "MACKey");
  if (macKey === undefined) return { hash, key };
  const opened = decrypt(macKey, key);
  return opened === "unknown_encryption" ? opened : opened === null ? "wrong_key" : { hash, key: opened };
}

function createKeys(key: Uint8Array, mac: Mac | null): PskcKeys {
  return {
    open(encrypted, valueMac) {
      const octets = cipherOctets(encrypted);
      // RFC 6030 §6.1: CBC does not protect integrity, so the value must have a MAC.
      const given = valueMac === "" ? null : fromBase64(valueMac);
      if (mac === null || given === null) return { octets: null, problem: "no_mac" };
      if (octets === null) return { octets: null, problem: "not_decrypted" };
      const expected = createHmac(mac.hash, mac.key).update(octets).digest();
      const isSame = expected.length === given.length && timingSafeEqual(expected, given);
      if (!isSame) return { octets: null, problem: "wrong_mac" };
      const plain = decrypt(encrypted, key);
      return plain === null || typeof plain === "string"
        ? { octets: null, problem: "not_decrypted" }
        : { octets: plain, problem: null };
    },
  };
}

/** The plain octets; `null` if the key does not fit. The first block is the initialization vector (XML Encryption §5.2). */
function decrypt(encrypted: XmlElement, key: Uint8Array): Uint8Array | "unknown_encryption" | null {
  const algorithm = findElement(encrypted, "EncryptionMethod")?.attributes.get("Algorithm") ?? "";
  const cipher = CIPHERS.get(lastPart(algorithm));
  if (cipher === undefined) return "unknown_encryption";
  const octets = cipherOctets(encrypted);
  const isWhole = octets !== null && octets.length >= 2 * BLOCK_OCTETS && octets.length % BLOCK_OCTETS === 0;
  if (octets === null || !isWhole || cipher.keyOctets !== key.length) return null;
  const decipher = createDecipheriv(cipher.name, key, octets.subarray(0, BLOCK_OCTETS));
  // XML Encryption §5.2: only the last octet of the padding has a defined value.
  decipher.setAutoPadding(false);
  const plain = new Uint8Array([...decipher.update(octets.subarray(BLOCK_OCTETS)), ...decipher.final()]);
  const padding = plain.at(-1) ?? 0;
  return padding < 1 || padding > BLOCK_OCTETS ? null : plain.subarray(0, plain.length - padding);
}

function cipherOctets(encrypted: XmlElement): Uint8Array | null {
  return fromBase64(elementText(encrypted, "CipherData", "CipherValue"));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text === "") return null;
  try {
    return Uint8Array.fromBase64(text);
  } catch (_notBase64) {
    return null;
  }
}

/** `http://www.w3.org/2001/04/xmlenc#aes128-cbc` → `aes128-cbc` */
function lastPart(uri: string): string {
  return uri.slice(uri.lastIndexOf("#") + 1).toLowerCase();
}

// Reads XML in pieces, so that a large file does not block logins. No DTD, no entities besides the five of XML, and limits for depth and size.

interface XmlElement {
  /** The name without its prefix. */
  readonly name: string;
  readonly uri: string;
  /** By name without prefix. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

/** The XML is broken, or it exceeds a limit. Its message has no content of the file. */
class XmlRefusal extends Error {
  readonly code: "broken_xml" | "has_doctype" | "too_many_tokens";

  constructor(code: XmlRefusal["code"]) {
    super(`Cannot read XML: ${code}`);
    this.code = code;
  }
}

const MAX_DEPTH = 16;
/** Elements of one key package. */
const MAX_ELEMENTS = 500;
const MAX_TEXT = 100_000;
/** Attributes of one element. The parser compares each one with all others. */
const MAX_ATTRIBUTES = 100;
const PIECE_CHARACTERS = 64 * 1024;

interface OpenElement extends XmlElement {
  readonly children: XmlElement[];
  text: string;
}

interface SaxTag {
  local: string;
  uri: string;
  attributes: Record<string, { local: string; prefix: string; value: string }>;
}

/** The part of the parser's interface that is used; the package has no types. */
interface SaxParser {
  onerror: (fault: Error) => void;
  ondoctype: () => void;
  onopentag: (tag: SaxTag) => void;
  onclosetag: () => void;
  ontext: (text: string) => void;
  oncdata: (text: string) => void;
  /** The attributes of the tag that is being read. */
  readonly attribList?: readonly unknown[];
  write(text: string): SaxParser;
  close(): SaxParser;
}

interface ReadOptions {
  readonly take: (child: XmlElement) => void;
  readonly pause: () => Promise<void>;
}

/**
 * Reads a document. Each child of the root is handed to `take` and then forgotten.
 *
 * @param pause called between pieces
 * @returns the root without its children
 * @throws XmlRefusal
 */
async function readXml(text: string, { take, pause }: ReadOptions): Promise<XmlElement> {
  const { default: sax } = await import("sax");
  const parser: SaxParser = sax.parser(true, { xmlns: true, position: false, trim: false });
  const tree = new ElementReader(parser, take);
  try {
    for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
      parser.write(text.slice(at, at + PIECE_CHARACTERS));
      if ((parser.attribList?.length ?? 0) > MAX_ATTRIBUTES) throw new XmlRefusal("broken_xml");
      await pause();
    }
    parser.close();
  } catch (fault) {
    throw fault instanceof XmlRefusal ? fault : new XmlRefusal("broken_xml");
  }
  if (tree.root === null) throw new XmlRefusal("broken_xml");
  return tree.root;
}

class ElementReader {
  readonly #take: ReadOptions["take"];
  readonly #open: OpenElement[] = [];
  #elements = 0;
  root: XmlElement | null = null;

  constructor(parser: SaxParser, take: ReadOptions["take"]) {
    this.#take = take;
    parser.onerror = () => {
      throw new XmlRefusal("broken_xml");
    };
    parser.ondoctype = () => {
      throw new XmlRefusal("has_doctype");
    };
    parser.onopentag = (tag) => this.#openElement(tag);
    parser.onclosetag = () => this.#close();
    parser.ontext = parser.oncdata = (text) => this.#addText(text);
  }

  #openElement({ local: name, uri, attributes: given }: SaxTag): void {
    if (this.#open.length >= MAX_DEPTH || ++this.#elements > MAX_ELEMENTS) throw new XmlRefusal("broken_xml");
    const attributes = new Map<string, string>();
    if (Object.keys(given).length > MAX_ATTRIBUTES) throw new XmlRefusal("broken_xml");
    for (const { local, prefix, value } of Object.values(given)) {
      if (prefix !== "xmlns" && local !== "xmlns") attributes.set(nameOf(local), value);
    }
    const element: OpenElement = { name: nameOf(name), uri, attributes, children: [], text: "" };
    if (this.#open.length === 0) this.root = element;
    this.#open.push(element);
  }

  #addText(text: string): void {
    const element = this.#open.at(-1);
    // The text between key packages is white space.
    if (element === undefined || this.#open.length === 1) return;
    element.text += text;
    if (element.text.length > MAX_TEXT) throw new XmlRefusal("broken_xml");
  }

  #close(): void {
    const element = this.#open.pop();
    if (element === undefined || this.#open.length === 0) return;
    if (this.#open.length > 1) return void this.#open.at(-1)?.children.push(element);
    this.#elements = 1;
    this.#take(element);
  }
}

function nameOf(local: string): string {
  return NAMES.get(local.toLowerCase()) ?? local;
}

/** The first descendant along a path of names. */
function findElement(
  element: XmlElement | undefined,
  ...path: readonly string[]
): XmlElement | undefined {
  let found = element;
  for (const name of path) found = found?.children.find((child) => child.name === name);
  return found;
}

/** The trimmed text of a descendant; "" if there is none. */
function elementText(element: XmlElement | undefined, ...path: readonly string[]): string {
  return findElement(element, ...path)?.text.trim() ?? "";
}
