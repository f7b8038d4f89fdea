// Answers of the desk as lines for a terminal.

import { renderUnicodeCompact } from "uqr";
import type { DeskDone, ShownCredential, ShownLock, ShownPairing } from "../host/desk_answer.ts";
import type { Factor } from "../radius/facts/factors.ts";
import { escapeControlCharacters } from "../platform/control_characters.ts";
import type { OwedWrite } from "../scim/ports.ts";

/** Names come from logins and files; a terminal must not obey them. */
export function printable(text: string): string {
  return escapeControlCharacters(text);
}

/** What an answer says, line by line. */
export function answerText(answer: DeskDone): string {
  const { did, notes, pairings, preferred, more = 0, invitation, lock, credentials, made, owed } = answer;
  return [
    `${printable(did)}\n`,
    ...pairings === undefined || pairings.length === 0 ? [] : ["\n", pairingTable(pairings)],
    ...more > 0 ? [`  and ${more} more; name a user to see theirs\n`] : [],
    ...preferred === undefined || preferred === null ? [] : [`\nPreferred: ${preferred}\n`],
    ...invitation === undefined ? [] : [invitationText(invitation)],
    ...lock === undefined ? [] : ["\n", lockText(lock)],
    ...credentials === undefined || credentials.length === 0 ? [] : ["\n", credentialTable(credentials)],
    ...owed === undefined || owed.length === 0 ? [] : ["\n", owedTable(owed)],
    ...made === undefined ? [] : [madeText(made)],
    ...notes.map((note) => `\nNote: ${printable(note)}\n`),
  ].join("");
}

const DETAILS: Readonly<Record<Factor, (pairing: ShownPairing) => string>> = {
  device: ({ totpLength = 0 }) => totpLength === 0 ? "no passcodes" : `${totpLength}-digit passcodes`,
  sms: ({ number = "" }) => number,
  voice: ({ number = "" }) => number,
  totp: () => "6-digit passcodes",
};

function pairingTable(pairings: readonly ShownPairing[]): string {
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

function lockText(
  { inRow, total, locks, lockedUntilMs, hardLocked, pushesLeft, sendsLeft }: ShownLock,
): string {
  return table([
    ["failures in a row", String(inRow)],
    ["failures since a success", String(total)],
    ["locks", String(locks)],
    [
      "locked until",
      hardLocked
        ? "an administrator unlocks"
        : lockedUntilMs === 0
        ? "never locked"
        : timeText(lockedUntilMs),
    ],
    ["approvals may be asked", pushesLeft ? "yes" : "no, for now"],
    ["texts and calls may be sent", sendsLeft ? "yes" : "no, for now"],
  ]);
}

function invitationText({ link, deadlineMs }: { link: string; deadlineMs: number }): string {
  // Right on a dark terminal; on a light one it is inverted, which phones read as well.
  const code = renderUnicodeCompact(link, { border: 2 });
  return `\n${printable(link)}\n\n${code}\n\nIt is good until ${timeText(deadlineMs)}.\n`;
}

function credentialTable(credentials: readonly ShownCredential[]): string {
  const rows = credentials.map(({ name, access, targets, from, createdMs }) => [
    name,
    access,
    targets.join(", "),
    createdMs === null ? `the ${from}` : timeText(createdMs),
  ]);
  return table([["name", "access", "targets", "created"], ...rows]);
}

/** What to do with a credential that was just made. The line to try asks for the password, so that it stands in no history. */
function madeText({ name, password, url }: { name: string; password: string | null; url: string }): string {
  const shown = password === null ? "" : `\n  Password: ${printable(password)}   (shown this once)\n`;
  return `${shown}\nTry it:\n\n  curl -u '${printable(name)}' '${printable(url)}'\n`;
}

/** `nextMs` of `null`: a dead letter. */
function owedTable(owed: readonly OwedWrite[]): string {
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
