// Invitations of the embedded second-factor service: the last part of a link that an administrator hands to a person.
// 128 bits, good once, for 24 hours; looking at one uses nothing up.

import { toBase64Url } from "../../runtime.ts";
import { sourceKey } from "../../source_key.ts";
import type { Mutation } from "../../store.ts";
import type { House } from "./house.ts";
import type { InviteView, PhoneResult } from "./interfaces.ts";
import { type Pairings, refused } from "./pairings.ts";
import { createToken, phoneOfToken } from "./phrase_book.ts";
import { createRateLimit } from "./rate_limit.ts";
import { CAPS, type InvitationRow, type InvitingPhone, LIFETIMES, type PairingRow } from "./rows.ts";
import { OPEN } from "./shelves.ts";
import { isUsableFor } from "../../user_record.ts";
import type { Change } from "./table.ts";

export interface Invitations {
  /** @param options.also written in the same commit. */
  create(
    userName: string,
    options?: { also?: readonly Mutation[]; addedBy?: InvitingPhone | undefined },
  ): Promise<{ invitation: string; deadlineMs: number }>;
  look(invitation: string, source: string): Promise<InviteView>;
  /** Pairs the phone of `token`, or a new one, with the invitation's user. `name`: what it shall be called. */
  accept(
    invitation: string,
    options: { token: string | null; source: string; name: string | null },
  ): Promise<PhoneResult<{ token: string; pairing: PairingRow }>>;
}

const INVITATION_OCTETS = 16;
const MAX_CHARACTERS = 64;
const WRONG_PER_MINUTE = 5;
const MINUTE_MS = 60_000;
const ATTEMPTS = 3;

export function createInvitations(house: House, pairings: Pairings): Invitations {
  const { shelves, clock, random, vault, settings } = house;
  const { invitations, phones } = shelves;
  const wrong = createRateLimit(() => clock.nowMs(), { count: WRONG_PER_MINUTE, windowMs: MINUTE_MS });
  const digestOf = (text: string): string =>
    vault.digest("embedded invitation", text.slice(0, MAX_CHARACTERS));

  const find = (text: string, source: string): PhoneResult<{ digest: string; row: InvitationRow }> => {
    const key = sourceKey(source);
    const digest = digestOf(text);
    const row = invitations.get(digest);
    // A correct link (128 bits) passes whatever others behind the same address did.
    if (row === undefined) {
      if (!wrong.take(key)) return refused("too_many_tries");
      return refused("unknown_invitation");
    }
    if (row.usedMs !== null) return refused("already_used");
    return row.deadlineMs > clock.nowMs() ? { ok: true, value: { digest, row } } : refused("expired");
  };

  /** The phone that the token stands for, or a new one, with the change that makes it stay. */
  const takePhone = (token: string | null): { token: string; phone: string; change: Change } => {
    const nowMs = clock.nowMs();
    const phone = token === null ? "" : phoneOfToken(house, token);
    const known = phones.get(phone);
    if (token !== null && known !== undefined && (known.deadlineMs ?? Infinity) > nowMs) {
      return { token, phone, change: phones.change(phone, { ...known, deadlineMs: null }) };
    }
    const fresh = createToken(house);
    return { ...fresh, change: phones.add(fresh.phone, { createdMs: nowMs, deadlineMs: null }) };
  };

  return {
    async create(userName, { addedBy, ...options } = {}) {
      if (invitations.count(OPEN) >= CAPS.invitations) {
        throw new Error(`Cannot make an invitation: ${CAPS.invitations} are open`);
      }
      const invitation = toBase64Url(random.bytes(INVITATION_OCTETS));
      const deadlineMs = clock.nowMs() + LIFETIMES.invitationMs;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { id: recordId, check } = await house.findUserRecord(userName);
        const row: InvitationRow = {
          userName,
          recordId,
          deadlineMs,
          usedMs: null,
          ...(addedBy === undefined ? {} : { addedBy }),
        };
        const changes = [invitations.add(digestOf(invitation), row)];
        if (await shelves.commit(changes, { ...options, checks: [check] })) return { invitation, deadlineMs };
      }
      throw new Error("Cannot make an invitation: the user was changed all the time");
    },
    async look(invitation, source) {
      const found = find(invitation, source);
      if (!found.ok) return found;
      const { userName, recordId, deadlineMs } = found.value.row;
      if (!isUsableFor(recordId, await house.findUserRecord(userName))) {
        return { ok: false, reason: "account_changed" };
      }
      return { ok: true, userName, requesterName: settings.requesterName, deadlineMs };
    },
    async accept(invitation, { token, source, name }) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const found = find(invitation, source);
        if (!found.ok) return found;
        const { digest, row } = found.value;
        const record = await house.findUserRecord(row.userName);
        if (!isUsableFor(row.recordId, record)) return refused("account_changed");
        const taken = takePhone(token);
        if (pairings.isFull(taken.phone) || phones.size() >= CAPS.phones) return refused("too_many_tries");
        const { phone } = taken;
        const pairing = pairings.draft({
          phone,
          userName: row.userName,
          recordId: record.id,
          enabled: true,
          name,
          addedBy: row.addedBy,
        });
        const used = invitations.change(digest, { ...row, usedMs: clock.nowMs() });
        const changes = [used, taken.change, shelves.pairings.add(pairing.id, pairing)];
        if (!await shelves.commit(changes, { checks: [record.check] })) continue;
        house.phoneListeners.notify(taken.phone);
        return { ok: true, value: { token: taken.token, pairing } };
      }
      return refused("already_used");
    },
  };
}
