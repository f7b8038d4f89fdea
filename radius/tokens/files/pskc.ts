// Seed files in PSKC, the Portable Symmetric Key Container (RFC 6030): plain, or encrypted with a pre-shared key or a password.

import { openPskcKeys, type PskcKeys, type PskcValue } from "./pskc_keys.ts";
import {
  checkSeedRow,
  EMPTY_SEED_ROW,
  type RawSeedRow,
  type SeedFileOptions,
  type SeedFileProblem,
  type SeedRow,
  type SeedRowProblem,
} from "./seed_rows.ts";
import { elementText, findElement, readXml, type XmlElement, XmlRefusal } from "./xml_elements.ts";

const NAMESPACE = "urn:ietf:params:xml:ns:keyprov:pskc";
/** RFC 6030 §10.2. Older files have other prefixes before the name. */
const ALGORITHM = /(?:^|[:#])(hotp|totp)$/i;

/** privacyIDEA writes all names in lower case. */
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
      ...{ pause, names: NAMES },
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
