// Invitations of the embedded second-factor service: the last part of a link that an administrator gives to a user. An
// invitation has 128 bits and is valid once: a link of the console for 24 hours, a mailed one for longer. Viewing it does not use it.

import { MINUTE_MS } from "../../../platform/durations.ts";
import { toBase64Url } from "../../../platform/runtime.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { UnversionedChange } from "../../../platform/write_batch.ts";
import { sourceKey } from "../../../platform/addresses.ts";
import { isUsableFor } from "../../../platform/user_record.ts";
import {
  type MirroredRow,
  prepareChanges,
  type PreparedTableChange,
  type TableChange,
} from "../../../platform/table.ts";
import type { SecondFactorContext } from "./context.ts";
import type {
  InvitationOptions,
  InviteView,
  PhoneResult,
  PreparedInvitation,
  PreparedInvitationUse,
} from "./interfaces.ts";
import { createToken, type DevicePairings, phoneOfToken } from "./pairings.ts";
import { createRateLimit, type RateLimit } from "../../../platform/limit_table.ts";
import {
  byUser,
  CAPS,
  LIFETIMES,
  OPEN,
  type PairingInvitation,
  type PairingRecord,
  refusePhone,
} from "./records.ts";

const INVITATION_OCTETS = 16;
const MAX_CHARACTERS = 64;
const WRONG_PER_MINUTE = 5;
const ATTEMPTS = 3;
/** Invitations of one user that a pairing ends. The size of a commit is limited. */
const MAX_ENDED = 100;

/** Who accepts an invitation. `token` is that of a known phone; `name` is the name of the phone. */
interface Acceptance {
  readonly token: string | null;
  readonly source: string;
  readonly name: string | null;
}

export class PairingInvitations {
  readonly #context: SecondFactorContext;
  readonly #pairings: DevicePairings;
  readonly #wrong: RateLimit;

  constructor(context: SecondFactorContext, pairings: DevicePairings) {
    this.#context = context;
    this.#pairings = pairings;
    const window = { name: "wrong_invitation", count: WRONG_PER_MINUTE, windowMs: MINUTE_MS };
    this.#wrong = createRateLimit(context, window);
  }

  /** @param options.also is committed together with the invitation. */
  async create(
    userName: string,
    { addedBy, isOwn = false, also = [], alsoFor, checks = [], ends = [], onCommitted }: InvitationOptions =
      {},
  ): Promise<{ invitation: string; deadlineMs: number }> {
    const { tables, random, clock, findUserRecord } = this.#context;
    if (tables.invitations.count(OPEN) >= CAPS.invitations) {
      throw new Error(`Cannot create an invitation: ${CAPS.invitations} are open`);
    }
    const invitation = toBase64Url(random.bytes(INVITATION_OCTETS));
    const deadlineMs = clock.nowMs() + LIFETIMES.invitationMs;
    const mutations = [...also, ...alsoFor?.({ invitation, deadlineMs }) ?? []];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { id: recordId, check } = await findUserRecord(userName);
      const added = { ...(addedBy === undefined ? {} : { addedBy }), ...(isOwn ? { isOwn } : {}) };
      const record: PairingInvitation = { userName, recordId, deadlineMs, usedMs: null, ...added };
      const change = tables.invitations.put(this.#digestOf(invitation), record);
      const ending = this.#pairings.endingChanges(ends);
      const additions = { also: [...mutations, ...ending.also], checks: [check, ...checks], onCommitted };
      if (!await tables.commit([change, ...ending.changes], additions)) continue;
      ending.announce();
      return { invitation, deadlineMs };
    }
    throw new Error("Cannot create an invitation: the user changed repeatedly");
  }

  /** See {@link SecondFactorAdmin.prepareInvitation}. */
  prepare(
    userName: string,
    { recordId, lifetimeMs, replaces }: { recordId: string; lifetimeMs: number; replaces: string | null },
  ): PreparedInvitation | null {
    const { tables, random, clock } = this.#context;
    if (tables.invitations.count(OPEN) >= CAPS.invitations) return null;
    const invitation = toBase64Url(random.bytes(INVITATION_OCTETS));
    const id = this.#digestOf(invitation);
    const deadlineMs = clock.nowMs() + lifetimeMs;
    const replaced = replaces === null ? undefined : tables.invitations.get(replaces);
    const changes = [
      tables.invitations.put(id, { userName, recordId, deadlineMs, usedMs: null }),
      ...(replaced === undefined || replaced.value.usedMs !== null
        ? []
        : [tables.invitations.remove(replaced)]),
    ];
    return { invitation, id, deadlineMs, ...prepareChanges(changes) };
  }

  /** See {@link SecondFactorAdmin.isInvitationOpen}. */
  isOpen(id: string): boolean {
    const { tables, clock } = this.#context;
    const record = tables.invitations.get(id)?.value;
    return record !== undefined && record.usedMs === null && record.deadlineMs > clock.nowMs();
  }

  /** See {@link SecondFactorAdmin.prepareInvitationEnd}. */
  prepareEnd(id: string): PreparedTableChange | null {
    const { tables, clock } = this.#context;
    const read = tables.invitations.get(id);
    return read === undefined || !this.isOpen(id)
      ? null
      : prepareChanges([tables.invitations.replace(read, { ...read.value, usedMs: clock.nowMs() })]);
  }

  /** Whether another person than the user made an invitation that is open. @param user canonical */
  hasOpen(user: string): boolean {
    return this.#openFor(user).length > 0;
  }

  /** Ends the open invitations that other persons made, in the commit of a pairing: a reader of a mail must not add a second phone. */
  prepareEnds(user: string): UnversionedChange {
    const changes = this.#endsFor(user);
    return {
      // Without a check, so that an invitation that is used in this moment does not stop the pairing. The use fails, or has happened.
      mutations: changes.map(({ mutation }) => mutation),
      done: () => changes.forEach((change) => void change.reread().catch(() => undefined)),
      undo: () => undefined,
    };
  }

  /** See {@link SecondFactorAdmin.prepareInvitationUse}. */
  async prepareUse(invitation: string, source: string): Promise<PhoneResult<PreparedInvitationUse>> {
    const { tables, clock, findUserRecord } = this.#context;
    const found = await this.#find(invitation, source);
    if (!found.ok) return found;
    const { value: read } = found;
    const record = read.value;
    const user = await findUserRecord(record.userName);
    if (!isUsableFor(record.recordId, user)) return refusePhone("account_changed");
    const used = prepareChanges([tables.invitations.replace(read, { ...record, usedMs: clock.nowMs() })]);
    return {
      ok: true,
      value: {
        ...used,
        checks: [...used.checks, user.check],
        userName: record.userName,
        recordId: user.id,
        addedBy: record.addedBy,
      },
    };
  }

  async view(invitation: string, source: string): Promise<InviteView> {
    const found = await this.#find(invitation, source);
    if (!found.ok) return found;
    const { userName, recordId, deadlineMs } = found.value.value;
    if (!isUsableFor(recordId, await this.#context.findUserRecord(userName))) {
      return { ok: false, reason: "account_changed" };
    }
    return { ok: true, userName, requesterName: this.#context.settings.requesterName, deadlineMs };
  }

  /** Pairs the phone of `token`, or a new one, with the user of the invitation. */
  async accept(
    invitation: string,
    { token, source, name }: Acceptance,
  ): Promise<PhoneResult<{ token: string; pairing: PairingRecord }>> {
    const { tables, clock, phoneEvents, findUserRecord } = this.#context;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const found = await this.#find(invitation, source);
      if (!found.ok) return found;
      const { value: read } = found;
      const { userName, recordId, addedBy } = read.value;
      const user = await findUserRecord(userName);
      if (!isUsableFor(recordId, user)) return refusePhone("account_changed");
      const taken = this.#takePhone(token);
      const { phone } = taken;
      if (this.#pairings.isFull(phone) || tables.phones.size >= CAPS.phones) {
        return refusePhone("too_many_tries");
      }
      const pairing = this.#pairings.draft({
        phone,
        userName,
        recordId: user.id,
        enabled: true,
        name,
        addedBy,
      });
      const others = this.#endsFor(canonicalName(userName), read);
      const committed = await tables.commit([
        tables.invitations.replace(read, { ...read.value, usedMs: clock.nowMs() }),
        taken.change,
        tables.pairings.put(pairing.id, pairing),
      ], {
        checks: [user.check],
        also: others.map(({ mutation }) => mutation),
        onCommitted: (versionstamp) => others.forEach((change) => change.applied(versionstamp)),
      });
      if (!committed) continue;
      phoneEvents.emit(phone);
      return { ok: true, value: { token: taken.token, pairing } };
    }
    return refusePhone("already_used");
  }

  #digestOf(text: string): string {
    return this.#context.vault.digest("embedded invitation", text.slice(0, MAX_CHARACTERS));
  }

  /** The open invitations that other persons made. */
  #openFor(user: string): readonly MirroredRow<PairingInvitation>[] {
    const { tables, clock } = this.#context;
    const nowMs = clock.nowMs();
    return tables.invitations.list(byUser(user))
      .filter(({ value: { deadlineMs, isOwn } }) => isOwn !== true && deadlineMs > nowMs);
  }

  /** @param used the invitation that is used, which ends anyway */
  #endsFor(user: string, used?: MirroredRow<PairingInvitation>): TableChange[] {
    const { tables, clock } = this.#context;
    const usedMs = clock.nowMs();
    return this.#openFor(user).filter(({ id }) => id !== used?.id).slice(0, MAX_ENDED)
      .map((row) => tables.invitations.replace(row, { ...row.value, usedMs }));
  }

  async #find(text: string, source: string): Promise<PhoneResult<MirroredRow<PairingInvitation>>> {
    const read = this.#context.tables.invitations.get(this.#digestOf(text));
    if (read === undefined) {
      // A correct link (128 bits) is never limited, whatever other clients behind the same address did.
      return refusePhone(await this.#wrong.take(sourceKey(source)) ? "unknown_invitation" : "too_many_tries");
    }
    if (read.value.usedMs !== null) return refusePhone("already_used");
    return read.value.deadlineMs > this.#context.clock.nowMs()
      ? { ok: true, value: read }
      : refusePhone("expired");
  }

  /** The phone of the token, or a new one, and the change that removes its deadline. */
  #takePhone(token: string | null): { token: string; phone: string; change: TableChange } {
    const { tables: { phones }, clock } = this.#context;
    const nowMs = clock.nowMs();
    const phone = token === null ? "" : phoneOfToken(this.#context, token);
    const known = phones.get(phone);
    if (token !== null && known !== undefined && (known.value.deadlineMs ?? Infinity) > nowMs) {
      return { token, phone, change: phones.replace(known, { ...known.value, deadlineMs: null }) };
    }
    const fresh = createToken(this.#context);
    return { ...fresh, change: phones.put(fresh.phone, { createdMs: nowMs, deadlineMs: null }) };
  }
}
