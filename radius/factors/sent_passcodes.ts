// Passcodes that were sent at the end of a rejected login: in append mode, `password,sms` is answered with a Reject, and the next login of the user
// at the same client, `password,<passcode>`, is accepted. What is stored has only keyed hashes, and no name.

import { RecordVersions } from "../../platform/cluster/change_log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";

/** Whose passcode: the canonical name of the user, and the name of the client. */
interface PasscodeOwner {
  readonly user: string;
  readonly client: string;
}

/** The value under ["sent_passcode", owner]. */
export interface KeptPasscode {
  readonly factor: "sms" | "voice";
  /** The pairing whose number got the passcode. */
  readonly pairing: string;
  readonly digest: string;
  /** The digest is bound to it. */
  readonly secretId: string;
  readonly expiresMs: number;
  /** The login that it was sent for, by its ordered id. Absent in records of earlier versions. */
  readonly conversation?: string;
}

interface SentPasscodesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly vault: Pick<Vault, "digest">;
}

/** A change of a passcode that is in effect in memory. `undo` reverses it if its commit fails. */
interface PasscodeChange {
  readonly mutation: Mutation;
  undo(): void;
}

const STORE_KEY = "sent_passcode";
/** Ended passcodes are removed from memory when there are so many. */
const MAX_KEPT = 10_000;

export class SentPasscodes {
  readonly #deps: SentPasscodesDeps;
  readonly #versions: RecordVersions;
  /** By the hash of the owner. */
  readonly #kept = new Map<string, KeptPasscode>();

  constructor(deps: SentPasscodesDeps) {
    this.#deps = deps;
    this.#versions = new RecordVersions(deps.store);
    deps.store.follow([STORE_KEY], (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#deps.store.load([STORE_KEY], (entry) => this.#apply(entry));
  }

  /** The passcode that was sent last, if it is still valid. */
  of(owner: PasscodeOwner): KeptPasscode | null {
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(this.#hashOf(owner));
    return kept !== undefined && kept.expiresMs > this.#deps.clock.nowMs() ? kept : null;
  }

  /** Keeps a passcode for the next login. It replaces the one before. */
  prepareKeep(owner: PasscodeOwner, passcode: KeptPasscode): PasscodeChange {
    const hash = this.#hashOf(owner);
    const key = [STORE_KEY, hash];
    const before = this.#kept.get(hash);
    const nowMs = this.#deps.clock.nowMs();
    if (this.#kept.size >= MAX_KEPT) this.#removeEnded(nowMs);
    this.#kept.set(hash, passcode);
    return {
      mutation: {
        ...{ type: "set", key, value: passcode, expireInMs: Math.max(1, passcode.expiresMs - nowMs) },
        basis: this.#versions.overwriteOf(key),
      },
      undo: () => this.#restore(hash, before),
    };
  }

  /** Uses up the passcode at once, so that no second login uses it meanwhile. */
  prepareUse(owner: PasscodeOwner): PasscodeChange {
    const hash = this.#hashOf(owner);
    const key = [STORE_KEY, hash];
    const before = this.#kept.get(hash);
    this.#kept.delete(hash);
    return {
      mutation: { type: "delete", key, basis: this.#versions.basisOf(key) },
      undo: () => this.#restore(hash, before),
    };
  }

  #restore(hash: string, before: KeptPasscode | undefined): void {
    if (before === undefined) this.#kept.delete(hash);
    else this.#kept.set(hash, before);
  }

  #removeEnded(nowMs: number): void {
    for (const [hash, { expiresMs }] of this.#kept) if (expiresMs <= nowMs) this.#kept.delete(hash);
  }

  #apply({ key, value, versionstamp }: StoreEntry<unknown>): void {
    const [, hash] = key;
    if (typeof hash !== "string") return;
    this.#versions.apply(key, versionstamp);
    if (value === null) return void this.#kept.delete(hash);
    const passcode = value as KeptPasscode;
    if (typeof passcode.digest !== "string" || typeof passcode.expiresMs !== "number") {
      throw new TypeError("it has no digest and no end, so this passcode is not accepted");
    }
    this.#kept.set(hash, passcode);
  }

  /** Unambiguous: the length precedes the name of the client. */
  #hashOf({ user, client }: PasscodeOwner): string {
    return this.#deps.vault.digest("owner of a sent passcode", `${client.length} ${client} ${user}`);
  }
}
