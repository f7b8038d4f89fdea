// Pairings of the embedded second-factor service: made by an invitation or by a phrase typed at a login, confirmed on
// the phone, ended from either side. A phone's token ends with its last pairing.

import { createSealedSeed, currentPasscode, type House, matchPasscode } from "./house.ts";
import { auditEntry } from "../../platform/audit.ts";
import type { PhoneOrigin, PhoneRefusal, PhoneResult } from "./interfaces.ts";
import { timeOrderedUuid } from "./identifiers.ts";
import type { Requests } from "./requests.ts";
import { CAPS, type InvitingPhone, pairingAt, type PairingRow } from "./rows.ts";
import { byPhone } from "./shelves.ts";
import { isUsableFor } from "../../user_record.ts";
import type { Change } from "./table.ts";

export interface Pairings {
  /** The pairing as it counts now. */
  find(id: string): PairingRow | undefined;
  /** Pairings of a phone that are enabled or wait for its approval, oldest first. */
  ofPhone(phone: string): PairingRow[];
  isFull(phone: string): boolean;
  /** A new row for `phone`, not yet committed. */
  draft(
    options: {
      phone: string;
      userName: string;
      recordId: string;
      enabled: boolean;
      name?: string | null;
      addedBy?: InvitingPhone | undefined;
    },
  ): PairingRow;
  /** Approves (`name`: what the phone shall be called) or denies a pairing that a typed phrase asked for. */
  decide(
    phone: string,
    pairingId: string,
    decision: { approve: boolean; name: string | null; origin: PhoneOrigin },
  ): Promise<PhoneResult<null>>;
  passcode(phone: string, pairingId: string): PhoneResult<{ code: string; validUntilMs: number }>;
  /** Uses up the passcode that the phone shows; `false` for a wrong or used one. */
  usePasscode(pairingId: string, code: string): Promise<boolean>;
  /** Ends a pairing, what waits for it, and its phone's token if it was the last; the row as it was, or `null`. */
  end(pairingId: string): Promise<PairingRow | null>;
}

const ATTEMPTS = 5;

export function createPairings(house: House, requests: Requests): Pairings {
  const { shelves, clock, random } = house;
  const { pairings, phones } = shelves;

  const find = (id: string): PairingRow | undefined => {
    const row = pairings.get(id);
    return row && pairingAt(row, clock.nowMs());
  };

  const ofPhone = (phone: string): PairingRow[] =>
    pairings.under(byPhone(phone)).map((row) => pairingAt(row, clock.nowMs())).filter(isLive);

  /** The phone's token lives on without a deadline once a pairing is enabled. */
  const keepPhone = (phone: string): Change[] => {
    const row = phones.get(phone);
    return row === undefined || row.deadlineMs === null
      ? []
      : [phones.change(phone, { ...row, deadlineMs: null })];
  };

  const endOnce = async (row: PairingRow): Promise<boolean> => {
    const ended: PairingRow = { ...row, state: "ended", sealedSeed: null, modifiedMs: clock.nowMs() };
    const isLast = ofPhone(row.phone).every(({ id }) => id === row.id);
    const waiting = requests.endingChanges(row.id);
    const phone = isLast && phones.get(row.phone) !== undefined ? [phones.change(row.phone, null)] : [];
    if (!await shelves.commit([pairings.change(row.id, ended), ...waiting.changes, ...phone])) return false;
    waiting.announce();
    house.phoneListeners.notify(row.phone);
    return true;
  };

  return {
    find,
    ofPhone,
    isFull: (phone) => ofPhone(phone).length >= CAPS.pairingsPerPhone,
    draft({ phone, userName, recordId, enabled, name = null, addedBy }) {
      const nowMs = clock.nowMs();
      const id = timeOrderedUuid(nowMs, random);
      return {
        id,
        userName,
        recordId,
        phone,
        ...(name === null ? {} : { name }),
        ...(addedBy === undefined ? {} : { addedBy }),
        state: enabled ? "enabled" : "asks_approval",
        sealedSeed: enabled ? createSealedSeed(house, id) : null,
        lastStep: -1,
        createdMs: nowMs,
        modifiedMs: nowMs,
      };
    },
    async decide(phone, pairingId, { approve, name, origin }) {
      const row = find(pairingId);
      if (row === undefined || row.phone !== phone) return refused("unknown_request");
      if (row.state !== "asks_approval") return refused("already_decided");
      const record = await house.findUserRecord(row.userName);
      if (approve && !isUsableFor(row.recordId, record)) return refused("account_changed");
      const decided: PairingRow = {
        ...row,
        ...(name === null ? {} : { name }),
        state: approve ? "enabled" : "denied",
        sealedSeed: approve ? createSealedSeed(house, row.id) : null,
        modifiedMs: clock.nowMs(),
      };
      const changes = [pairings.change(row.id, decided), ...approve ? keepPhone(phone) : []];
      const checks = approve ? [record.check] : [];
      const also = [auditEntry({
        action: approve ? "pairing.approve" : "pairing.deny",
        actor: `user:${row.userName}`,
        source: origin.source,
        browser: origin.browser,
        object: `user:${row.userName}`,
        factor: "device",
        pairing: row.id,
        phone: decided.name,
        how: "phrase",
      })];
      if (!await shelves.commit(changes, { checks, also })) return refused("already_decided");
      house.phoneListeners.notify(phone);
      return { ok: true, value: null };
    },
    passcode(phone, pairingId) {
      const row = find(pairingId);
      const passcode = row?.phone === phone ? currentPasscode(house, row) : null;
      return passcode === null ? refused("unknown_request") : { ok: true, value: passcode };
    },
    async usePasscode(pairingId, code) {
      const row = find(pairingId);
      const step = row === undefined ? null : matchPasscode(house, row, code);
      if (row === undefined || step === null) return false;
      return await shelves.commit([pairings.change(row.id, { ...row, lastStep: step })]);
    },
    async end(pairingId) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const row = find(pairingId);
        if (row === undefined || !isLive(row)) return null;
        if (await endOnce(row)) return row;
      }
      throw new Error("Cannot end a pairing: it kept changing");
    },
  };
}

function isLive({ state }: PairingRow): boolean {
  return state === "enabled" || state === "asks_approval";
}

/** A refusal for the phone page. */
export function refused<T>(reason: PhoneRefusal): PhoneResult<T> {
  return { ok: false, reason };
}
