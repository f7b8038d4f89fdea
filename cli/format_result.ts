// Results of commands as lines for a terminal.

import type { OneTarget } from "../console/api/targets/target_types.ts";
import type { LockView } from "../console/api/users/user_types.ts";
import { escapeControlCharacters } from "../platform/control_characters.ts";
import type { Factor } from "../radius/flow/context.ts";
import type { ListedCredential } from "../scim/http/credentials.ts";

/** The output of a command, and its exit code: 0 for success, 1 for failure, 2 for wrong usage. */
export interface CommandOutcome {
  readonly out: string;
  readonly err: string;
  readonly exitCode: 0 | 1 | 2;
}

/** A pairing with a masked number and without a secret. */
export interface ListedPairing {
  readonly id: string;
  readonly user: string;
  readonly kind: Factor;
  readonly name?: string;
  readonly number?: string;
  readonly totpLength?: number;
  readonly createdMs: number;
}

/** Escapes control characters: names come from logins and files, and could contain terminal sequences. */
export function printable(text: string): string {
  return escapeControlCharacters(text);
}

/** The result of a command: a sentence, tables, and notes. */
export function resultText(
  did: string,
  { blocks = [], notes = [] }: { blocks?: readonly string[]; notes?: readonly string[] } = {},
): string {
  return [
    `${printable(did)}\n`,
    ...blocks.filter((block) => block !== "").map((block) => `\n${block}`),
    ...notes.map((note) => `\nNote: ${printable(note)}\n`),
  ].join("");
}

/** "1 user", "2,000 users". */
export function counted(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`;
}

const UNITS = ["octets", "KiB", "MiB", "GiB", "TiB"] as const;

/** A size in the largest unit that gives at least 1. */
export function sizeText(octets: number): string {
  let value = octets;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** A name as a JSON string, so that spaces at its ends are visible. */
export function quoted(name: string): string {
  return JSON.stringify(name);
}

/** The first `max` names, and the number of the others. */
export function firstOf(names: readonly string[], max: number): string {
  const more = names.length - max;
  return `${names.slice(0, max).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const DETAILS: Readonly<Record<Factor, (pairing: ListedPairing) => string>> = {
  device: ({ totpLength = 0 }) => totpLength === 0 ? "no passcodes" : `${totpLength}-digit passcodes`,
  sms: ({ number = "" }) => number,
  voice: ({ number = "" }) => number,
  totp: () => "authenticator app",
};

/** A pairing in the middle of a sentence. */
export const FACTOR_TEXTS: Readonly<Record<Factor, (pairing: ListedPairing) => string>> = {
  device: ({ id, name, totpLength = 0 }) =>
    `the device ${quoted(id)}${name === undefined ? "" : ` (${quoted(name)})`} with ${
      totpLength === 0 ? "no passcodes" : `${totpLength}-digit passcodes`
    }`,
  sms: ({ number = "" }) => `text messages to ${number}`,
  voice: ({ number = "" }) => `phone calls to ${number}`,
  totp: () => "an authenticator app",
};

export function pairingTable(pairings: readonly ListedPairing[]): string {
  const rows = pairings.map((pairing) => [
    pairing.id,
    pairing.user,
    pairing.kind,
    pairing.name ?? "",
    DETAILS[pairing.kind](pairing),
    utcTimeText(pairing.createdMs),
  ]);
  return table([["ID", "user", "kind", "name", "details", "created"], ...rows]);
}

export function lockTable(
  { inRow, failures, locks, lockedUntilMs, hardLocked, pushesBlockedUntilMs, sendsBlockedUntilMs }: LockView,
): string {
  return table([
    ["failures in a row", String(inRow)],
    ["failures since the last success", String(failures)],
    ["locks", String(locks)],
    [
      "locked until",
      hardLocked
        ? "an administrator unlocks the user"
        : lockedUntilMs === 0
        ? "never locked"
        : utcTimeText(lockedUntilMs),
    ],
    ["push requests allowed", pushesBlockedUntilMs === null ? "yes" : "not now"],
    ["texts and calls allowed", sendsBlockedUntilMs === null ? "yes" : "not now"],
  ]);
}

export function credentialTable(credentials: readonly ListedCredential[]): string {
  const rows = credentials.map(({ name, access, targets, from, createdMs }) => [
    name,
    access,
    targets.join(", "),
    createdMs === null ? `the ${from}` : utcTimeText(createdMs),
  ]);
  return table([["name", "access", "targets", "created"], ...rows]);
}

/** Without a password in its arguments, curl asks for it. So the shell history does not contain the password. */
export function newCredentialText(
  { name, password, url }: { name: string; password: string | null; url: string },
): string {
  const shown = password === null ? "" : `  Password: ${printable(password)}   (shown only once)\n\n`;
  return `${shown}Test it:\n\n  curl -u '${printable(name)}' '${printable(url)}'\n`;
}

export function pendingWritesTable(writes: OneTarget["owed"]): string {
  const rows = writes.map(({ backend, kind, name, operation, attempts, sinceMs, nextMs, why }) => [
    backend,
    `${operation} ${kind}`,
    name,
    utcTimeText(sinceMs),
    String(attempts),
    nextMs === null ? "failed" : utcTimeText(nextMs),
    why ?? "",
  ]);
  return table([["backend", "write", "name", "since", "attempts", "next attempt", "error"], ...rows]);
}

/** Aligns cells in columns, with two spaces between them and before them. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, at) => widths[at] = Math.max(widths[at] ?? 0, cell.length));
  return cells.map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`)
    .join("");
}

/** A moment (milliseconds since the epoch), to the minute. */
export function utcTimeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
