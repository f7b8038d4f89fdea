// Resources as the store keeps them: one value each, with the attributes as JSON text, because answers are spliced from it. What does not
// fit into a value lies beside it in parts.

import type { Store } from "../../platform/store.ts";
import type {
  BackendStates,
  Content,
  GroupContent,
  JsonObject,
  ResourceKind,
  Stored,
  UserContent,
} from "../schema/resource.ts";
import type { Keys } from "./keys.ts";
import { type MemberSet, NO_MEMBERS } from "./member_sets.ts";
import { nameHash } from "./name_hashes.ts";

/** The value under ["user" or "group", target, canonical]. */
export interface KeptRecord {
  readonly name: string;
  readonly active: boolean;
  /** The JSON text of the attributes. */
  readonly text: string;
  /** Names of the user's groups, in order of name: derived from the memberships, so that one read serves a login. */
  readonly groups: readonly string[];
  /** Under which a group's members are kept; "" for a user. */
  readonly setId: string;
  readonly backends: BackendStates;
  readonly createdMs: number;
  readonly modifiedMs: number;
  /** Grows with every write of the resource itself. */
  readonly revision: number;
  /** Counts what was recorded of its backends since that write; absent: nothing. */
  readonly recorded?: number;
  /** Names the parts that hold `text` and `groups`, which are empty then; "" when there are none. */
  readonly parts: string;
  readonly partCount: number;
}

/** A value of the store takes 64 KiB, and a character at most two octets there. */
const MAX_INLINE_CHARACTERS = 24_000;
const PART_CHARACTERS = 30_000;
/** What attributes and groups may take together; an atomic operation takes 800 KiB. */
export const MAX_RECORD_OCTETS = 512 * 1024;
const MAX_TRIES = 5;

/** A record as it is written: the value itself, and its parts. */
export interface EncodedRecord {
  readonly head: KeptRecord;
  readonly parts: readonly string[];
  /** What the value takes in the store, without the parts. */
  readonly sizeOctets: number;
}

/**
 * @param partsName names the parts if there must be some; never used before.
 * @throws RangeError when the attributes are larger than a resource may be.
 */
export function encodeRecord(record: KeptRecord, partsName: () => string): EncodedRecord {
  const bare = { ...record, parts: "", partCount: 0 };
  const whole = `${JSON.stringify(record.groups)}\n${record.text}`;
  const sizeOctets = octetsOf(whole) + 800;
  if (whole.length <= MAX_INLINE_CHARACTERS) return { head: bare, parts: [], sizeOctets };
  if (sizeOctets > MAX_RECORD_OCTETS) {
    throw new RangeError(
      `Cannot keep a resource of ${sizeOctets} octets: at most ${MAX_RECORD_OCTETS} are allowed`,
    );
  }
  const parts: string[] = [];
  for (let at = 0; at < whole.length; at += PART_CHARACTERS) {
    parts.push(whole.slice(at, at + PART_CHARACTERS));
  }
  const head = { ...bare, text: "", groups: [], parts: partsName(), partCount: parts.length };
  return { head, parts, sizeOctets: 1000 };
}

/** What a text takes in the store: one octet a character, or two when one of them needs it. */
export function octetsOf(text: string): number {
  return hasWide(text) ? text.length * 2 : text.length;
}

function hasWide(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return true;
  return false;
}

/** A record with what lies in parts put back, and the versionstamp of its value. */
export interface ReadRecord {
  readonly record: KeptRecord;
  readonly versionstamp: string;
}

/** Reads one resource; `null` when there is none. */
export async function readRecord(
  { store, keys }: { store: Store; keys: Keys },
  { kind, canonical }: { kind: ResourceKind; canonical: string },
): Promise<ReadRecord | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { value, versionstamp } = await store.get<KeptRecord>(keys.record(kind, canonical));
    if (value === null || versionstamp === null) return null;
    const record = await joinParts({ store, keys }, { kind, canonical, head: value });
    if (record !== null) return { record, versionstamp };
  }
  throw new Error(
    `Cannot read the ${kind} "${canonical}": it is written all the time, or its parts are lost`,
  );
}

/** `null` when the parts are gone, which means that the record was written meanwhile. */
export async function joinParts(
  { store, keys }: { store: Store; keys: Keys },
  { kind, canonical, head }: { kind: ResourceKind; canonical: string; head: KeptRecord },
): Promise<KeptRecord | null> {
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

/** The version that stands for a write of the resource itself, whatever became of memberships since. */
export function revisionText(revision: number): string {
  return revision.toString(36);
}

/** Whether `version`, as {@link storedOf} gave it, is of the record as it stands. Memberships may have changed since. */
export function isRevision(version: string, revision: number): boolean {
  return version.split(".", 1)[0] === revisionText(revision);
}

/** A record as the rest of the program sees it. Attributes are parsed when they are asked for. */
export function storedOf(kind: ResourceKind, record: KeptRecord, members: MemberSet = NO_MEMBERS): Stored {
  const { groups, backends, createdMs, modifiedMs, revision, text } = record;
  let digest = members.digest;
  if (kind === "user") { for (const name of groups) digest = (digest + nameHash(name)) >>> 0; }
  return {
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
export function lazily<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function userContent({ name, active, text }: KeptRecord): UserContent {
  const attributes = lazily((): JsonObject => JSON.parse(text));
  return {
    kind: "user",
    name,
    active,
    get attributes() {
      return attributes();
    },
  };
}

function groupContent({ name, text }: KeptRecord, { names }: MemberSet): GroupContent {
  const attributes = lazily((): JsonObject => JSON.parse(text));
  return {
    kind: "group",
    name,
    get attributes() {
      return attributes();
    },
    members: names,
  };
}

/** What a write makes of a resource; memberships are the caller's. */
export function recordOf(
  content: Content,
  { backends, groups, setId, createdMs, modifiedMs, revision, recorded }: Pick<
    KeptRecord,
    "backends" | "groups" | "setId" | "createdMs" | "modifiedMs" | "revision" | "recorded"
  >,
): KeptRecord {
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
    parts: "",
    partCount: 0,
  };
}
