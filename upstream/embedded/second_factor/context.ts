// What the modules of the embedded second-factor service share: store, vault, clock, randomness, tables and events.

import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { FindUserRecord } from "../../../platform/user_record.ts";
import type { Vault } from "../../../platform/vault.ts";
import { EventEmitter } from "../event_emitter.ts";
import { CAPS } from "./records.ts";
import { createTables, type SecondFactorTables } from "./tables.ts";

/** RFC 6238. It is a dependency, because this folder imports no code of the gateway. */
export interface Totp {
  /** The passcode of a time step. */
  at(seed: Uint8Array, stepNumber: number, digits: number): string;
  /** The time step of a typed passcode, above `lastStep`, or `null`. */
  match(
    attempt: {
      seed: Uint8Array;
      code: string;
      nowMs: number;
      digits: number;
      lastStep: number;
      toleranceSteps: number;
    },
  ): number | null;
}

export interface EmbeddedSecondFactorSettings {
  readonly requesterName: string;
  /** Whether an approval requires the two digits of the login prompt, if there is a prompt. */
  readonly numberMatching: boolean;
  /** How long a request can be decided. */
  readonly requestTtlMs: number;
  /** How many phrases one source may request in a minute; default 5. */
  readonly phrasesPerMinute?: number;
}

export interface SecondFactorDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly totp: Totp;
  readonly settings: EmbeddedSecondFactorSettings;
  /** Finds the directory record of a user name. */
  readonly findUserRecord: FindUserRecord;
}

export interface SecondFactorContext extends SecondFactorDeps {
  readonly tables: SecondFactorTables;
  /** The topics are phones, by digest. An event means that the view of the phone may have changed. */
  readonly phoneEvents: EventEmitter;
}

export function createContext(deps: SecondFactorDeps): SecondFactorContext {
  return {
    ...deps,
    tables: createTables(deps.store, () => deps.clock.nowMs()),
    phoneEvents: new EventEmitter({ maxPerTopic: CAPS.watchersPerPhone }),
  };
}
