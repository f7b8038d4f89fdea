// Credentials of the identity interface, of the settings and of the store. A password is checked against a memory-hard hash, and what was right is
// remembered for a minute as a keyed hash, so that a request costs no half second.

import type { ScimCredentialSettings } from "../../platform/config/config.ts";
import { createProvenDigests } from "../../platform/failure_limit.ts";
import type { Log } from "../../platform/log.ts";
import { HasherBusy } from "../../platform/password_hasher.ts";
import { equalDigests, type Vault } from "../../platform/vault.ts";
import { ScimRefusal } from "./refusals.ts";
import type { Actor } from "../ports.ts";
import {
  type AddOutcome,
  createCredentialRecords,
  type Credential,
  MAX_PASSWORD_CHARACTERS,
  type RecordsDeps,
  type RevokeOutcome,
} from "./credential_records.ts";
import { createSourceLimit } from "./auth_rate_limit.ts";

export type { AddOutcome, AddProblem, Credential, RevokeOutcome } from "./credential_records.ts";

/** A credential as it is listed; its password cannot be shown. */
export interface ShownCredential extends Credential {
  /** Those of the settings are changed there. */
  readonly from: "settings" | "store";
  /** `null` for one of the settings. */
  readonly createdMs: number | null;
}

export interface Credentials {
  /**
   * Who the name and password belong to, or `null`. At once when they were right within the last minute; else it takes the same time
   * whether the name is known or not.
   *
   * @throws ScimRefusal `too_many_failures`, `busy`, both with Retry-After.
   */
  check(
    given: { readonly name: string; readonly password: string },
    source: string,
  ): Credential | Promise<Credential | null>;
  /** Makes a credential; without a password one of 192 bits is generated. Durable when it resolves, with its audit record. */
  add(
    wanted: Credential & { readonly password?: string },
    actor: Actor,
  ): Promise<AddOutcome>;
  /** All of them, in order of name. */
  list(): Promise<ShownCredential[]>;
  /** Ends a credential: the next request with it is refused. */
  revoke(name: string, actor: Actor): Promise<RevokeOutcome>;
}

export interface CredentialsDeps extends RecordsDeps {
  readonly vault: Vault;
  readonly settings: readonly ScimCredentialSettings[];
  readonly log: Log;
}

const REMEMBERED_MS = 60_000;

interface Given {
  readonly name: string;
  readonly password: string;
  readonly digest: string;
}

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { vault, clock, hasher, log } = deps;
  const records = createCredentialRecords(deps);
  const limit = createSourceLimit(deps);
  const proven = createProvenDigests(deps);
  const digestOf = (name: string, password: string): string =>
    vault.digest("scim credential", `${name}\0${password.normalize("NFC")}`);
  const settings = new Map(
    deps.settings.filter(({ password }) => password !== "")
      .map(({ name, password, targets, access }) => [
        name,
        { credential: { name, targets, access }, digest: digestOf(name, password) },
      ]),
  );
  const remembered = new Map<string, { credential: Credential; digest: string; untilMs: number }>();
  const underWay = new Map<string, Promise<Credential | null>>();
  /** Grows when a credential is made or ended: what was read before may be gone. */
  let changes = 0;

  const recall = (name: string, digest: string): Credential | null => {
    const setting = settings.get(name);
    // A password of the settings is known in clear anyway, so its digest is enough.
    if (setting !== undefined) return equalDigests(setting.digest, digest) ? setting.credential : null;
    const known = remembered.get(name);
    if (known === undefined || clock.nowMs() >= known.untilMs) return null;
    return equalDigests(known.digest, digest) ? known.credential : null;
  };

  const recordOf = (name: string) => settings.has(name) ? Promise.resolve(null) : records.read(name);

  const verify = async ({ name, password, digest }: Given): Promise<Credential | null> => {
    const before = changes;
    const record = await recordOf(name);
    // Too long for any that is stored: the empty one, which no credential has, takes as long and costs less.
    const hashed = password.length > MAX_PASSWORD_CHARACTERS ? "" : password;
    const isRight = await hasher.check(hashed, record?.hash ?? null);
    if (!isRight || record === null) return null;
    // Revoked, or replaced, while the hash was computed.
    if (changes !== before && (await recordOf(name))?.hash.hash !== record.hash.hash) return null;
    const credential: Credential = { name, targets: record.targets, access: record.access };
    remembered.set(name, { credential, digest, untilMs: clock.nowMs() + REMEMBERED_MS });
    return credential;
  };

  /** The same name and password asked for at the same time are checked once. */
  const verifyOnce = (given: Given): Promise<Credential | null> => {
    const running = underWay.get(given.digest);
    if (running !== undefined) return running;
    const started = verify(given).finally(() => underWay.delete(given.digest));
    underWay.set(given.digest, started);
    return started;
  };

  const isSomebody = async (name: string): Promise<boolean> => {
    const kept = await records.read(name);
    return kept !== null || settings.has(name);
  };

  /** @param options.limited answer a wrong credential with 429 instead of 401. */
  const checkInTurn = async (
    given: Given,
    { source, limited }: { source: string; limited: boolean },
  ): Promise<Credential | null> => {
    const caller = { source, name: given.name };
    if (!limited && !proven.has(given.digest)) refuseWhenLimited(limit.waitMs(caller));
    const known = recall(given.name, given.digest);
    if (known !== null) {
      proven.add(given.digest);
      return known;
    }
    const found = await verifyOnce(given).catch((fault: unknown) => {
      throw fault instanceof HasherBusy ? busy(fault.retryAfterS) : fault;
    });
    if (found !== null) proven.add(given.digest);
    else {
      proven.forget(given.digest);
      // A check beyond the limit does not make the limit last longer.
      if (!limited) limit.fail(caller);
      log.warn("a credential of the identity interface was refused", {
        // An unknown name may be a password in the wrong field.
        credential: await isSomebody(given.name) ? given.name : "no such name",
        source,
      });
      if (limited) refuseWhenLimited(limit.waitMs(caller));
    }
    return found;
  };

  return {
    check({ name, password }, source) {
      const given = { name, password, digest: digestOf(name, password) };
      const caller = { source, name };
      const isProven = proven.has(given.digest);
      const waitMs = isProven ? 0 : limit.waitMs(caller);
      const limited = waitMs > 0;
      if (limited && !limit.takeLimitedCheck(source)) refuseWhenLimited(waitMs);
      const known = limited ? null : recall(name, given.digest);
      if (known !== null) {
        if (!isProven) proven.add(given.digest);
        return known;
      }
      const checking = isProven
        ? checkInTurn(given, { source, limited })
        : limit.inTurn(source, () => checkInTurn(given, { source, limited }));
      if (checking === null) throw busy(1);
      return checking;
    },
    async add(wanted, actor) {
      if (settings.has(wanted.name)) return { ok: false, reason: "in_settings" };
      const added = await records.add(wanted, actor);
      changes += 1;
      return added;
    },
    async list() {
      const kept = (await records.list()).filter(({ name }) => !settings.has(name));
      const shown: ShownCredential[] = [
        ...[...settings.values()].map(({ credential }) =>
          ({ ...credential, from: "settings", createdMs: null }) as const
        ),
        ...kept.map(({ name, targets, access, createdMs }) =>
          ({ name, targets, access, createdMs, from: "store" }) as const
        ),
      ];
      return shown.sort((a, b) => a.name < b.name ? -1 : 1);
    },
    async revoke(name, actor) {
      if (settings.has(name)) return "in_settings";
      const outcome = await records.revoke(name, actor);
      // Counted before it is forgotten: a check that is under way looks again.
      changes += 1;
      remembered.delete(name);
      return outcome;
    },
  };
}

function refuseWhenLimited(waitMs: number): void {
  if (waitMs > 0) {
    throw new ScimRefusal("too_many_failures", {
      headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
    });
  }
}

function busy(retryAfterS: number): ScimRefusal {
  return new ScimRefusal("busy", {
    detail: "Too many credentials are being checked at once. Try again in a moment.",
    headers: { "retry-after": String(retryAfterS) },
  });
}
