// Whose page it is: the person behind a name, and the users that a paired phone stands for.

import { canonicalName } from "../../../canonical_name.ts";
import type { PhoneService } from "../../../upstream/embedded/interfaces.ts";
import { type People, targetOf } from "../people/people.ts";
import { displayNameOf } from "../people/user_views.ts";

export interface Person {
  /** As the directory spells it. */
  readonly userName: string;
  readonly canonical: string;
  readonly displayName: string | null;
  /** When the directory's record was made; `null` for a name that it does not have. Tells a person from a later one of the same name. */
  readonly bornMs: number | null;
}

/** A user that a phone is paired for. */
export interface PhoneUser {
  readonly userName: string;
  readonly pairingId: string;
}

/** The person of a name; `null` for one who is deactivated. A name that the directory lacks may have factors all the same. */
export async function personOf(people: People, name: string): Promise<Person | null> {
  const canonical = canonicalName(name);
  const stored = await targetOf(people, undefined).directory.read("user", canonical);
  if (stored === null) return { userName: name.normalize("NFC"), canonical, displayName: null, bornMs: null };
  const { content, createdMs } = stored;
  if (content.kind !== "user" || !content.active) return null;
  const displayName = displayNameOf(content);
  return {
    userName: content.name,
    canonical,
    displayName: displayName === "" ? null : displayName,
    bornMs: createdMs,
  };
}

/** Whether a phone's pairing is the user's, for the gateway too: what was revoked there opens nothing. */
export function isPhoneOf({ pairings }: People, canonical: string, pairingId: string): boolean {
  return pairings.of(canonical).some(({ kind, id }) => kind === "device" && id === pairingId);
}

/** The users of a phone's token, each once. */
export async function phoneUsers(
  { people, phone }: { people: People; phone: PhoneService | null },
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
