// Lists users: a page of the directory where it can answer alone, else a bounded walk that asks each user.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { keptNames, NOTHING_KEPT } from "../../../scim/schema/read_only_attributes.ts";
import type { Page, Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { directoryNumbers } from "./directory_numbers.ts";
import type { People } from "./user_deps.ts";
import { DetailedRefusal } from "../targets/target_errors.ts";
import { userRow } from "./user_views.ts";
import type { UserPage } from "./user_types.ts";

export interface UserQuery {
  readonly q: string;
  readonly page: number;
  readonly size: number;
  readonly status: "" | "active" | "inactive" | "locked";
  readonly enrolled: "" | "yes" | "no";
  /** A backend's name: those that it holds, owes, or holds otherwise. */
  readonly backend: string;
  readonly sync: "" | "present" | "pending" | "failed" | "vanished" | "differs" | "absent";
}

/** Users that one request looks at, at most. */
const MOST_WALKED = 20_000;
const STEP = 500;

type Test = (stored: Stored) => boolean;

/**
 * One page of users in order of name.
 *
 * @throws Refusal `bad_filter`.
 */
export async function listUsers(people: People, target: Target, query: UserQuery): Promise<UserPage> {
  const tests = testsOf(people, query);
  const { page, size } = query;
  const found = tests.length === 0
    ? { ...await readPage(target, query, { page, size }), isCut: false }
    : await walk(people, { target, query, tests });
  return {
    target: target.name,
    targets: people.targets.names,
    backends: target.backends,
    readOnly: keptNames(target.readOnly ?? NOTHING_KEPT),
    logsIn: target.name === people.loginTarget,
    total: found.total,
    isCut: found.isCut,
    page,
    size,
    rows: found.resources.map((stored) => userRow(people, target, stored)),
    outside: await outsideNames(people, target, query),
  };
}

const MAX_OUTSIDE = 20;
const MAX_OUTSIDE_READ = 500;

/** Paired names that the directory lacks, such as those of `deno task pair`; only without filters, on the first page. */
async function outsideNames(
  { pairings, loginTarget }: People,
  { name, directory }: Target,
  { q, page, status, enrolled, backend, sync }: UserQuery,
): Promise<string[]> {
  if (name !== loginTarget || page !== 1 || `${status}${backend}${sync}` !== "" || enrolled === "no") {
    return [];
  }
  const wanted = canonicalName(q.trim());
  const known = new Map<string, string>();
  for (const { user, shownUser } of pairings.all()) {
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

/** What the directory has no index for is asked of each user, up to a bound. */
async function walk(
  people: People,
  { target, query, tests }: { target: Target; query: UserQuery; tests: readonly Test[] },
): Promise<{ total: number; isCut: boolean; resources: Stored[] }> {
  const first = (query.page - 1) * query.size;
  const resources: Stored[] = [];
  let total = 0;
  let walked = 0;
  for await (const step of candidates(people, target, query)) {
    for (const stored of step) {
      if (!tests.every((test) => test(stored))) continue;
      if (total >= first && resources.length < query.size) resources.push(stored);
      total += 1;
    }
    walked += step.length;
    if (walked >= MOST_WALKED) return { total, isCut: true, resources };
  }
  return { total, isCut: false, resources };
}

/** Everybody who may pass, in order of name: those whom the gateway knows, where that is asked; else those whom the search finds. */
export async function* candidates(
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

/** Canonical names that the gateway has at hand for what is asked; `null` when it has none for it. */
function knownNames({ pairings, limits, factors }: People, { status, enrolled }: UserQuery): string[] | null {
  if (status === "locked") return limits.locked().sort();
  // A number of the directory is a factor, too: only the directory knows who has one.
  const hasNumberFactors = factors.enabled.some((kind) => kind === "sms" || kind === "voice");
  if (enrolled !== "yes" || hasNumberFactors) return null;
  return [...new Set([...pairings.all()].map(({ user }) => user))].sort();
}

export function testsOf(people: People, query: UserQuery): Test[] {
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
  if (query.backend !== "" || query.sync !== "") tests.push((stored) => standsAt(stored, query));
  return tests;
}

/** Whether a login of the user can ask for a second factor: one that was paired, or a number of the directory. */
function hasFactor(people: People, { content }: Stored): boolean {
  const pairings = people.pairings.of(canonicalName(content.name));
  return pairings.length > 0 || directoryNumbers(people, { content, pairings }).length > 0;
}

/** Whether the backend that is asked for (or any) stands to the user as is asked. */
function standsAt({ backends }: Stored, { backend, sync }: UserQuery): boolean {
  if (sync === "absent") return backend !== "" && backends[backend] === undefined;
  const states = backend === "" ? Object.values(backends) : [backends[backend]];
  return states.some((state) =>
    state !== undefined &&
    (sync === "" || (sync === "differs" ? state.differs === true : state.state === sync))
  );
}
