// Enrolment: users with, with unused and without factors, and users without a recent sign-in.

import { assertEquals } from "@std/assert";
import { apiCaller } from "../fakes/console_caller.ts";
import { enrolUsers, startReportsConsole } from "../fakes/console_reports.ts";

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
  assertEquals((await api.get<Enrolled>("/reports/enrolment")).report.total, 5, "for five minutes");
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
