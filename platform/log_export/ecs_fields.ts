// The fields of an exported record, with the names of the Elastic Common Schema (ECS 8.17). A row per field: the documentation is made from them.
// Fields that ECS does not have are below `countersign`. Each action has a category, a type and an outcome.

import { isIP } from "node:net";
import { auditActor, auditObjects, UNKNOWN_ACTOR } from "../audit.ts";
import { auditIdNode } from "../log_blocks.ts";
import { AUDIT_ACTIONS } from "../audit_actions.ts";
import type { RecordKind } from "./destination_choices.ts";
import type { StoredRecord } from "./record_reader.ts";

/** What the history has about a login. */
export interface ExportedLogin {
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface Observer {
  readonly hostName: string;
  readonly version: string;
}

/** What a field is made from. */
interface RecordFacts {
  readonly id: string;
  readonly record: StoredRecord["value"];
  readonly action: string;
  readonly kind: RecordKind;
  readonly event: EcsEvent;
  readonly atMs: number;
  readonly actor: string;
  readonly objects: readonly string[];
  readonly login: ExportedLogin | null;
  readonly observer: Observer;
}

type FieldValue = string | number | boolean | readonly string[];

interface FieldRow {
  /** For the documentation. */
  readonly meaning: string;
  readonly of: (facts: RecordFacts) => FieldValue | undefined;
}

const ECS_VERSION = "8.17.0";
const MAX_FIELD_CHARACTERS = 2000;
const MAX_LIST = 100;
/** Details with a field of their own. */
const OWN_FIELDS = new Set([
  ...["atMs", "action", "actor", "source", "object", "objects", "user", "group", "before", "after"],
  ...["client", "caller", "conversation", "factor", "because", "policy", "target", "count", "phone"],
]);

/** In the order in which they are written. */
export const ECS_FIELDS: Readonly<Record<string, FieldRow>> = {
  "@timestamp": {
    meaning: "When it happened (RFC 3339, UTC)",
    of: ({ atMs }) => new Date(atMs).toISOString(),
  },
  "ecs.version": { meaning: "The version of the schema", of: () => ECS_VERSION },
  "event.id": { meaning: "The id of the audit record. A repetition has the same id", of: ({ id }) => id },
  "event.kind": { meaning: "`event`, or `alert` for what needs attention", of: ({ event }) => event.kind },
  "event.category": { meaning: "See the table of actions", of: ({ event }) => event.category },
  "event.type": { meaning: "See the table of actions", of: ({ event }) => event.type },
  "event.action": {
    meaning: "The action of the audit log, such as `login.accepted`",
    of: ({ action }) => action,
  },
  "event.outcome": { meaning: "`success`, `failure` or `unknown`", of: ({ event }) => event.outcome },
  "event.reason": {
    meaning: "Why it was refused, such as `phone` or `locked`. If absent: `row=…` of `countersign.details`",
    of: ({ record }) => listText(record.because),
  },
  "event.module": { meaning: "`countersign`", of: () => "countersign" },
  "event.dataset": {
    meaning: "`countersign.logins`, `countersign.audit`, `countersign.drops` or `countersign.alerts`",
    of: ({ kind }) => `countersign.${kind}`,
  },
  "event.start": {
    meaning: "When the login began",
    of: ({ login }) => login === null ? undefined : isoOf(login.startedMs),
  },
  "event.end": {
    meaning: "When the login ended",
    of: ({ login }) => login === null ? undefined : isoOf(login.endedMs),
  },
  "event.duration": {
    meaning: "How long the login took (nanoseconds)",
    of: ({ login }) => login === null ? undefined : Math.max(0, login.endedMs - login.startedMs) * 1_000_000,
  },
  "message": { meaning: "One sentence for people", of: messageOf },
  "user.name": {
    meaning: "Who acted: the user of a login, or the administrator or user who made the change",
    of: ({ kind, actor, objects }) => kind === "logins" ? nameIn(objects, "user") : actingUser(actor),
  },
  "user.target.name": {
    meaning: "The user who was changed",
    of: ({ kind, objects }) => kind === "logins" ? undefined : nameIn(objects, "user"),
  },
  "group.name": { meaning: "The group that was changed", of: ({ objects }) => nameIn(objects, "group") },
  "source.address": {
    meaning: "Where the request came from: the Calling-Station-Id of a login, or the address of the browser",
    of: (facts) => originOf(facts),
  },
  "source.ip": { meaning: "The same, if it is an IP address", of: (facts) => ipOf(originOf(facts)) },
  "client.address": {
    meaning: "The RADIUS client (VPN gateway) that sent the request of a login",
    of: ({ kind, record }) => kind === "logins" ? textOf(record.source) : undefined,
  },
  "client.ip": {
    meaning: "The same, if it is an IP address",
    of: ({ kind, record }) => kind === "logins" ? ipOf(textOf(record.source)) : undefined,
  },
  "observer.vendor": { meaning: "`Countersign`", of: () => "Countersign" },
  "observer.product": { meaning: "`Countersign`", of: () => "Countersign" },
  "observer.type": { meaning: "`radius`", of: () => "radius" },
  "observer.version": {
    meaning: "The version of the node that sends the record",
    of: ({ observer }) => observer.version,
  },
  "observer.hostname": {
    meaning: "The host of the node that sends the record",
    of: ({ observer }) => observer.hostName,
  },
  "related.user": { meaning: "All names of users", of: relatedUsers },
  "related.ip": { meaning: "All addresses", of: relatedAddresses },
  "countersign.actor": {
    meaning: "Who acted, as in the audit log",
    of: ({ actor }) => actor === "" ? undefined : actor,
  },
  "countersign.object": {
    meaning: "What was changed, as in the audit log: `user:ada`, `client:vpn`",
    of: ({ objects }) => objects.length === 0 ? undefined : objects,
  },
  "countersign.client": {
    meaning: "The name of the RADIUS client",
    of: ({ record }) => textOf(record.client),
  },
  "countersign.conversation": {
    meaning: "The id of the login",
    of: ({ record }) => textOf(record.conversation),
  },
  "countersign.factor": { meaning: "The second factor", of: ({ record }) => textOf(record.factor) },
  "countersign.phone": { meaning: "The name of the phone", of: ({ record }) => textOf(record.phone) },
  "countersign.policy": { meaning: "The policy that applied", of: ({ record }) => textOf(record.policy) },
  "countersign.target": { meaning: "The provisioning target", of: ({ record }) => textOf(record.target) },
  "countersign.count": {
    meaning: "How many, for records that count",
    of: ({ record }) => numberOf(record.count),
  },
  "countersign.node": {
    meaning: "The run of the node that wrote the record",
    of: ({ id }) => auditIdNode(id),
  },
  "countersign.before": {
    meaning: "The values before a change, as JSON",
    of: ({ record }) => jsonText(record.before),
  },
  "countersign.after": {
    meaning: "The values after a change, as JSON",
    of: ({ record }) => jsonText(record.after),
  },
  "countersign.details": { meaning: "Other details of the record, each as `name=value`", of: detailsOf },
};

/** An exported record: values by the names of their fields. */
export type EcsRecord = Readonly<Record<string, FieldValue>>;

/** The fields of a record. Values that a record does not have are absent. */
export function toEcsRecord(
  { id, value }: StoredRecord,
  { login = null, observer }: { login?: ExportedLogin | null; observer: Observer },
): EcsRecord {
  const action = textOf(value.action) ?? "unknown";
  const facts: RecordFacts = {
    ...{ id, record: value, action, login, observer },
    kind: kindOf(action),
    event: ecsEventOf(action),
    atMs: momentOf(value.atMs),
    actor: auditActor(value),
    objects: auditObjects(value).map(clean),
  };
  const fields: Record<string, FieldValue> = {};
  for (const [name, { of }] of Object.entries(ECS_FIELDS)) {
    const field = of(facts);
    if (field !== undefined) fields[name] = field;
  }
  return fields;
}

/** A record as one object: `event.id` becomes a member of `event`. */
export function nestFields(fields: EcsRecord): Record<string, unknown> {
  const nested: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const parts = name.split(".");
    const last = parts.pop() ?? name;
    let level = nested;
    for (const part of parts) level = (level[part] ??= {}) as Record<string, unknown>;
    level[last] = value;
  }
  return nested;
}

function messageOf({ action, actor, objects, record }: RecordFacts): string {
  const about = objects.length === 0 ? "" : ` ${objects.slice(0, 3).join(", ")}`;
  const by = actor === "" ? "" : ` by ${actor}`;
  const because = listText(record.because);
  return clean(`${action}${about}${by}${because === undefined ? "" : ` (${because})`}`);
}

/** The place of the user, which a RADIUS client reports, or the address of a browser. */
function originOf({ kind, record }: RecordFacts): string | undefined {
  return textOf(kind === "logins" ? record.caller : record.source);
}

/** Programs and services are no users. */
function actingUser(actor: string): string | undefined {
  if (actor.startsWith("user:")) return actor.slice("user:".length) || undefined;
  return actor === "" || actor.includes(":") || SERVICES.has(actor) ? undefined : actor;
}

const SERVICES = new Set(["radius", "command", UNKNOWN_ACTOR, "gateway"]);

function nameIn(objects: readonly string[], kind: string): string | undefined {
  return objects.find((object) => object.startsWith(`${kind}:`))?.slice(kind.length + 1) || undefined;
}

function relatedUsers({ objects, actor }: RecordFacts): FieldValue | undefined {
  const named = objects.flatMap((object) => object.startsWith("user:") ? [object.slice("user:".length)] : []);
  const users = [...new Set([...named, ...actingUser(actor) === undefined ? [] : [actingUser(actor) ?? ""]])];
  return users.length === 0 ? undefined : users.slice(0, MAX_LIST);
}

function relatedAddresses({ record }: RecordFacts): FieldValue | undefined {
  const sources = Array.isArray(record.sources) ? record.sources : [];
  const found = [record.source, record.caller, ...sources].flatMap((one) => ipOf(textOf(one)) ?? []);
  return found.length === 0 ? undefined : [...new Set(found)].slice(0, MAX_LIST);
}

function detailsOf({ record }: RecordFacts): FieldValue | undefined {
  const details = Object.entries(record).flatMap(([name, value]) => {
    const text = OWN_FIELDS.has(name) ? undefined : listText(value);
    return text === undefined ? [] : [clean(`${name}=${text}`)];
  });
  return details.length === 0 ? undefined : details.slice(0, MAX_LIST);
}

function isoOf(atMs: number): string | undefined {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15 ? new Date(atMs).toISOString() : undefined;
}

function momentOf(value: unknown): number {
  return typeof value === "number" && Math.abs(value) < 8.64e15 ? value : 0;
}

function ipOf(address: string | undefined): string | undefined {
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? clean(value) : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function listText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : clean(value.slice(0, MAX_LIST).join(" "));
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return textOf(value) ?? (typeof value === "object" ? jsonText(value) : undefined);
}

function jsonText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return clean(typeof value === "string" ? value : JSON.stringify(value) ?? "") || undefined;
}

/** Whole characters, so that every receiver can read it as UTF-8. Databases refuse U+0000 in a text: one record would stop the export. */
function clean(text: string): string {
  return text.slice(0, MAX_FIELD_CHARACTERS).replaceAll("\0", "\ufffd").toWellFormed();
}

/** Allowed values of `event.category` that are used. */
type Category = "authentication" | "configuration" | "iam" | "network" | "session";
/** Allowed values of `event.type` that are used. */
type EventType =
  | "access"
  | "admin"
  | "change"
  | "creation"
  | "deletion"
  | "denied"
  | "end"
  | "group"
  | "info"
  | "start"
  | "user";

interface EcsEvent {
  readonly kind: "event" | "alert";
  readonly category: readonly Category[];
  readonly type: readonly EventType[];
  readonly outcome: "success" | "failure" | "unknown";
}

/** The category of an action by its first word, and the type that belongs to it. */
const SUBJECTS: Readonly<
  Record<string, { readonly category: readonly Category[]; readonly about?: EventType }>
> = {
  administrator: { category: ["iam"], about: "admin" },
  approval: { category: ["authentication"] },
  bypass: { category: ["iam"], about: "user" },
  caller: { category: ["iam"], about: "user" },
  enrolment: { category: ["iam"], about: "user" },
  factor: { category: ["iam"], about: "user" },
  group: { category: ["iam"], about: "group" },
  hardware_token: { category: ["iam"], about: "user" },
  invitation: { category: ["iam"], about: "user" },
  login: { category: ["authentication"] },
  packets: { category: ["network"] },
  pairing: { category: ["iam"], about: "user" },
  password: { category: ["iam"], about: "user" },
  preference: { category: ["iam"], about: "user" },
  recovery_codes: { category: ["iam"], about: "user" },
  session: { category: ["session"] },
  token: { category: ["iam"], about: "admin" },
  user: { category: ["iam"], about: "user" },
  vpn_session: { category: ["session"] },
};

/** The type of an action by a part of its verb. */
const VERBS: readonly (readonly [RegExp, EventType])[] = [
  [/^(?:add|create|created|invite|issue|issued|import|make|.*_add)$/, "creation"],
  [
    /^(?:delete|deleted|purged|remove|revoke|delete_data|forget|forget_devices|.*_remove|.*_withdraw)$/,
    "deletion",
  ],
  [/^(?:export|reveal|me_link|me_entered)$/, "access"],
  [/^(?:end|end_all|run_out|replace)$/, "end"],
  [
    /^(?:acknowledge|approve|deny|cancel|test|retry|retried|refresh|refreshed|skip|take_up|dismiss|confirm)$/,
    "info",
  ],
];

/** Actions that differ from the rule. */
const EVENTS: Readonly<Record<string, Partial<EcsEvent>>> = {
  "administrator.refused": { category: ["authentication"], type: ["start"], outcome: "failure" },
  "administrator.sign_in": { category: ["authentication", "session"], type: ["start"] },
  "administrator.sign_out": { category: ["session"], type: ["end"] },
  "alert.delivery_failed": { type: ["info"], outcome: "failure" },
  "alert.ended": { type: ["info"] },
  "alert.opened": { type: ["info"] },
  "approval.deny": { outcome: "failure" },
  "connection.deletions_stopped": { kind: "alert", outcome: "failure" },
  "log_export.skipped": { kind: "alert", type: ["info"], outcome: "failure" },
  "login.accepted": { type: ["start"] },
  "login.cancelled": { type: ["start"], outcome: "unknown" },
  "login.expired": { type: ["start"], outcome: "failure" },
  "login.joined": { type: ["info"], outcome: "unknown" },
  "login.rejected": { type: ["start"], outcome: "failure" },
  "login.superseded": { type: ["start"], outcome: "unknown" },
  "mail.failed": { type: ["info"], outcome: "failure" },
  "packets.dropped": { type: ["denied"], outcome: "failure" },
  "pairing.deny": { outcome: "failure" },
  "target.refresh_failed": { type: ["info"], outcome: "failure" },
  "user.locked": { kind: "alert", type: ["user", "change"] },
  "user.not_me": { kind: "alert", category: ["authentication"], type: ["info"] },
  "vpn_session.disconnect": { type: ["info"] },
  "vpn_session.disconnect_failed": { kind: "alert", type: ["info"], outcome: "failure" },
  "vpn_session.disconnected": { type: ["end"] },
};

/**
 * The classification of an action, of this version or of another one. Without a row it is that of its first word and of its verb, so that a new
 * action is never without one.
 */
export function ecsEventOf(action: string): EcsEvent {
  const [subject = "", verb = ""] = action.split(".", 2);
  const { category = ["configuration"], about } = Object.hasOwn(SUBJECTS, subject)
    ? SUBJECTS[subject] ?? {}
    : {};
  const type = VERBS.find(([pattern]) => pattern.test(verb))?.[1] ??
    (category.includes("authentication") ? "info" : "change");
  const row = Object.hasOwn(EVENTS, action) ? EVENTS[action] : {};
  return {
    kind: kindOf(action) === "alerts" ? "alert" : "event",
    category: category ?? ["configuration"],
    type: about === undefined ? [type] : [about, type],
    outcome: "success",
    ...row,
  };
}

/** The kind of a record by its action. */
export function kindOf(action: string): RecordKind {
  if (action.startsWith("login.")) return "logins";
  if (action.startsWith("alert.") && !action.startsWith("alert.receiver_")) return "alerts";
  return action === "packets.dropped" ? "drops" : "audit";
}

/** The classification of every action, for the docs. */
export function ecsEventRows(): { readonly action: string; readonly event: EcsEvent }[] {
  return Object.keys(AUDIT_ACTIONS).map((action) => ({ action, event: ecsEventOf(action) }));
}
