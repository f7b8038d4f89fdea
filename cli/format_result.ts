// Results of commands as lines for a terminal.

import { renderUnicodeCompact } from "uqr";
import type { OneTarget } from "../console/api/targets/target_types.ts";
import type { LockView } from "../console/api/users/user_types.ts";
import { escapeControlCharacters } from "../platform/control_characters.ts";
import type { Factor } from "../radius/flow/factors.ts";
import type { ShownCredential } from "../scim/http/credentials.ts";

/** A pairing as an operator sees it: a number is masked, and a secret is not there. */
export interface ShownPairing {
  readonly id: string;
  readonly user: string;
  readonly kind: Factor;
  readonly name?: string;
  readonly number?: string;
  readonly totpLength?: number;
  readonly createdMs: number;
}

/** Names come from logins and files; a terminal must not obey them. */
export function printable(text: string): string {
  return escapeControlCharacters(text);
}

/** What a command did: a sentence, further blocks, and notes. */
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

/** A name as a JSON string, so that its blanks can be seen. */
export function quoted(name: string): string {
  return JSON.stringify(name);
}

const DETAILS: Readonly<Record<Factor, (pairing: ShownPairing) => string>> = {
  device: ({ totpLength = 0 }) => totpLength === 0 ? "no passcodes" : `${totpLength}-digit passcodes`,
  sms: ({ number = "" }) => number,
  voice: ({ number = "" }) => number,
  totp: () => "6-digit passcodes",
};

export function pairingTable(pairings: readonly ShownPairing[]): string {
  const rows = pairings.map((pairing) => [
    pairing.id,
    pairing.user,
    pairing.kind,
    pairing.name ?? "",
    DETAILS[pairing.kind](pairing),
    timeText(pairing.createdMs),
  ]);
  return table([["id", "user", "kind", "name", "what", "created"], ...rows]);
}

export function lockTable(
  { inRow, failures, locks, lockedUntilMs, hardLocked, pushesBlockedUntilMs, sendsBlockedUntilMs }: LockView,
): string {
  return table([
    ["failures in a row", String(inRow)],
    ["failures since a success", String(failures)],
    ["locks", String(locks)],
    [
      "locked until",
      hardLocked
        ? "an administrator unlocks"
        : lockedUntilMs === 0
        ? "never locked"
        : timeText(lockedUntilMs),
    ],
    ["approvals may be asked", pushesBlockedUntilMs === null ? "yes" : "no, for now"],
    ["texts and calls may be sent", sendsBlockedUntilMs === null ? "yes" : "no, for now"],
  ]);
}

export function invitationText({ link, deadlineMs }: { link: string; deadlineMs: number }): string {
  // Right on a dark terminal; on a light one it is inverted, which phones read as well.
  const code = renderUnicodeCompact(link, { border: 2 });
  return `${printable(link)}\n\n${code}\n\nIt is good until ${timeText(deadlineMs)}.\n`;
}

export function credentialTable(credentials: readonly ShownCredential[]): string {
  const rows = credentials.map(({ name, access, targets, from, createdMs }) => [
    name,
    access,
    targets.join(", "),
    createdMs === null ? `the ${from}` : timeText(createdMs),
  ]);
  return table([["name", "access", "targets", "created"], ...rows]);
}

/** What to do with a credential that was just made. The line to try asks for the password, so that it stands in no history. */
export function madeText(
  { name, password, url }: { name: string; password: string | null; url: string },
): string {
  const shown = password === null ? "" : `  Password: ${printable(password)}   (shown this once)\n\n`;
  return `${shown}Try it:\n\n  curl -u '${printable(name)}' '${printable(url)}'\n`;
}

/** `nextMs` of `null`: a dead letter. */
export function owedTable(owed: OneTarget["owed"]): string {
  const rows = owed.map(({ backend, kind, name, operation, attempts, sinceMs, nextMs, why }) => [
    backend,
    `${operation} ${kind}`,
    name,
    timeText(sinceMs),
    String(attempts),
    nextMs === null ? "dead letter" : timeText(nextMs),
    why ?? "",
  ]);
  return table([["backend", "what", "name", "since", "attempts", "next attempt", "why"], ...rows]);
}

/** Cells in columns, two blanks apart and two in front. */
function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, at) => widths[at] = Math.max(widths[at] ?? 0, cell.length));
  return cells.map((row) => `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd()}\n`)
    .join("");
}

function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
