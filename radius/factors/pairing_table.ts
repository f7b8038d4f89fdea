// The pairings in memory, as rows of a table (ADR 16): the fields of a pairing are octets, decoded when a login reads them. The last used step of an
// app has columns, so that a login writes no octets.

import {
  FieldReader,
  FieldWriter,
  HashIndex,
  isTextAt,
  OctetArena,
  TextHash,
} from "../../platform/octet_fields.ts";
import type { Pairing } from "./pairing.ts";

const FIRST_ROWS = 1024;
const NO_PAIRINGS: readonly Pairing[] = [];

/** The fields of octets, in the order of their numbers. A field of a stored record that is not here keeps the record an object. */
const FIELDS = [
  { name: "createdMs", type: "whole" },
  { name: "kind", type: "choice" },
  { name: "totpLength", type: "whole" },
  { name: "name", type: "text" },
  { name: "approvedMs", type: "whole" },
  { name: "number", type: "text" },
  { name: "seed", type: "octets" },
  { name: "algorithm", type: "choice" },
  { name: "digits", type: "whole" },
  { name: "periodS", type: "whole" },
  { name: "addedBy", type: "phone" },
] as const;
type FieldType = (typeof FIELDS)[number]["type"];
/** The values of fields that have few. */
const CHOICES: readonly unknown[] = ["device", "sms", "voice", "totp", "SHA1", "SHA256", "SHA512"];
const MAX_WHOLE = 2 ** 48;
/** Longer texts and seeds stay objects. */
const MAX_LENGTH = 1024;

const writer = new FieldWriter();

/** Pairings by id and by user. Users are canonical names. */
export class PairingTable {
  readonly #arena = new OctetArena();
  readonly #byId = new HashIndex();
  readonly #byUser = new HashIndex();
  readonly #idHash: TextHash;
  readonly #userHash: TextHash;
  /** The records that have fields of another version. */
  readonly #objects = new Map<number, Pairing>();
  #blocks = new Int32Array(FIRST_ROWS);
  /** The octets of the record; 0 for a free row, and for one whose record is an object. */
  #lengths = new Int32Array(FIRST_ROWS);
  /** The number of the last change of the row; 0 for a free row. */
  #versions = new Float64Array(FIRST_ROWS);
  /** NaN: the record has no such field. */
  #lastSteps = new Float64Array(FIRST_ROWS);
  #drifts = new Float64Array(FIRST_ROWS);
  readonly #free: number[] = [];
  #rows = 0;
  #size = 0;
  #users = 0;
  #lastVersion = 0;
  /** The pairings that were read last, because a packet reads those of its user several times. */
  #read: readonly Pairing[] | null = null;
  #readUser = "";

  /** @param hashSeed random, because clients choose the names that are looked up */
  constructor(hashSeed: number) {
    this.#idHash = new TextHash(hashSeed);
    this.#userHash = new TextHash(hashSeed);
  }

  get size(): number {
    return this.#size;
  }

  /** Users with at least one pairing. */
  get userCount(): number {
    return this.#users;
  }

  /** A user's pairings, oldest first. */
  of(user: string): readonly Pairing[] {
    if (this.#read !== null && this.#readUser === user) return this.#read;
    const pairings: Pairing[] = [];
    for (let row = this.#firstOf(user); row >= 0; row = this.#nextOf(row, user)) {
      pairings.push(this.#at(row, user));
    }
    // The index has the newest row first.
    if (pairings.length > 1) pairings.reverse().sort((a, b) => a.createdMs - b.createdMs);
    this.#readUser = user;
    this.#read = pairings.length === 0 ? NO_PAIRINGS : pairings;
    return this.#read;
  }

  get(id: string): Pairing | undefined {
    const row = this.#rowOf(id);
    return row < 0 ? undefined : this.#at(row);
  }

  /** The number of the last change of a pairing; 0 if there is none with this id. */
  versionOf(id: string): number {
    const row = this.#rowOf(id);
    return row < 0 ? 0 : this.#versions[row] as number;
  }

  *all(): Iterable<Pairing> {
    for (let row = 0; row < this.#rows; row++) if (this.#versions[row] !== 0) yield this.#at(row);
  }

  /** The users of all pairings, once for each pairing. Decodes only their names. */
  *names(): Iterable<Pick<Pairing, "user" | "shownUser">> {
    for (let row = 0; row < this.#rows; row++) {
      if (this.#versions[row] === 0) continue;
      yield this.#objects.get(row) ?? decodeHead(this.#reader(row));
    }
  }

  /** Adds a pairing, or replaces the one with the same id. Returns the number of the change. */
  put(pairing: Pairing): number {
    const { id, user } = pairing;
    let row = this.#rowOf(id);
    if (row >= 0 && !this.#hasUser(row, user)) {
      this.drop(id);
      row = -1;
    }
    if (row >= 0) this.#release(row);
    else row = this.#add(id, user);
    this.#write(row, pairing);
    this.#forgetRead(user);
    return this.#versions[row] = ++this.#lastVersion;
  }

  drop(id: string): void {
    const row = this.#rowOf(id);
    if (row < 0) return;
    const { user } = this.#objects.get(row) ?? decodeHead(this.#reader(row));
    this.#byId.remove(row);
    this.#byUser.remove(row);
    if (this.#firstOf(user) < 0) this.#users--;
    this.#release(row);
    this.#versions[row] = 0;
    this.#free.push(row);
    this.#size--;
    this.#forgetRead(user);
  }

  /** A new row in the indexes, without a record. */
  #add(id: string, user: string): number {
    const row = this.#free.pop() ?? this.#rows++;
    if (row >= this.#versions.length) this.#grow();
    if (this.#firstOf(user) < 0) this.#users++;
    this.#byId.add(row, this.#idHash.of(id));
    this.#byUser.add(row, this.#userHash.of(user));
    this.#size++;
    return row;
  }

  /** Frees the record of a row. */
  #release(row: number): void {
    if (this.#objects.delete(row)) return;
    this.#arena.free(this.#blocks[row] as number, this.#lengths[row] as number);
    this.#lengths[row] = 0;
  }

  #forgetRead(user: string): void {
    if (this.#readUser === user) this.#read = null;
  }

  #rowOf(id: string): number {
    let row = this.#byId.first(this.#idHash.of(id));
    while (row >= 0 && !this.#hasId(row, id)) row = this.#byId.next(row);
    return row;
  }

  #firstOf(user: string): number {
    return this.#fitting(this.#byUser.first(this.#userHash.of(user)), user);
  }

  #nextOf(row: number, user: string): number {
    return this.#fitting(this.#byUser.next(row), user);
  }

  #fitting(from: number, user: string): number {
    let row = from;
    while (row >= 0 && !this.#hasUser(row, user)) row = this.#byUser.next(row);
    return row;
  }

  #hasId(row: number, id: string): boolean {
    const object = this.#objects.get(row);
    if (object !== undefined) return object.id === id;
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    return isTextAt(octets, { at: at + 2, lengthOctets: countAt(octets, at) }, id);
  }

  #hasUser(row: number, user: string): boolean {
    const object = this.#objects.get(row);
    if (object !== undefined) return object.user === user;
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    const userAt = at + 2 + countAt(octets, at);
    return isTextAt(octets, { at: userAt + 2, lengthOctets: countAt(octets, userAt) }, user);
  }

  #write(row: number, pairing: Pairing): void {
    if (!encodePairing(pairing)) {
      this.#objects.set(row, pairing);
      return;
    }
    const { lengthOctets } = writer;
    this.#blocks[row] = this.#arena.allocate(lengthOctets);
    this.#lengths[row] = lengthOctets;
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    writer.copyTo(octets, at);
    this.#lastSteps[row] = pairing.kind === "totp" ? pairing.lastStep : NaN;
    this.#drifts[row] = pairing.kind === "totp" ? pairing.drift ?? NaN : NaN;
  }

  #reader(row: number): FieldReader {
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    return new FieldReader(octets, at, at + (this.#lengths[row] as number));
  }

  /** @param user of the row, if it is known */
  #at(row: number, user?: string): Pairing {
    const object = this.#objects.get(row);
    if (object !== undefined) return object;
    const fields = decodePairing(this.#reader(row), user);
    const lastStep = this.#lastSteps[row] as number;
    const drift = this.#drifts[row] as number;
    if (!Number.isNaN(lastStep)) fields.lastStep = lastStep;
    if (!Number.isNaN(drift)) fields.drift = drift;
    return fields as unknown as Pairing;
  }

  #grow(): void {
    const length = 2 * this.#versions.length;
    const larger = <T extends Int32Array | Float64Array>(column: T, empty: T): T => {
      empty.set(column);
      return empty;
    };
    this.#blocks = larger(this.#blocks, new Int32Array(length));
    this.#lengths = larger(this.#lengths, new Int32Array(length));
    this.#versions = larger(this.#versions, new Float64Array(length));
    this.#lastSteps = larger(this.#lastSteps, new Float64Array(length));
    this.#drifts = larger(this.#drifts, new Float64Array(length));
  }
}

function countAt(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

/** Writes the octets of a pairing into `writer`. `false`: a field is unknown or has another type, so the octets would not be the whole record. */
function encodePairing(pairing: Pairing): boolean {
  const record = pairing as unknown as Readonly<Record<string, unknown>>;
  const { id, user, shownUser, kind, lastStep, drift } = record;
  if (!isShortText(id) || !isShortText(user) || !isShortText(shownUser)) return false;
  writer.begin();
  writer.text(id);
  writer.text(user);
  writer.textOrNull(shownUser === user ? null : shownUser);
  let written = 3;
  for (let field = 0; field < FIELDS.length; field++) {
    const { name, type } = FIELDS[field] as (typeof FIELDS)[number];
    const value = record[name];
    if (value === undefined) continue;
    writer.small(field);
    if (!writeValue(type, value)) return false;
    written++;
  }
  if (kind === "totp") {
    if (!Number.isFinite(lastStep) || (drift !== undefined && !Number.isFinite(drift))) return false;
    written += drift === undefined ? 1 : 2;
  }
  let fields = 0;
  for (const _ in record) fields++;
  return fields === written;
}

function writeValue(type: FieldType, value: unknown): boolean {
  switch (type) {
    case "whole":
      if (!Number.isInteger(value) || (value as number) < 0 || (value as number) >= MAX_WHOLE) return false;
      writer.timeMs(value as number);
      return true;
    case "choice": {
      const choice = CHOICES.indexOf(value);
      if (choice < 0) return false;
      writer.small(choice);
      return true;
    }
    case "text":
      if (!isShortText(value)) return false;
      writer.text(value);
      return true;
    case "octets":
      if (!(value instanceof Uint8Array) || value.length > MAX_LENGTH) return false;
      writer.octetString(value);
      return true;
    case "phone": {
      const { id, name, ...others } = (value ?? {}) as Record<string, unknown>;
      if (!isShortText(id) || (name !== undefined && !isShortText(name))) return false;
      writer.text(id);
      writer.textOrNull(name ?? null);
      return Object.keys(others).length === 0;
    }
  }
}

/** Lone surrogates are no UTF-8. */
function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_LENGTH && value.isWellFormed();
}

/** Reads the first fields of what {@link encodePairing} wrote. @param known the user, if known: the index has compared it */
function decodeHead(from: FieldReader, known?: string): Pick<Pairing, "id" | "user" | "shownUser"> {
  const id = from.text();
  const user = known ?? from.text();
  if (known !== undefined) from.skipText();
  return { id, user, shownUser: from.textOrNull() ?? user };
}

/** Reads what {@link encodePairing} wrote. */
function decodePairing(from: FieldReader, user?: string): Record<string, unknown> {
  const fields: Record<string, unknown> = decodeHead(from, user);
  while (!from.isAtEnd) {
    const { name, type } = FIELDS[from.small()] as (typeof FIELDS)[number];
    fields[name] = readValue(from, type);
  }
  return fields;
}

function readValue(from: FieldReader, type: FieldType): unknown {
  switch (type) {
    case "whole":
      return from.timeMs();
    case "choice":
      return CHOICES[from.small()];
    case "text":
      return from.text();
    case "octets":
      return from.octetString();
    case "phone": {
      const id = from.text();
      const name = from.textOrNull();
      return name === null ? { id } : { id, name };
    }
  }
}
