// What an operation of the desk is made of: its inputs, its work, and the audit record that goes with a change.

import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import type { Learnt } from "../radius/doing/learnt.ts";
import type { Limits } from "../radius/doing/limits.ts";
import type { Pairings } from "../radius/doing/pairings.ts";
import { type AuditEntry, auditEntry } from "../platform/audit.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import type { Credentials } from "../scim/http/credentials.ts";
import type { Bulk } from "../scim/bulk/bulk.ts";
import type { Listing } from "../scim/bulk/listing.ts";
import type { Target } from "../scim/ports.ts";
import type { SecondFactorDesk } from "../upstream/embedded/interfaces.ts";
import { type DeskAnswer, refused } from "./desk_answer.ts";
import type { Inputs, ValuesOf } from "./desk_inputs.ts";
import type { Jobs } from "./desk_jobs.ts";
import type { Shelf } from "./desk_shelf.ts";

export interface DeskDeps {
  readonly config: Pick<Config, "factors" | "http" | "secondFactor">;
  readonly pairings: Pairings;
  readonly limits: Limits;
  readonly learnt: Learnt;
  /** Names of the configured clients. */
  readonly clients: () => readonly string[];
  /** Makes a client unlearn; `learnt.forget` unless given. A running server lowers its gate here as well. */
  readonly forgetClient?: (name: string) => Promise<boolean>;
  /** `null` when an external second-factor service is configured. */
  readonly secondFactorDesk: SecondFactorDesk | null;
  /** Who may use the identity interface. */
  readonly credentials: Credentials;
  /** The targets of the settings. A command without a server opens them when one is asked for. */
  readonly targets: {
    readonly names: readonly string[];
    get(name: string): Target | null | Promise<Target | null>;
  };
  readonly bulk: Bulk;
  readonly store: Store;
  readonly clock: Clock;
  readonly orderedId: () => string;
  /** Receives errors inside an operation; the caller learns only that it failed. */
  readonly log?: Log;
}

/** What an operation works with: what the desk was given, and what outlives a request. */
export interface DeskState extends DeskDeps {
  readonly jobs: Jobs;
  readonly listings: Shelf<Listing>;
}

/** A row of the desk's table: the inputs, and what is done with them. */
export interface Operation {
  /** It does not wait for other operations: what it changes keeps its own order. */
  readonly apart: boolean;
  /** @returns the work to do, or a refusal when an input is not sound. */
  prepare(request: object): ((state: DeskState) => Promise<DeskAnswer>) | DeskAnswer;
}

/** Makes a row whose `run` gets its inputs read and checked. */
export function operation<I extends Inputs>(
  inputs: I,
  run: (state: DeskState, values: ValuesOf<I>) => Promise<DeskAnswer> | DeskAnswer,
  { apart = false }: { apart?: boolean } = {},
): Operation {
  return {
    apart,
    prepare(request) {
      const given = new Map<string, unknown>(Object.entries(request));
      const values: Record<string, unknown> = {};
      for (const [name, input] of Object.entries(inputs)) {
        const read = input.read(given.get(name));
        if (read === null) return refused("bad_input", `Cannot do that: ${input.problem}.`);
        values[name] = read.value;
      }
      const extra = [...given.keys()].some((name) => name !== "op" && !Object.hasOwn(inputs, name));
      if (extra) {
        return refused("not_a_request", "Cannot do that: the request has an input that it does not take.");
      }
      return async (state) => await run(state, values as ValuesOf<I>);
    },
  };
}

/** The audit event of a command. `what` holds no secret, and numbers are masked. */
export function commandEntry(what: Omit<AuditEntry, "actor">): Mutation {
  return auditEntry({ ...what, actor: "command" });
}
