// Lists users: a page of the directory if its indexes suffice, otherwise a bounded scan.

import * as v from "valibot";
import { MAX_FILTER_CHARACTERS } from "../../../scim/filter/filter.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { NO_READ_ONLY, readOnlyNames } from "../../../scim/schema/merge.ts";
import type { Page, Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { optionalChoice, textUpTo } from "../hono_env.ts";
import { isInactive, lastSince } from "../reports/enrolment.ts";
import type { People } from "../deps.ts";
import { DetailedRefusal } from "../errors.ts";
import { directoryNumbers, displayNameOf, userRow } from "./user_views.ts";
import type { UserPage } from "./user_types.ts";

/** The filters of a list of users, of a bulk operation and of an export. */
export const USER_FILTERS = {
  q: v.optional(textUpTo(MAX_FILTER_CHARACTERS), ""),
  status: optionalChoice(["active", "inactive", "locked"]),
  enrolled: optionalChoice(["yes", "no"]),
  /** Active users who did not sign in for these days. */
  inactive: optionalChoice(["30", "60", "90"]),
  backend: v.optional(textUpTo(256), ""),
  sync: optionalChoice(["present", "pending", "failed", "vanished", "differs", "absent"]),
};

interface UserQuery {
  readonly q: string;
  readonly sort?: UserOrder;
  readonly page: number;
  readonly size: number;
  readonly status: "" | "active" | "inactive" | "locked";
  readonly enrolled: "" | "yes" | "no";
  readonly inactive?: "" | "30" | "60" | "90";
  /** The name of a backend. */
  readonly backend: string;
  readonly sync: "" | "present" | "pending" | "failed" | "vanished" | "differs" | "absent";
}

/** Users that one request reads. */
const MAX_SCANNED = 20_000;
const STEP = 500;

type Test = (stored: Stored) => boolean;

/**
 * One page of users in order of name.
 *
 * @throws Refusal `bad_filter`.
 */
export async function readUserPage(people: People, target: Target, query: UserQuery): Promise<UserPage> {
  const { page, size } = query;
  const found = await findUsers(people, target, query);
  const logsIn = target.name === people.loginTarget();
  const shown = found.resources.map(({ content }) => canonicalName(content.name));
  const signIns = logsIn ? await readLastSignIns(people, shown) : new Map<string, number>();
  return {
    target: target.name,
    targets: people.targets.names,
    backends: target.backends,
    readOnly: readOnlyNames(target.readOnly ?? NO_READ_ONLY),
    logsIn,
    total: found.total,
    isCut: found.isCut,
    isUnsorted: found.isUnsorted,
    page,
    size,
    rows: found.resources.map((stored, at) => ({
      ...userRow(people, target, stored),
      lastSignInMs: signIns.get(shown[at] ?? "") ?? null,
    })),
    outside: await outsideNames(people, target, query),
  };
}

interface FoundUsers {
  readonly total: number;
  readonly isCut: boolean;
  readonly isUnsorted: boolean;
  readonly resources: readonly Stored[];
}

/** The users of the page, in the requested order if not too many match. */
async function findUsers(people: People, target: Target, query: UserQuery): Promise<FoundUsers> {
  const { page, size, sort = "" } = query;
  const tests = testsOf(people, query);
  const isUnfiltered = tests.length === 0 && isInactiveFilterOff(query);
  const isWhole = isUnfiltered && query.q.trim() === "";
  const isByName = sort === "" || (sort === "name" && query.q.trim() === "");
  if (isWhole && sort === "-name") {
    const found = await target.directory.page("user", { page, size, isReverse: true });
    return { ...found, isCut: false, isUnsorted: false };
  }
  if (!isByName && !(isWhole && target.directory.count("user") > MAX_SORTED)) {
    const sorted = await sortAll(people, { target, query: { ...query, sort }, tests });
    if (sorted !== null) return sorted;
  }
  const found = isUnfiltered
    ? { ...await readPage(target, query, { page, size }), isCut: false }
    : await walk(people, { target, query, tests });
  return { ...found, isUnsorted: !isByName };
}

/** `null`: more users than one request may read. */
async function sortAll(
  people: People,
  { target, query, tests }: Walk & { readonly query: { readonly sort: UserOrder } },
): Promise<FoundUsers | null> {
  const { sort: order, page, size } = query;
  const sorter = new UserSorter(people, { order, target, page, size });
  let walked = 0;
  for await (const step of candidates(people, target, query)) {
    for (const stored of await matchingOf(people, { target, query, tests, step })) sorter.add(stored);
    walked += step.length;
    if (walked > MAX_SORTED) return null;
  }
  return { total: sorter.count, isCut: false, isUnsorted: false, resources: await sorter.page() };
}

const MAX_OUTSIDE = 20;
const MAX_OUTSIDE_READ = 500;

/** Paired names that the directory lacks, such as those of `deno task pair`; only without filters, on the first page. */
async function outsideNames(
  { pairings, loginTarget }: People,
  { name, directory }: Target,
  { q, page, status, enrolled, backend, sync, inactive = "" }: UserQuery,
): Promise<string[]> {
  if (
    name !== loginTarget() || page !== 1 || `${status}${backend}${sync}${inactive}` !== "" ||
    enrolled === "no"
  ) {
    return [];
  }
  const wanted = canonicalName(q.trim());
  const known = new Map<string, string>();
  for (const { user, shownUser } of pairings.names()) {
    if (user.includes(wanted)) known.set(user, shownUser);
    if (known.size >= MAX_OUTSIDE_READ) break;
  }
  const outside: string[] = [];
  for (const [canonical, shown] of known) {
    if (outside.length >= MAX_OUTSIDE) break;
    if (await directory.read("user", canonical) === null) outside.push(shown);
  }
  return outside.sort();
}

async function readPage(
  { directory }: Target,
  { q }: UserQuery,
  options: { page: number; size: number },
): Promise<Page> {
  if (q.trim() === "") return await directory.page("user", options);
  const found = await directory.search("user", q, options);
  if (!found.ok) throw new DetailedRefusal("bad_filter", { message: found.problem.detail });
  return found.page;
}

interface Walk {
  readonly target: Target;
  readonly query: UserQuery;
  readonly tests: readonly Test[];
}

/** Scans users for filters without an index, up to a limit. */
async function walk(
  people: People,
  { target, query, tests }: Walk,
): Promise<{ total: number; isCut: boolean; resources: Stored[] }> {
  const first = (query.page - 1) * query.size;
  const resources: Stored[] = [];
  let total = 0;
  let walked = 0;
  for await (const step of candidates(people, target, query)) {
    for (const stored of await matchingOf(people, { target, query, tests, step })) {
      if (total >= first && resources.length < query.size) resources.push(stored);
      total += 1;
    }
    walked += step.length;
    if (walked >= MAX_SCANNED) return { total, isCut: true, resources };
  }
  return { total, isCut: false, resources };
}

interface FilteredStep {
  readonly target: Target;
  readonly query: UserQuery;
  readonly tests: readonly Test[];
  readonly step: readonly Stored[];
}

/** The users of a step that match all filters. */
async function matchingOf(people: People, { target, query, tests, step }: FilteredStep): Promise<Stored[]> {
  const fitting = step.filter((stored) => tests.every((test) => test(stored)));
  if (isInactiveFilterOff(query)) return fitting;
  // Sign-ins are recorded for the users of one directory only.
  if (target.name !== people.loginTarget()) return [];
  const names = fitting.map(({ content }) => canonicalName(content.name));
  const last = await people.lastSignIns.of(names);
  const beforeMs = people.lastSignIns.daysAgoMs(Number(query.inactive));
  return fitting.filter((stored, at) =>
    isInactive({ stored, last: lastSince(last.get(names[at] ?? ""), stored.createdMs) }, beforeMs)
  );
}

function isInactiveFilterOff({ inactive = "" }: Pick<UserQuery, "inactive">): boolean {
  return inactive === "";
}

/** Users that may match, in order of name: from the gateway's lists if they suffice, otherwise from the search. */
async function* candidates(
  people: People,
  target: Target,
  query: UserQuery,
): AsyncGenerator<readonly Stored[]> {
  const names = query.q.trim() === "" ? knownNames(people, query) : null;
  if (names === null) {
    for (let page = 1;; page += 1) {
      const step = await readPage(target, query, { page, size: STEP });
      yield step.resources;
      if (step.resources.length === 0 || page * STEP >= step.total) return;
    }
  }
  for (let at = 0; at < names.length; at += STEP) {
    const read = await Promise.all(
      names.slice(at, at + STEP).map((name) => target.directory.read("user", name)),
    );
    yield read.filter((stored) => stored !== null);
  }
}

/** Canonical names from the gateway's lists; `null` if they do not suffice for the filter. */
function knownNames(people: People, { status, enrolled }: UserQuery): string[] | null {
  const { pairings, hardwareTokens, limits, factors } = people;
  if (status === "locked") return limits.locked().sort();
  // A directory number is a factor too, and the gateway has no list of those.
  const hasNumberFactors = factors.enabled.some((kind) => kind === "sms" || kind === "voice");
  if (enrolled !== "yes" || hasNumberFactors) return null;
  const withToken = [...hardwareTokens.all()].flatMap(({ record: { user } }) => user ?? []);
  return [...new Set([...pairings.names()].map(({ user }) => user).concat(withToken))].sort();
}

function testsOf(people: People, query: UserQuery): Test[] {
  const { limits } = people;
  const tests: Test[] = [];
  const canonical = ({ content }: Stored) => canonicalName(content.name);
  if (query.status === "locked") tests.push((stored) => limits.isLocked(canonical(stored)));
  else if (query.status !== "") {
    const wanted = query.status === "active";
    tests.push(({ content }) => content.kind === "user" && content.active === wanted);
  }
  if (query.enrolled !== "") {
    const wanted = query.enrolled === "yes";
    tests.push((stored) => hasFactor(people, stored) === wanted);
  }
  if (query.backend !== "" || query.sync !== "") tests.push((stored) => matchesBackend(stored, query));
  return tests;
}

/** Whether the user has a second factor: a pairing, or a directory number. */
function hasFactor(people: People, { content }: Stored): boolean {
  const canonical = canonicalName(content.name);
  const pairings = people.pairings.of(canonical);
  return pairings.length > 0 || people.hardwareTokens.of(canonical).length > 0 ||
    directoryNumbers(people, { content, pairings }).length > 0;
}

/** Whether the user has the sync status in the backend, or in any backend. */
function matchesBackend({ backends }: Stored, { backend, sync }: UserQuery): boolean {
  if (sync === "absent") return backend !== "" && backends[backend] === undefined;
  const states = backend === "" ? Object.values(backends) : [backends[backend]];
  return states.some((state) =>
    state !== undefined &&
    (sync === "" || (sync === "differs" ? state.differs === true : state.state === sync))
  );
}

export type UserListFilters = Omit<UserQuery, "page" | "size" | "sort">;

/**
 * In order of name; at most about `most` users are looked at.
 *
 * @throws Refusal `bad_filter`.
 */
export async function* matchingUsers(
  people: People,
  target: Target,
  { filters, most }: { filters: UserListFilters; most: number },
): AsyncGenerator<Stored> {
  const query = { ...filters, page: 1, size: 1 };
  const tests = testsOf(people, query);
  let looked = 0;
  for await (const step of candidates(people, target, query)) {
    yield* await matchingOf(people, { target, query, tests, step });
    looked += step.length;
    if (looked >= most) return;
  }
}

// The order of the list of users. The directory has an index of names. Other orders read all users that match, up to a limit.

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
type UserOrder = "" | typeof USER_ORDERS[number];

/** Users that one request sorts. */
export const MAX_SORTED = 10_000;

/** When users signed in last, by canonical name. */
async function readLastSignIns(
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
class UserSorter {
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
