// Whose page it is: the person behind a name, and the users that a paired phone stands for.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Check } from "../../../platform/store.ts";
import type { DeviceService } from "../../../upstream/embedded/second_factor/interfaces.ts";
import { type People, targetOf } from "../users/user_deps.ts";
import { displayNameOf } from "../users/user_views.ts";

export interface Person {
  /** As the directory spells it. */
  readonly userName: string;
  readonly canonical: string;
  readonly displayName: string | null;
  /** When the directory's record was made; `null` for a name that it does not have. */
  readonly createdMs: number | null;
  /** The directory record: tells a person from a later one of the same name, and from the same one before they left. */
  readonly recordId: string;
  /** Holds until the user leaves the directory. */
  readonly check: Check;
}

/** A user that a phone is paired for. */
export interface PhoneUser {
  readonly userName: string;
  readonly pairingId: string;
}

/** The person of a name; `null` for one who is deactivated or deleted. A name that the directory never had may have factors. */
export async function personOf(people: People, name: string): Promise<Person | null> {
  const canonical = canonicalName(name);
  const { id: recordId, status, createdMs, check } = await people.findUserRecord(canonical);
  if (status === "inactive" || status === "deleted") return null;
  const record = { canonical, createdMs, recordId, check };
  const stored = await targetOf(people, undefined).directory.read("user", canonical);
  if (stored === null) return { ...record, userName: name.normalize("NFC"), displayName: null };
  const { content } = stored;
  if (content.kind !== "user") return null;
  const displayName = displayNameOf(content);
  return {
    ...record,
    userName: content.name,
    displayName: displayName === "" ? null : displayName,
  };
}

/** Whether a phone's pairing is the user's and counts, for the gateway too: what was revoked or is not confirmed opens nothing. */
export function isPhoneOf({ pairings }: People, canonical: string, pairingId: string): boolean {
  return pairings.usable(canonical).some(({ kind, id }) => kind === "device" && id === pairingId);
}

/** The users of a phone's token, each once. */
export async function phoneUsers(
  { people, phone }: { people: People; phone: DeviceService | null },
  token: string,
): Promise<PhoneUser[]> {
  const view = token === "" ? null : await phone?.view(token) ?? null;
  const users = new Map<string, PhoneUser>();
  for (const { userName, pairingId, status } of view?.pairings ?? []) {
    const canonical = canonicalName(userName);
    if (status !== "enabled" || users.has(canonical) || !isPhoneOf(people, canonical, pairingId)) continue;
    users.set(canonical, { userName, pairingId });
  }
  return [...users.values()];
}
