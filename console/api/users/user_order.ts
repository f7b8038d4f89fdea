// The order of the list of users. The directory has an index of names. Other orders read all users that match, up to a limit.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { displayNameOf } from "./user_views.ts";

/** The orders of the list; `-` means descending. */
export const USER_ORDERS = [
  "name",
  "-name",
  "displayName",
  "-displayName",
  "status",
  "-status",
  "lastSignIn",
  "-lastSignIn",
] as const;
/** "" is the order of the directory or of the search. */
export type UserOrder = "" | typeof USER_ORDERS[number];

/** Users that one request sorts. */
export const MAX_SORTED = 10_000;

/** When users signed in last, by canonical name. */
export async function readLastSignIns(
  people: People,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await people.lastSignIns.of(names);
  return new Map([...found].map(([name, { atMs }]) => [name, atMs]));
}

/** A user with the value to sort by. */
interface SortedUser {
  readonly name: string;
  /** `null` comes last in both directions. */
  readonly value: string | number | null;
}

interface SortOptions {
  readonly order: UserOrder;
  readonly target: Target;
  readonly page: number;
  readonly size: number;
}

/** Sorts users by another value than their names. It keeps one value for each user, not the whole user. */
export class UserSorter {
  readonly #people: People;
  readonly #options: SortOptions;
  readonly #by: string;
  readonly #users: SortedUser[] = [];

  constructor(people: People, options: SortOptions) {
    this.#people = people;
    this.#options = options;
    this.#by = options.order.replace(/^-/, "");
  }

  get count(): number {
    return this.#users.length;
  }

  add({ content }: Stored): void {
    const name = canonicalName(content.name);
    this.#users.push({ name, value: this.#valueOf(content, name) });
  }

  /** The users of the page. Equal values are in order of name. */
  async page(): Promise<Stored[]> {
    const { order, target, page, size } = this.#options;
    const direction = order.startsWith("-") ? -1 : 1;
    const users = this.#by === "lastSignIn" ? await this.#withSignIns() : this.#users;
    users.sort((a, b) => compareValues(a.value, b.value, direction) || compareTexts(a.name, b.name));
    const shown = users.slice((page - 1) * size, page * size);
    const read = await Promise.all(shown.map(({ name }) => target.directory.read("user", name)));
    return read.filter((stored) => stored !== null);
  }

  async #withSignIns(): Promise<SortedUser[]> {
    const people = this.#people;
    if (this.#options.target.name !== people.loginTarget()) return this.#users;
    const signIns = await readLastSignIns(people, this.#users.map(({ name }) => name));
    return this.#users.map(({ name }) => ({ name, value: signIns.get(name) ?? null }));
  }

  #valueOf(content: Stored["content"], name: string): string | number | null {
    if (this.#by === "displayName") return canonicalName(displayNameOf(content)) || null;
    if (this.#by === "name") return name;
    if (this.#by !== "status") return null;
    if (content.kind !== "user" || !content.active) return STATUSES.inactive;
    return this.#people.limits.isLocked(name) ? STATUSES.locked : STATUSES.active;
  }
}

const STATUSES = { active: 0, locked: 1, inactive: 2 } as const;

function compareValues(a: SortedUser["value"], b: SortedUser["value"], direction: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  return direction * compareTexts(String(a), String(b));
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
