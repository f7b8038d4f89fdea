// The phones of a user who has several: their order, the ones that a prompt offers, and the one that the user chose.

import type { Facts, PhoneChoiceFacts } from "../flow/context.ts";
import type { OfferedPhone } from "../flow/prompts.ts";
import type { Appended } from "../protocol/login_input.ts";
import type { DevicePairingRow, Pairing } from "./pairing.ts";

/** A prompt offers at most this many phones; a reply must not be much larger than its request. */
const MAX_OFFERED = 5;
const MAX_NAME_CHARACTERS = 32;

/** The phones among pairings: the one that approved a login last comes first, then the one that was paired last. */
export function orderPhones(pairings: readonly Pairing[]): readonly DevicePairingRow[] {
  const phones = pairings.filter((pairing) => pairing.kind === "device");
  return phones.length < 2
    ? phones
    : phones.sort((a, b) =>
      (b.approvedMs ?? 0) - (a.approvedMs ?? 0) || b.createdMs - a.createdMs || (a.id < b.id ? -1 : 1)
    );
}

interface AskedConversation {
  readonly at: string;
  readonly numbers: readonly string[];
  readonly pairingId: string | null;
}

/** The phones of a login. Users with one phone, and a phone that was revoked meanwhile, have no choice. */
export function phoneFacts(
  pairings: readonly Pairing[],
  { at, numbers, pairingId: asked }: AskedConversation,
  answer: string,
): PhoneChoiceFacts {
  const phones = orderPhones(pairings);
  const isAtDevice = at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
  return {
    several: phones.length > 1,
    other: isAtDevice ? chosenPhone(answer, { entries: numbers, asked, phones }) : null,
    get entries() {
      return phoneEntries(phones, asked);
    },
  };
}

/** The record of a phone that approved a login; `null` if the order of the phones does not change. */
export function approvedPhone(
  pairings: readonly Pairing[],
  { id, nowMs }: { id: string; nowMs: number },
): DevicePairingRow | null {
  const phones = orderPhones(pairings);
  const approved = phones.find((phone) => phone.id === id);
  const isFirst = phones[0] === approved && approved?.approvedMs !== undefined;
  return approved === undefined || phones.length < 2 || isFirst ? null : { ...approved, approvedMs: nowMs };
}

/** "id name" of each phone, so that the digits of a prompt keep their meaning. @param asked the phone that has the request */
function phoneEntries(phones: readonly DevicePairingRow[], asked: string | null): string[] {
  const first = phones.slice(0, MAX_OFFERED);
  const current = phones.find(({ id }) => id === asked);
  if (current !== undefined && !first.includes(current)) first[MAX_OFFERED - 1] = current;
  return first.map(({ id, name }) => `${id} ${shortName(name ?? "")}`);
}

function shortName(name: string): string {
  const characters = [...name];
  return characters.length <= MAX_NAME_CHARACTERS
    ? name
    : `${characters.slice(0, MAX_NAME_CHARACTERS - 1).join("")}…`;
}

/** The phones of a prompt. An id has no blank, so the first one ends it. */
export function offeredPhones(entries: readonly string[], asked: string | null): OfferedPhone[] {
  return entries.map((entry, at) => {
    const [id = ""] = entry.split(" ", 1);
    const digit = String(at + 1);
    return { digit, name: entry.slice(id.length + 1) || `phone ${digit}`, isAsked: id === asked };
  });
}

/** The id of the phone that an answer chooses; `null` if it chooses none, or the one that has the request. */
function chosenPhone(
  answer: string,
  { entries, asked, phones }: {
    entries: readonly string[];
    asked: string | null;
    phones: readonly DevicePairingRow[];
  },
): string | null {
  if (!/^[1-9]$/.test(answer)) return null;
  const [id = ""] = entries[Number(answer) - 1]?.split(" ", 1) ?? [];
  return id !== asked && phones.some((phone) => phone.id === id) ? id : null;
}

/**
 * The pairing that the number behind an appended word chooses (`push2`, `sms1`), in the order of the account page.
 *
 * @param pairings all of the user: also one that cannot be used has its place on that page
 */
export function appendedChoice(
  appended: Appended | null,
  { pairings, usable }: { pairings: readonly Pairing[]; usable: readonly Pairing[] },
): Facts["appendedChoice"] {
  if (appended === null || !("nth" in appended) || appended.nth === 0) return "first";
  const wanted = appended.kind === "push" ? "device" : appended.kind === "sms" ? "sms" : "voice";
  const chosen = pairings.filter(({ kind }) => kind === wanted)[appended.nth - 1];
  return chosen !== undefined && usable.some(({ id }) => id === chosen.id) ? chosen : "missing";
}
