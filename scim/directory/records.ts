// Resources in the store: one value each, with the attributes as JSON text that responses insert unchanged. A larger
// resource is stored in parts.

import type { Store } from "../../platform/store.ts";
import type {
  BackendStates,
  Content,
  GroupContent,
  JsonObject,
  JsonValue,
  ResourceKind,
  Stored,
  UserContent,
} from "../schema/resource.ts";
import type { DirectoryKeys } from "./keys.ts";
import { type MemberSet, NO_MEMBERS } from "./member_sets.ts";
import { nameHash } from "./name_hashes.ts";

/** The value under ["user" or "group", target, canonical]. */
export interface ResourceRecord {
  readonly name: string;
  readonly active: boolean;
  /** The JSON text of the attributes. */
  readonly text: string;
  /** Names of the user's groups, in order of name. Derived from the memberships, so that a login needs only one read. */
  readonly groups: readonly string[];
  /** The key of a group's members; "" for a user. */
  readonly setId: string;
  readonly backends: BackendStates;
  readonly createdMs: number;
  readonly modifiedMs: number;
  /** Increases with every write of the resource itself. */
  readonly revision: number;
  /** Counts the backend states that were recorded since that write. Absent: 0. */
  readonly recorded?: number;
  /** Counts the changes of `groups` since that write: a later group can have the name of an earlier one. Absent: 0. */
  readonly regrouped?: number;
  /** Unique, never changed, never reused (RFC 7643 §3.1). */
  readonly id: string;
  /** The `externalId` of a client (RFC 7643 §3.1). Absent: none. */
  readonly externalId?: string;
  /** The connection of an identity provider that created or adopted the resource. Absent: none. */
  readonly managedBy?: string;
  /** A client removed `active` (RFC 7643 §2.5): the user stays as it is, and its responses have no `active`. Absent: not. */
  readonly activeUnassigned?: true;
  /** The name of the parts that contain `text` and `groups`, which are then empty here. "": no parts. */
  readonly parts: string;
  readonly partCount: number;
}

/** The record of a deleted user. */
export interface Tombstone {
  readonly name: string;
  /** Grows with time. */
  readonly order: number;
}

/** The parts of a record that tell what the resource is for its clients. */
export type ResourceIdentity = Pick<
  ResourceRecord,
  "id" | "externalId" | "managedBy" | "activeUnassigned"
>;

/** A value of the store has at most 64 KiB, and a character takes at most two octets. */
const MAX_INLINE_CHARACTERS = 24_000;
const PART_CHARACTERS = 30_000;
/** The maximum size of attributes and groups together. An atomic operation accepts 800 KiB. */
const MAX_RECORD_OCTETS = 512 * 1024;
const MAX_TRIES = 5;

/** A record as it is written: the value itself, and its parts. */
interface EncodedRecord {
  readonly head: ResourceRecord;
  readonly parts: readonly string[];
  /** The size of the value in the store, without the parts. */
  readonly sizeOctets: number;
}

/**
 * @param partsName creates a new name for the parts, if parts are needed.
 * @throws RangeError if the resource is too large.
 */
export function encodeRecord(record: ResourceRecord, partsName: () => string): EncodedRecord {
  const bare = { ...record, parts: "", partCount: 0 };
  const whole = `${JSON.stringify(record.groups)}\n${record.text}`;
  const headOctets = 800 + ((record.externalId?.length ?? 0) + (record.managedBy?.length ?? 0)) * 2;
  const sizeOctets = textSizeOctets(whole) + headOctets;
  if (whole.length <= MAX_INLINE_CHARACTERS) return { head: bare, parts: [], sizeOctets };
  if (sizeOctets > MAX_RECORD_OCTETS) {
    throw new RangeError(
      `Cannot store a resource of ${sizeOctets} octets: at most ${MAX_RECORD_OCTETS} are allowed`,
    );
  }
  const parts = textParts(whole);
  const head = { ...bare, text: "", groups: [], parts: partsName(), partCount: parts.length };
  return { head, parts, sizeOctets: headOctets + 200 };
}

/** The engine skips a text of one octet per character. */
const WIDE = /[\u0100-\uffff]/;

/** The size of a text in the store: one octet per character, or two if any character needs two. */
export function textSizeOctets(text: string): number {
  return WIDE.test(text) ? text.length * 2 : text.length;
}

/** A text as values of the store. */
export function textParts(text: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += PART_CHARACTERS) parts.push(text.slice(at, at + PART_CHARACTERS));
  return parts;
}

/** A record joined with its parts, and the versionstamp of its value. */
export interface ReadRecord {
  readonly record: ResourceRecord;
  readonly versionstamp: string;
}

/** Reads one resource. `null`: it does not exist. */
export async function readRecord(
  { store, keys }: { store: Store; keys: DirectoryKeys },
  { kind, canonical }: { kind: ResourceKind; canonical: string },
): Promise<ReadRecord | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { value, versionstamp } = await store.get<ResourceRecord>(keys.record(kind, canonical));
    if (value === null || versionstamp === null) return null;
    const record = await joinParts({ store, keys }, { kind, canonical, head: value });
    if (record !== null) return { record, versionstamp };
  }
  throw new Error(
    `Cannot read the ${kind} "${canonical}": it changed at every attempt, or its parts are lost`,
  );
}

/** `null` if the parts no longer exist, because the record was written in the meantime. */
export async function joinParts(
  { store, keys }: { store: Store; keys: DirectoryKeys },
  { kind, canonical, head }: { kind: ResourceKind; canonical: string; head: ResourceRecord },
): Promise<ResourceRecord | null> {
  if (head.parts === "") return head;
  const numbers = Array.from({ length: head.partCount }, (_, number) => number);
  const parts = await Promise.all(
    numbers.map((number) => store.get<string>(keys.part(kind, canonical, { parts: head.parts, number }))),
  );
  if (parts.some(({ value }) => value === null)) return null;
  const whole = parts.map(({ value }) => value ?? "").join("");
  const end = whole.indexOf("\n");
  const groups: string[] = JSON.parse(whole.slice(0, end));
  return { ...head, text: whole.slice(end + 1), groups };
}

/** The version of a write of the resource itself. Later changes of memberships do not change it. */
function revisionText(revision: number): string {
  return revision.toString(36);
}

/** Whether `version` from {@link toStored} is the current one. Memberships may have changed since. */
export function isRevision(version: string, revision: number): boolean {
  return version.split(".", 1)[0] === revisionText(revision);
}

/** The table of a record. */
interface RecordPlace {
  readonly kind: ResourceKind;
  readonly target: string;
}

/** A record for the rest of the program. Attributes are parsed on first use. */
export function toStored(
  place: RecordPlace,
  record: ResourceRecord,
  members: MemberSet = NO_MEMBERS,
): Stored {
  const { kind } = place;
  const { groups, backends, createdMs, modifiedMs, revision, regrouped = 0, text } = record;
  let digest = members.digest + regrouped;
  if (kind === "user") { for (const name of groups) digest = (digest + nameHash(name)) >>> 0; }
  return {
    id: record.id,
    ...(record.externalId === undefined ? {} : { externalId: record.externalId }),
    ...(record.managedBy === undefined ? {} : { managedBy: record.managedBy }),
    ...(record.activeUnassigned === undefined ? {} : { activeUnassigned: record.activeUnassigned }),
    ...(kind === "group" ? { memberIds: members.ids } : {}),
    content: kind === "user" ? userContent(record) : groupContent(record, members),
    attributesText: text,
    groups,
    backends,
    createdMs,
    modifiedMs,
    version: `${revisionText(revision)}.${digest.toString(36)}`,
    ...(record.recorded === undefined ? {} : { recorded: record.recorded }),
  };
}

/** Parses once, on the first access. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function userContent({ name, active, text }: ResourceRecord): UserContent {
  const attributes = once((): JsonObject => JSON.parse(text));
  return {
    kind: "user",
    name,
    active,
    get attributes() {
      return attributes();
    },
  };
}

function groupContent({ name, text }: ResourceRecord, { names }: MemberSet): GroupContent {
  const attributes = once((): JsonObject => JSON.parse(text));
  return {
    kind: "group",
    name,
    get attributes() {
      return attributes();
    },
    members: names,
  };
}

/** The record of a resource after a write. The caller provides the memberships. */
export function toRecord(
  content: Content,
  {
    backends,
    groups,
    setId,
    createdMs,
    modifiedMs,
    revision,
    recorded,
    regrouped,
    id,
    externalId,
    managedBy,
    activeUnassigned,
  }: Pick<
    ResourceRecord,
    | "backends"
    | "groups"
    | "setId"
    | "createdMs"
    | "modifiedMs"
    | "revision"
    | "recorded"
    | "regrouped"
    | "id"
    | "externalId"
    | "managedBy"
    | "activeUnassigned"
  >,
): ResourceRecord {
  return {
    name: content.name,
    active: content.kind === "group" || content.active,
    text: JSON.stringify(content.attributes),
    groups,
    setId,
    backends,
    createdMs,
    modifiedMs,
    revision,
    ...(recorded === undefined ? {} : { recorded }),
    ...(regrouped === undefined ? {} : { regrouped }),
    id,
    ...(externalId === undefined ? {} : { externalId }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(activeUnassigned === undefined ? {} : { activeUnassigned }),
    parts: "",
    partCount: 0,
  };
}

/** The phone numbers in the text of a user's record. */
export function phoneNumbersOf(text: string): readonly string[] {
  // Most users have no number, and a long text is expensive to parse.
  if (!text.includes('"phoneNumbers"')) return [];
  const attributes: JsonObject = JSON.parse(text);
  const entries: JsonValue | undefined = attributes.phoneNumbers;
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: JsonValue) =>
    typeof entry === "object" && entry !== null && "value" in entry && typeof entry.value === "string"
      ? [entry.value]
      : []
  );
}

/** Whether two records of a user have other phone numbers. */
export function differInNumbers(before: ResourceRecord, after: ResourceRecord): boolean {
  if (before.text === after.text) return false;
  return phoneNumbersOf(before.text).toSorted().join("\n") !==
    phoneNumbersOf(after.text).toSorted().join("\n");
}
