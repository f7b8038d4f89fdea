// Pairings of the embedded second-factor service: created by an invitation, or by a phrase typed at a login and
// confirmed on the phone; ended from either side. The token of a phone ends with its last pairing.

import { auditEntry } from "../../../platform/audit.ts";
import { timeOrderedUuid } from "../../../platform/runtime.ts";
import { isUsableFor } from "../../../platform/user_record.ts";
import type { TableChange } from "../table.ts";
import { byPhone, type SecondFactorContext } from "./context.ts";
import { createSealedSeed, currentPasscode, type DevicePasscode, matchPasscode } from "./device_passcode.ts";
import type { PhoneOrigin, PhoneRefusal, PhoneResult } from "./interfaces.ts";
import { CAPS, type InvitingPhone, pairingAt, type PairingRecord } from "./records.ts";
import type { ApprovalRequests } from "./requests.ts";

/** A new pairing. `phone` is the digest of the phone's token. */
interface NewPairing {
  readonly phone: string;
  readonly userName: string;
  readonly recordId: string;
  readonly enabled: boolean;
  /** The name of the phone. */
  readonly name?: string | null;
  readonly addedBy?: InvitingPhone | undefined;
}

interface PairingDecision {
  readonly approve: boolean;
  /** The name of the phone. */
  readonly name: string | null;
  readonly origin: PhoneOrigin;
}

const ATTEMPTS = 5;

export class DevicePairings {
  readonly #context: SecondFactorContext;
  readonly #requests: ApprovalRequests;

  constructor(context: SecondFactorContext, requests: ApprovalRequests) {
    this.#context = context;
    this.#requests = requests;
  }

  get #table() {
    return this.#context.tables.pairings;
  }

  /** The pairing in its current state. */
  find(id: string): PairingRecord | undefined {
    const pairing = this.#table.get(id);
    return pairing && pairingAt(pairing, this.#context.clock.nowMs());
  }

  /** The pairings of a phone that are enabled or wait for its approval, oldest first. */
  ofPhone(phone: string): PairingRecord[] {
    const nowMs = this.#context.clock.nowMs();
    return this.#table.list(byPhone(phone)).map((pairing) => pairingAt(pairing, nowMs)).filter(isLive);
  }

  isFull(phone: string): boolean {
    return this.ofPhone(phone).length >= CAPS.pairingsPerPhone;
  }

  /** A new pairing that is not committed. */
  draft({ phone, userName, recordId, enabled, name = null, addedBy }: NewPairing): PairingRecord {
    const { clock, random } = this.#context;
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
      sealedSeed: enabled ? createSealedSeed(this.#context, id) : null,
      lastStep: -1,
      createdMs: nowMs,
      modifiedMs: nowMs,
    };
  }

  /** Approves or denies a pairing after its phrase was typed at a login. */
  async decide(phone: string, pairingId: string, decision: PairingDecision): Promise<PhoneResult<null>> {
    const { tables, phoneEvents, findUserRecord, clock } = this.#context;
    const { approve, name } = decision;
    const pairing = this.find(pairingId);
    if (pairing === undefined || pairing.phone !== phone) return refusePhone("unknown_request");
    if (pairing.state !== "asks_approval") return refusePhone("already_decided");
    const record = await findUserRecord(pairing.userName);
    if (approve && !isUsableFor(pairing.recordId, record)) return refusePhone("account_changed");
    const decided: PairingRecord = {
      ...pairing,
      ...(name === null ? {} : { name }),
      state: approve ? "enabled" : "denied",
      sealedSeed: approve ? createSealedSeed(this.#context, pairing.id) : null,
      modifiedMs: clock.nowMs(),
    };
    const committed = await tables.commit(
      [this.#table.change(pairing.id, decided), ...approve ? this.#keepPhone(phone) : []],
      { checks: approve ? [record.check] : [], also: [auditDecision(decided, decision)] },
    );
    if (!committed) return refusePhone("already_decided");
    phoneEvents.emit(phone);
    return { ok: true, value: null };
  }

  passcode(phone: string, pairingId: string): PhoneResult<DevicePasscode> {
    const pairing = this.find(pairingId);
    const passcode = pairing?.phone === phone ? currentPasscode(this.#context, pairing) : null;
    return passcode === null ? refusePhone("unknown_request") : { ok: true, value: passcode };
  }

  /** Uses the passcode that the phone shows; `false` for a wrong or used one. */
  async usePasscode(pairingId: string, code: string): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const pairing = this.find(pairingId);
      const step = pairing === undefined ? null : matchPasscode(this.#context, pairing, code);
      if (pairing === undefined || step === null) return false;
      const used = this.#table.change(pairing.id, { ...pairing, lastStep: step });
      if (await this.#context.tables.commit([used])) return true;
    }
    return false;
  }

  /** Ends a pairing, its pending requests, and with the last pairing the phone's token. Returns the ended pairing. */
  async end(pairingId: string): Promise<PairingRecord | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const pairing = this.find(pairingId);
      if (pairing === undefined || !isLive(pairing)) return null;
      if (await this.#endOnce(pairing)) return pairing;
    }
    throw new Error("Cannot end a pairing: it changed repeatedly");
  }

  async #endOnce(pairing: PairingRecord): Promise<boolean> {
    const { tables, phoneEvents, clock } = this.#context;
    const { id, phone } = pairing;
    const ended: PairingRecord = {
      ...pairing,
      state: "ended",
      sealedSeed: null,
      modifiedMs: clock.nowMs(),
    };
    const isLast = this.ofPhone(phone).every((other) => other.id === id);
    const token = isLast && tables.phones.get(phone) !== undefined ? [tables.phones.change(phone, null)] : [];
    const pending = this.#requests.endingChanges(id);
    if (!await tables.commit([this.#table.change(id, ended), ...pending.changes, ...token])) return false;
    pending.announce();
    phoneEvents.emit(phone);
    return true;
  }

  /** With an enabled pairing, the phone's token no longer has a deadline. */
  #keepPhone(phone: string): TableChange[] {
    const { phones } = this.#context.tables;
    const record = phones.get(phone);
    return record === undefined || record.deadlineMs === null
      ? []
      : [phones.change(phone, { ...record, deadlineMs: null })];
  }
}

function auditDecision({ id, userName, name }: PairingRecord, { approve, origin }: PairingDecision) {
  return auditEntry({
    action: approve ? "pairing.approve" : "pairing.deny",
    actor: `user:${userName}`,
    source: origin.source,
    browser: origin.browser,
    object: `user:${userName}`,
    factor: "device",
    pairing: id,
    phone: name,
    how: "phrase",
  });
}

function isLive({ state }: PairingRecord): boolean {
  return state === "enabled" || state === "asks_approval";
}

/** A refusal for the phone page. */
export function refusePhone<T>(reason: PhoneRefusal): PhoneResult<T> {
  return { ok: false, reason };
}
