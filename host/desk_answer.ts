// What goes over the control socket: a request of an operator's command, and what it is told.

import type { Factor } from "../radius/facts/factors.ts";
import type { RowOutcome } from "../scim/bulk/rows.ts";
import type { BackendInfo, OwedWrite } from "../scim/ports.ts";
import type { JsonValue } from "../scim/resource.ts";

/** One operation with its inputs, as JSON. Which inputs each operation takes stands in the table of the desk. */
export interface DeskRequest {
  readonly op: string;
  readonly [input: string]: JsonValue;
}

/** Why an operation was not done, with what it means. */
export const DESK_REFUSALS = {
  not_a_request: "what arrived is no request of this version",
  bad_input: "an input is not what it should be",
  unknown_pairing: "there is no such pairing",
  taken: "it belongs to another user, or is there already",
  too_many: "a user has as many pairings as are kept",
  not_embedded: "an external second-factor service is configured",
  unknown_client: "no client has that name",
  unknown_credential: "no credential has that name",
  unknown_target: "the settings have no target of that name",
  unknown_job: "nothing of that id is under way",
  target_refused: "the target refused it",
  backend: "a backend could not be read",
  in_settings: "it stands in the settings, which this program does not write",
  busy: "more is asked at once than is worked on",
  too_slow: "the time ran out; the change may have been made",
  too_long: "a request or an answer is longer than is taken",
  failed: "the program or its store failed",
} as const;
export type DeskRefusal = keyof typeof DESK_REFUSALS;

/** A pairing as an operator sees it: a number is masked, and a secret is not there. */
export interface ShownPairing {
  readonly id: string;
  readonly user: string;
  readonly kind: Factor;
  /** Of a text or a call: the masked number. Of a device: the digits of its passcodes, 0 for none. */
  readonly number?: string;
  readonly totpLength?: number;
  /** What its person calls a phone. */
  readonly name?: string;
  readonly createdMs: number;
}

/** What a user has failed, and what follows from it. */
export interface ShownLock {
  readonly user: string;
  readonly locked: boolean;
  readonly inRow: number;
  readonly total: number;
  readonly locks: number;
  /** 0: never locked. */
  readonly lockedUntilMs: number;
  /** Only an administrator unlocks. */
  readonly hardLocked: boolean;
  readonly pushesLeft: boolean;
  readonly sendsLeft: boolean;
}

/** A credential of the identity interface; its password cannot be shown. */
export interface ShownCredential {
  readonly name: string;
  readonly targets: readonly string[];
  readonly access: "read" | "write";
  readonly from: "settings" | "store";
  readonly createdMs: number | null;
}

export interface DeskDone {
  readonly ok: true;
  /** A sentence for a person. */
  readonly did: string;
  /** What the person should know besides. */
  readonly notes: readonly string[];
  readonly pairings?: readonly ShownPairing[];
  readonly preferred?: Factor | null;
  /** Pairings that did not fit in. */
  readonly more?: number;
  /** `link` ends in the invitation itself: every holder of it can pair a phone. */
  readonly invitation?: { readonly link: string; readonly deadlineMs: number };
  readonly lock?: ShownLock;
  readonly credentials?: readonly ShownCredential[];
  /** It goes on; ask for its answer with `job.wait`. */
  readonly job?: { readonly id: string; readonly progress: string };
  /** What became of the rows of an import, in their order. */
  readonly outcomes?: readonly RowOutcome[];
  /** Lines of an export: each one resource as JSON. None at the end. */
  readonly listed?: { readonly id: string; readonly lines: readonly string[]; readonly isEnd: boolean };
  readonly about?: {
    readonly users: number;
    readonly groups: number;
    readonly backends: readonly BackendInfo[];
  };
  /** Oldest first. */
  readonly owed?: readonly OwedWrite[];
  /** A credential that was just made: its password in clear, this once, and an address to try it at. */
  readonly made?: { readonly name: string; readonly password: string | null; readonly url: string };
}

export type DeskAnswer =
  | DeskDone
  | { readonly ok: false; readonly reason: DeskRefusal; readonly message: string };

/** An answer that something was done. */
export function done(
  did: string,
  rest: Omit<DeskDone, "ok" | "did" | "notes"> & { notes?: string[] } = {},
): DeskDone {
  return { ok: true, did, notes: [], ...rest };
}

/** An answer that something was not done. */
export function refused(reason: DeskRefusal, message: string): DeskAnswer {
  return { ok: false, reason, message };
}

/** Whether a value from the socket is an answer. Its insides are those of the same version of this program. */
export function isDeskAnswer(value: unknown): value is DeskAnswer {
  if (typeof value !== "object" || value === null || !("ok" in value)) return false;
  if (value.ok === true) {
    return "did" in value && typeof value.did === "string" && "notes" in value && Array.isArray(value.notes);
  }
  return value.ok === false && "message" in value && typeof value.message === "string" && "reason" in value &&
    typeof value.reason === "string" && Object.hasOwn(DESK_REFUSALS, value.reason);
}
