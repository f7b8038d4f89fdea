// Pairings of the embedded second-factor service: created by an invitation, or by a phrase typed at a login and
// confirmed on the phone; ended from either side. The token of a phone ends with its last pairing.

import { auditEntry } from "../../../platform/audit.ts";
import { timeOrderedUuid } from "../../../platform/runtime.ts";
import type { Mutation } from "../../../platform/store.ts";
import { isUsableFor } from "../../../platform/user_record.ts";
import type { MirroredRow, TableChange } from "../../../platform/table.ts";
import { announceDenial, type SecondFactorContext } from "./context.ts";
import {
  createSealedSeed,
  createSeed,
  currentPasscode,
  type DevicePasscode,
  matchPasscode,
  PASSCODE_PARAMETERS,
  type PasscodeSeed,
} from "./device_passcode.ts";
import type { InvitingPhone, PhoneOrigin, PhoneResult } from "./interfaces.ts";
import { byPhone, CAPS, deniedPairing, pairingAt, type PairingRecord, refusePhone } from "./records.ts";
import { createRateLimit, type RateLimit } from "../../../platform/rate_limit.ts";
import type { ApprovalRequests } from "./requests.ts";

/** A new pairing. `phone` is the digest of the phone's token. */
interface NewPairing {
  readonly phone: string;
  readonly userName: string;
  readonly recordId: string;
  readonly enabled: boolean;
  readonly name?: string | null;
  readonly addedBy?: InvitingPhone | undefined;
}

interface PairingDecision {
  readonly approve: boolean;
  readonly name: string | null;
  readonly origin: PhoneOrigin;
}

const ATTEMPTS = 5;
/** A phone needs one. Each further one replaces it, for a browser that lost its data. */
const SEEDS_PER_HOUR = { count: 5, windowMs: 3600_000 } as const;

export class DevicePairings {
  readonly #context: SecondFactorContext;
  readonly #requests: ApprovalRequests;
  readonly #seedLimit: RateLimit;

  constructor(context: SecondFactorContext, requests: ApprovalRequests) {
    this.#context = context;
    this.#requests = requests;
    this.#seedLimit = createRateLimit(context, { name: "passcode_seed", ...SEEDS_PER_HOUR });
  }

  get #table() {
    return this.#context.tables.pairings;
  }

  /** The pairing in its current state. */
  find(id: string): PairingRecord | undefined {
    return this.#read(id)?.value;
  }

  /** The same, with its version. */
  #read(id: string): MirroredRow<PairingRecord> | undefined {
    const row = this.#table.get(id);
    return row && { ...row, value: pairingAt(row.value, this.#context.clock.nowMs()) };
  }

  /** The pairings of a phone that are enabled or wait for its approval, oldest first. */
  ofPhone(phone: string): PairingRecord[] {
    const nowMs = this.#context.clock.nowMs();
    return this.#table.list(byPhone(phone)).map(({ value }) => pairingAt(value, nowMs)).filter(isLive);
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
    const read = this.#read(pairingId);
    if (read === undefined || read.value.phone !== phone) return refusePhone("unknown_request");
    const pairing = read.value;
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
      [this.#table.replace(read, decided), ...approve ? this.#keepPhone(phone) : []],
      { checks: approve ? [record.check] : [], also: [auditDecision(decided, decision)] },
    );
    if (!committed) return refusePhone("already_decided");
    phoneEvents.emit(phone);
    announceDenial(this.#context, deniedPairing(decided));
    return { ok: true, value: null };
  }

  passcode(phone: string, pairingId: string): PhoneResult<DevicePasscode> {
    const pairing = this.find(pairingId);
    const passcode = pairing?.phone === phone ? currentPasscode(this.#context, pairing) : null;
    return passcode === null ? refusePhone("unknown_request") : { ok: true, value: passcode };
  }

  /**
   * A new seed for the passcodes that the phone computes itself. It replaces the seed before, so that no seed leaves the server
   * twice.
   */
  async issueSeed(
    phone: string,
    pairingId: string,
    origin: PhoneOrigin,
  ): Promise<PhoneResult<PasscodeSeed>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const read = this.#read(pairingId);
      if (read?.value.phone !== phone || read.value.state !== "enabled") {
        return refusePhone("unknown_request");
      }
      if (attempt === 0 && !await this.#seedLimit.take(pairingId)) return refusePhone("too_many_tries");
      const { seed, sealed } = createSeed(this.#context, pairingId);
      const seedMs = this.#context.clock.nowMs();
      const change = this.#table.replace(read, { ...read.value, sealedSeed: sealed, seedMs });
      if (await this.#context.tables.commit([change], { also: [auditSeed(read.value, origin)] })) {
        this.#context.phoneEvents.emit(phone);
        return { ok: true, value: { seed, seedMs, ...PASSCODE_PARAMETERS } };
      }
    }
    return refusePhone("already_decided");
  }

  /** Uses the passcode that the phone shows; `false` for a wrong or used one. */
  async usePasscode(pairingId: string, code: string): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const read = this.#read(pairingId);
      const step = read === undefined ? null : matchPasscode(this.#context, read.value, code);
      if (read === undefined || step === null) return false;
      const used = this.#table.replace(read, { ...read.value, lastStep: step });
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
    const { changes, also, announce } = this.endingChanges([pairing.id]);
    if (!await this.#context.tables.commit(changes, { also })) return false;
    announce();
    return true;
  }

  /** Changes that end pairings as {@link end} does. Call `announce` after their commit. */
  endingChanges(ids: readonly string[]): {
    readonly changes: readonly TableChange[];
    readonly also: readonly Mutation[];
    readonly announce: () => void;
  } {
    const { phoneEvents, clock, tables: { subscriptions } } = this.#context;
    const modifiedMs = clock.nowMs();
    const rows = ids.flatMap((id) => this.#read(id) ?? []).filter(({ value }) => isLive(value));
    const live = rows.map(({ value }) => value);
    const ended = rows.map((row) =>
      this.#table.replace(row, { ...row.value, state: "ended", sealedSeed: null, modifiedMs })
    );
    // Read before the commit: the subscription of a phone can end in it, and its last message follows.
    const pending = live.map(({ id, phone }) => ({
      ...this.#requests.endingChanges(id),
      subscription: subscriptions.get(phone)?.value,
    }));
    const lastOf = [...new Set(live.map(({ phone }) => phone))].filter((phone) =>
      this.ofPhone(phone).every((one) => live.some(({ id }) => id === one.id))
    );
    return {
      changes: [
        ...ended,
        ...pending.flatMap(({ changes }) => changes),
        ...lastOf.flatMap((phone) => this.#phoneRemoval(phone)),
      ],
      also: pending.flatMap(({ also }) => also),
      announce: () => {
        pending.forEach(({ announce, subscription }) => announce({ subscription }));
        for (const { phone } of live) phoneEvents.emit(phone);
      },
    };
  }

  /** The token, the last use and the push subscription of a phone end together. Only the token is checked: the others are not written without it. */
  #phoneRemoval(phone: string): TableChange[] {
    const { phones, devices, subscriptions } = this.#context.tables;
    const row = phones.get(phone);
    const token = row === undefined ? [] : [phones.remove(row)];
    return [...token, devices.erase(phone), subscriptions.erase(phone)];
  }

  /** With an enabled pairing, the phone's token no longer has a deadline. */
  #keepPhone(phone: string): TableChange[] {
    const { phones } = this.#context.tables;
    const row = phones.get(phone);
    return row === undefined || row.value.deadlineMs === null
      ? []
      : [phones.replace(row, { ...row.value, deadlineMs: null })];
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

function auditSeed({ id, userName }: PairingRecord, origin: PhoneOrigin) {
  return auditEntry({
    action: "pairing.passcode_seed",
    actor: `user:${userName}`,
    source: origin.source,
    browser: origin.browser,
    object: `user:${userName}`,
    factor: "device",
    pairing: id,
  });
}

function isLive({ state }: PairingRecord): boolean {
  return state === "enabled" || state === "asks_approval";
}
