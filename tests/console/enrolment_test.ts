// Enrolment: users with, with unused and without factors, and users without a recent sign-in.

import { assertEquals } from "@std/assert";
import { EnrolmentCounter } from "../../console/api/reports/enrolment_counter.ts";
import { createLog } from "../../platform/log.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { openPeople } from "../fakes/console_people.ts";
import { enrolUsers, startReportsConsole } from "../fakes/console_reports.ts";
import { createManualClock, eventually } from "../upstream/manual_clock.ts";

const API = "/console/api";
const DAY_MS = 24 * 3_600_000;

async function openApi() {
  const site = await startReportsConsole();
  const call = apiCaller(site, await site.signIn("viewer"));
  return {
    site,
    get: <T>(path: string) => call<T>(`${API}${path}`),
    [Symbol.asyncDispose]: site[Symbol.asyncDispose],
  };
}

type FactorFigures = { users: number; unused: number; neverUsed: number };
interface Enrolled {
  readonly report: {
    counted: number;
    total: number;
    active: number;
    enrolled: number;
    numberOnly: number;
    without: number;
    neverSignedIn: number;
    inactive: Record<string, number>;
    factors: Record<string, FactorFigures>;
  };
}

Deno.test("GET /reports/enrolment counts users with, with unused and without factors", async () => {
  await using api = await openApi();
  await enrolUsers(api.site);
  const { report } = await api.get<Enrolled>("/reports/enrolment");
  assertEquals([report.counted, report.total, report.active], [5, 5, 4]);
  assertEquals([report.enrolled, report.numberOnly, report.without, report.neverSignedIn], [2, 1, 1, 3]);
  assertEquals(report.factors.sms, { users: 2, unused: 1, neverUsed: 1 });
  assertEquals(report.factors.totp, { users: 0, unused: 0, neverUsed: 0 });
  assertEquals(report.inactive, { 30: 0, 60: 0, 90: 0 }, "the users are new");
  await api.site.people.put("new", {});
  const totals = async () => {
    const { without } = (await api.get<Enrolled>("/reports/enrolment")).report;
    return [without, (await api.get<{ count: number }>("/overview/factorless")).count];
  };
  // A count begins at most for a twentieth of the time, so a new user is counted a moment later.
  await eventually("the new user is counted on both pages", async () => `${await totals()}` === "2,2");
});

Deno.test("users without a recent sign-in are older than the period and did not sign in during it", async () => {
  await using api = await openApi();
  await enrolUsers(api.site);
  const { people } = api.site;
  const users = async (query: string) =>
    (await api.get<{ rows: { name: string }[] }>(`/users?page=1&size=50&${query}`)).rows.map(({ name }) =>
      name
    );
  assertEquals(await users("inactive=30"), [], "the users are new");
  // The same users, 40 days later.
  const later = people.lastSignIns.daysAgoMs(0) + 40 * DAY_MS;
  people.lastSignIns.daysAgoMs = (days) => later - days * DAY_MS;
  people.lastSignIns.note({ user: "alan", factor: null, updatedMs: later - DAY_MS });
  assertEquals(await users("inactive=30"), ["ada", "Grace", "linus"]);
  assertEquals(await users("inactive=30&enrolled=yes&q=a"), ["ada"]);
  assertEquals(await users("inactive=60"), []);
});

/** Counters of two nodes over one store and one directory, whose reads a test counts: each user takes 10 ms. */
async function openCounters() {
  const people = await openPeople({});
  for (const name of ["ada", "bob", "cleo"]) await people.put(name);
  const clock = createManualClock();
  let counts = 0;
  const { directory } = people.target;
  const counted = {
    ...directory,
    async page(...[kind, query]: Parameters<typeof directory.page>) {
      const found = await directory.page(kind, query);
      counts += 1;
      clock.advance(10 * found.resources.length);
      return found;
    },
  };
  const furnished = people.furnish({ clock, console: {}, http: {}, installation: {} } as never).people;
  if (furnished === undefined) throw new Error("no users");
  const target = { ...people.target, directory: counted };
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const openCounter = (node: string) =>
    new EnrolmentCounter({
      people: { ...furnished, targets: { names: ["default"], get: () => target } },
      store: { ...people.store, node },
      clock,
      log,
    });
  return {
    ...{ people, clock, a: openCounter("aaaaaaaa"), b: openCounter("bbbbbbbb") },
    counts: () => counts,
    [Symbol.asyncDispose]: () => people[Symbol.asyncDispose](),
  };
}

Deno.test("EnrolmentCounter counts again only after a change or five minutes, for a twentieth of the time", async () => {
  await using site = await openCounters();
  const { people, clock, a, counts } = site;
  const read = async () => [(await a.read()).report?.without, counts()];
  assertEquals(await read(), [3, 1]);
  clock.advance(60_000);
  assertEquals(await read(), [3, 1], "nothing changed");
  await people.put("eve", { phoneNumbers: [{ value: "+4915112345678" }] });
  assertEquals(await read(), [3, 2], "a user with a number of the directory");
  await people.put("dora");
  clock.advance(30);
  assertEquals(await read(), [3, 2], "too early: the count took 40 ms");
  clock.advance(800);
  assertEquals(await read(), [4, 3], "a new user");
  clock.advance(5 * 60_000 + 1);
  assertEquals(await read(), [4, 4], "the result is too old");
});

Deno.test("EnrolmentCounter uses the result of another node, until it sees a change that is not in it", async () => {
  await using site = await openCounters();
  const { people, clock, a, b, counts } = site;
  const read = async (one: EnrolmentCounter) => [(await one.read()).report?.without, counts()];
  // Each node does not know what changed before it started.
  assertEquals(await read(a), [3, 1]);
  clock.advance(60_000);
  assertEquals(await read(b), [3, 2], "a new node");
  clock.advance(60_000);
  assertEquals([await read(a), await read(b)], [[3, 2], [3, 2]], "both use the result of b");
  await people.put("dora");
  clock.advance(60_000);
  assertEquals(await read(a), [4, 3], "a new user");
  assertEquals(await read(b), [4, 3], "the result of a began after the change");
  await people.put("emil");
  clock.advance(1000);
  assertEquals(await read(b), [5, 4], "another new user");
  clock.advance(1000);
  assertEquals(await read(a), [5, 5], "the clocks may differ, so a counts too");
});
