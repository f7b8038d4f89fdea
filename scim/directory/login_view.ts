// People as a login needs them, in memory: those who logged in lately. An unknown name is answered without the store, because strangers may
// send names at will.

import type { Store } from "../../platform/store.ts";
import type { LoginUser } from "../ports.ts";
import type { JsonObject, JsonValue } from "../schema/resource.ts";
import type { NameIndexes } from "./indexes.ts";
import type { Keys } from "./keys.ts";
import type { Tombstone } from "./batch_reads.ts";
import { type KeptRecord, readRecord } from "./records.ts";

export interface LoginView {
  /** @throws Error when {@link LoginView.prepare} was not asked before. */
  login(canonical: string): LoginUser;
  prepare(canonical: string): Promise<void> | null;
  /** A user's record is now this one, durably; `null`: there is none any more. */
  changed(canonical: string, record: KeptRecord | null): void;
}

export interface LoginViewDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly indexes: NameIndexes;
  /** How many people are kept at least; at most twice as many. */
  readonly maxPeople?: number;
}

const MAX_TRIES = 5;

export function createLoginView({ store, keys, indexes, maxPeople = 25_000 }: LoginViewDeps): LoginView {
  // Two generations: who is asked for moves into the young one; when that is full, the old one is forgotten.
  let young = new Map<string, LoginUser>();
  let old = new Map<string, LoginUser>();
  const loading = new Map<string, { isStale: boolean; done: Promise<void> }>();

  const keep = (canonical: string, user: LoginUser): void => {
    if (young.size >= maxPeople) {
      old = young;
      young = new Map();
    }
    young.set(canonical, user);
  };
  const find = (canonical: string): LoginUser | undefined => {
    const known = young.get(canonical);
    if (known !== undefined) return known;
    const older = old.get(canonical);
    if (older !== undefined) keep(canonical, older);
    return older;
  };
  const isUnknown = (canonical: string): boolean =>
    !indexes.names.user.mayHave(canonical) && !indexes.gone.mayHave(canonical);

  const readUser = async (canonical: string): Promise<LoginUser> => {
    const found = await readRecord({ store, keys }, { kind: "user", canonical });
    if (found !== null) return loginUserOf(found.record);
    if (!indexes.gone.mayHave(canonical)) return stranger(canonical);
    const { value } = await store.get<Tombstone>(keys.gone(canonical));
    return value === null ? stranger(canonical) : { ...stranger(value.name), status: "deleted" };
  };
  const load = async (canonical: string, state: { isStale: boolean }): Promise<void> => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      state.isStale = false;
      const user = await readUser(canonical);
      // What was written meanwhile may be newer than what was read.
      if (!state.isStale) return keep(canonical, user);
    }
    throw new Error(`Cannot read the user "${canonical}": it is written all the time`);
  };

  return {
    login(canonical) {
      const known = find(canonical);
      if (known !== undefined) return known;
      if (isUnknown(canonical)) return stranger(canonical);
      // To say "unknown" here could let in a user who was deleted.
      throw new Error("Cannot tell who logs in: the user was not prepared");
    },
    prepare(canonical) {
      const under = loading.get(canonical);
      if (under !== undefined) return under.done;
      if (find(canonical) !== undefined || isUnknown(canonical)) return null;
      const state = { isStale: false, done: Promise.resolve() };
      state.done = load(canonical, state).finally(() => loading.delete(canonical));
      loading.set(canonical, state);
      return state.done;
    },
    changed(canonical, record) {
      const state = loading.get(canonical);
      if (state !== undefined) state.isStale = true;
      const known = find(canonical);
      if (known === undefined) return;
      keep(canonical, record === null ? { ...stranger(known.name), status: "deleted" } : loginUserOf(record));
    },
  };
}

function stranger(name: string): LoginUser {
  return { status: "unknown", name, phoneNumbers: [], groups: [] };
}

function loginUserOf({ name, active, text, groups }: KeptRecord): LoginUser {
  return { status: active ? "active" : "inactive", name, phoneNumbers: phoneNumbersOf(text), groups };
}

function phoneNumbersOf(text: string): readonly string[] {
  // Most people have none, or the text is long for other reasons.
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
