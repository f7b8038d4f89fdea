// Types of the target and health API.

import type { BackendHealth } from "../../../scim/backends/guarded_backend.ts";
import type { PushProblemCode } from "../../../upstream/embedded/push/push_exchange.ts";
import type { BackendInfo } from "../../../scim/ports.ts";
import type { PendingWrite, RefreshReport } from "../../../scim/backend_port.ts";
import type { MappingRow } from "../../../scim/schema/resource.ts";

export interface BackendRow extends BackendInfo, BackendHealth {
  /** Its read-only SCIM attributes of users, in the spelling of the mapping. */
  readonly readOnly: readonly string[];
  /** Pending writes and dead letters among the oldest 200. */
  readonly owed: number;
  readonly dead: number;
}

export interface TargetRow {
  readonly name: string;
  /** Whether its users log in. */
  readonly logsIn: boolean;
  readonly users: number;
  readonly groups: number;
  readonly backends: readonly BackendRow[];
}

export interface TargetList {
  readonly nowMs: number;
  readonly items: readonly TargetRow[];
}

export interface RefreshState {
  readonly running: boolean;
  readonly startedMs: number | null;
  readonly read: readonly { readonly backend: string; readonly kind: string; readonly read: number }[];
  readonly report: RefreshReport | null;
  readonly problem: string | null;
}

export interface OneTarget extends TargetRow {
  readonly nowMs: number;
  readonly mapping: readonly MappingRow[];
  /** Of the settings file, without secrets. */
  readonly settings: readonly { readonly name: string; readonly value: string }[];
  readonly owed: readonly PendingWrite[];
  readonly refresh: RefreshState;
}

export interface MappingPreview {
  readonly user: string;
  readonly rows: readonly {
    readonly name: string;
    readonly now: readonly string[];
    readonly then: readonly string[];
  }[];
}

/** A few users of a target, mapped. */
export interface TargetSample {
  readonly users: readonly {
    readonly user: string;
    readonly rows: readonly { readonly name: string; readonly values: readonly string[] }[];
  }[];
}

export const HEALTH_KINDS = [
  "radius",
  "http",
  "certificate",
  "store",
  "node",
  "backend",
  "outbox",
  "first_factor",
  "log_export",
  "alerts",
  "second_factor",
  "push",
  "push_host",
  "telephony",
  "mail",
  "passwords",
  "administrators",
  "unsigned",
  "policy",
  "client_names",
  "shadow",
  "sends",
  "client_sends",
  "failures",
  "locks",
] as const;

/** What push messages need, and why a push service does not accept them. docs/push.md explains each one. */
export type PushNote =
  | "off"
  | "loopback"
  | "needs_https"
  | "no_key"
  | "unused"
  | Exclude<PushProblemCode, "gone" | "paused">;

export interface HealthPart {
  /** `backend:default/ldap` */
  readonly id: string;
  readonly kind: typeof HEALTH_KINDS[number];
  readonly name: string;
  /** `unknown`: not tested yet. `off`: not set up, so that nothing of it works. */
  readonly state: "ok" | "warning" | "bad" | "unknown" | "off";
  readonly lastGoodMs: number | null;
  /** A figure of its kind: milliseconds of the store, days of a certificate, writes owed. */
  readonly figure: number | null;
  /** The limit of a count of the last hour, or the count above which it is a warning. */
  readonly limit?: number;
  /** The message of a problem, or "". Of `unsigned`: `always`, `seen` (such requests came), or `possible`. */
  readonly detail: string;
  /** A problem: nothing is sent, no phone reaches `name`, or the node `name` is silent, has another version, or another time. */
  readonly note?:
    | "not_sent"
    | "mail_off"
    | "passwords_checked"
    | "passwords_unchecked"
    | "any_unchecked"
    | "admins_no_factor"
    | "admins_set_up"
    | "owners_one_key"
    | "mail_waits"
    | "unknown_users"
    | "other_names"
    | "outer_identity"
    | "outer_identity_reply"
    | "shadow"
    | "shadow_no_server"
    | "loopback_url"
    | "node_silent"
    | "node_version"
    | "node_settings"
    | "node_clock";
  /** A client that has this `first_factor` server; "any" while no client is configured. */
  readonly client?: string;
  /** Of `push` and `push_host`. */
  readonly push?: PushNote;
  readonly testable: boolean;
}

export interface HealthReport {
  readonly nowMs: number;
  readonly parts: readonly HealthPart[];
}
