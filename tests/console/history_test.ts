// The history API: filters, paging by key, and exports that are safe to open in a spreadsheet.

import { assert, assertEquals } from "@std/assert";
import { csvCell } from "../../console/api/file_export.ts";
import {
  decodeLoginRecord,
  encodeLoginRecord,
  historyKey,
  type LoginRecord,
} from "../../radius/conversation/login_record.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";

const START_MS = 1_800_000_000_000;
const login = (values: Partial<LoginRecord> = {}): LoginRecord => ({
  user: "ada",
  client: "vpn-1",
  source: "10.1.0.7",
  place: "198.51.100.23",
  factor: "device",
  startedMs: START_MS,
  endedMs: START_MS + 6200,
  outcome: "rejected",
  refusedFor: null,
  passwordRight: false,
  target: "default",
  moments: [
    { atMs: START_MS, step: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL", row: "pushed" },
    { atMs: START_MS + 6200, step: "rejected", row: "not_approved" },
  ],
  ...values,
});
const TOOK_MS = 6200;
const idAt = (atMs: number) => `${(atMs * 1024).toString(36).padStart(11, "0")}abcdef`;

async function keep(site: TestConsole, logins: readonly Partial<LoginRecord>[]): Promise<void> {
  await site.store.commit({
    mutations: logins.map((values, at) => {
      const startedMs = START_MS + at * 1000;
      const value = encodeLoginRecord(login({ startedMs, endedMs: startedMs + TOOK_MS, ...values }));
      return { type: "set", key: historyKey(idAt(startedMs)), value };
    }),
  });
}
async function ask(site: TestConsole, query: string) {
  const response = await site.call(`/console/api/history${query}`, { cookie: await site.signIn("viewer") });
  return { status: response.status, body: await response.json() };
}
const usersOf = (body: { items: { user: string }[] }) => body.items.map(({ user }) => user);

Deno.test("decodeLoginRecord() reverses encodeLoginRecord(), and returns null for anything else", () => {
  assertEquals(decodeLoginRecord(encodeLoginRecord(login())), login());
  for (const other of [null, "x", 5, new Uint8Array(3), new TextEncoder().encode("[1,2]")]) {
    assertEquals(decodeLoginRecord(other), null);
  }
});

Deno.test("GET /history lists the newest first, with the reason, and pages by key without a gap", async () => {
  await using site = await startConsole();
  await keep(site, [{ user: "a" }, { user: "b", outcome: "accepted" }, { user: "c" }]);
  const first = await ask(site, "?limit=2");
  assertEquals(usersOf(first.body), ["c", "b"]);
  assertEquals(
    first.body.items.map(({ reason }: { reason: { code: string } | null }) => reason?.code ?? null),
    [
      "phone_denied",
      null,
    ],
  );
  const second = await ask(site, `?limit=2&before=${first.body.next}`);
  assertEquals([usersOf(second.body), second.body.next], [["a"], null]);
});

Deno.test("GET /history?sort=started lists the oldest first, and pages by key without a gap, within a period", async () => {
  await using site = await startConsole();
  await keep(site, [{ user: "a" }, { user: "b" }, { user: "c" }, { user: "d" }]);
  const first = await ask(site, "?limit=2&sort=started");
  assertEquals(usersOf(first.body), ["a", "b"]);
  const second = await ask(site, `?limit=2&sort=started&before=${first.body.next}`);
  assertEquals(usersOf(second.body), ["c", "d"]);
  const third = await ask(site, `?limit=2&sort=started&before=${second.body.next}`);
  assertEquals([usersOf(third.body), third.body.next], [[], null]);
  // The period is that of the ends, as in the reports.
  const within = await ask(
    site,
    `?sort=started&from=${START_MS + TOOK_MS + 1000}&to=${START_MS + TOOK_MS + 2000}`,
  );
  assertEquals(usersOf(within.body), ["b", "c"]);
  assertEquals((await ask(site, "?sort=user")).status, 400);
});

Deno.test("GET /history and its export name the administrator who denied a login", async () => {
  await using site = await startConsole();
  await keep(site, [{ denial: { cause: "administrator", by: "root-owner" } }]);
  const { body } = await ask(site, "");
  const { code, values } = body.items[0].reason;
  assertEquals([code, values.by], ["denied_by_administrator", "root-owner"]);
  const details = await site.call(`/console/api/live/logins/${idAt(START_MS)}`, {
    cookie: await site.signIn("viewer"),
  });
  const { explanation } = await details.json();
  assertEquals([explanation.code, explanation.values.by], ["denied_by_administrator", "root-owner"]);
  const csv = await site.call("/console/api/history/export", { cookie: await site.signIn("viewer") });
  const [head = "", line = ""] = (await csv.text()).split("\r\n");
  const cells = new Map(head.split(",").map((name, at) => [name, line.split(",")[at]]));
  assertEquals([cells.get("reason"), cells.get("decided_by")], ["denied_by_administrator", "root-owner"]);
});

Deno.test("GET /history filters by outcome, user, client and time", async () => {
  await using site = await startConsole();
  await keep(site, [
    { user: "Ada", client: "wifi" },
    { user: "grace", outcome: "accepted" },
    { user: "ADA", outcome: "expired" },
  ]);
  assertEquals(usersOf((await ask(site, "?outcome=accepted")).body), ["grace"]);
  assertEquals(usersOf((await ask(site, "?user=ada")).body), ["ADA", "Ada"]);
  assertEquals(usersOf((await ask(site, "?client=wifi")).body), ["Ada"]);
  assertEquals(usersOf((await ask(site, "?target=guests")).body), []);
  const period = `?from=${START_MS + TOOK_MS + 1000}&to=${START_MS + TOOK_MS + 1500}`;
  assertEquals(usersOf((await ask(site, period)).body), ["grace"]);
  assertEquals(usersOf((await ask(site, `?to=${START_MS + TOOK_MS - 1}`)).body), []);
  assertEquals(usersOf((await ask(site, `?from=${START_MS + 9000}&to=${START_MS}`)).body), []);
});

Deno.test("GET /history has the policy of each sign-in, as a filter and in the export", async () => {
  await using site = await startConsole();
  await keep(site, [{ user: "ada", policy: "Office, on site" }, { user: "grace" }]);
  const { items } = (await ask(site, "?policy=Office, on site")).body;
  assertEquals([usersOf({ items }), items[0].policy], [["ada"], "Office, on site"]);
  assertEquals(usersOf((await ask(site, "?policy=none")).body), ["grace"]);
  const cookie = await site.signIn("viewer");
  const csv = await site.call("/console/api/history/export", { cookie });
  const [head = "", grace = "", ada = ""] = (await csv.text()).split("\r\n");
  const ends = [head, grace, ada].map((line, at) =>
    line.endsWith([",policy,token", ",,,", ',"Office, on site",'][at] ?? "")
  );
  assertEquals(ends, [true, true, true], `${head}\n${grace}\n${ada}`);
});

Deno.test("GET /history refuses invalid filters", async () => {
  await using site = await startConsole();
  for (const query of ["?outcome=won", "?from=yesterday", "?limit=0", "?limit=999", "?before=../x"]) {
    assertEquals((await ask(site, query)).body.error?.code, "bad_query", query);
  }
});

Deno.test("GET /history/export is a file of all matches, and escapes text that a spreadsheet would calculate", async () => {
  await using site = await startConsole();
  await keep(site, [{ user: "=cmd|' /C calc'!A0" }, { user: 'a"b,c\nd' }, {
    user: "grace",
    outcome: "accepted",
  }]);
  const cookie = await site.signIn("viewer");
  const csv = await site.call("/console/api/history/export?outcome=rejected", { cookie });
  assertEquals(csv.headers.get("content-disposition"), 'attachment; filename="logins.csv"');
  const text = await csv.text();
  assert(text.startsWith("started,ended,took_ms,user,"));
  assert(text.includes(`,'=cmd|' /C calc'!A0,`));
  assert(text.includes(`,"a""b,c\nd",`));
  assert(!text.includes("grace"));
  const json = await site.call("/console/api/history/export?format=json", { cookie });
  assertEquals((await json.json()).length, 3);
  assertEquals(csvCell("-1+1"), "'-1+1");
  // Where a semicolon separates cells, it would begin a cell.
  assertEquals(csvCell("ada;=1+1"), `"ada;'=1+1"`);
  assertEquals(csvCell("ada\t@x"), `"ada\t'@x"`);
  assertEquals(csvCell(" =1+1"), "' =1+1");
  for (const text of ["＝1+1", "＠x", "\u200b=1", "\u3164-1", "\ufeff+1"]) {
    assertEquals(csvCell(text), `'${text}`);
  }
  assertEquals(csvCell("a;b-c"), `"a;b-c"`);
  // Work that grows with the square of the length would take hours.
  for (const unit of ["\t", "; ", "\n \u200b", " "]) csvCell(unit.repeat(200_000));
});

Deno.test("GET /history/export without matches is an empty list", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const json = await site.call("/console/api/history/export?format=json", { cookie });
  assertEquals(await json.json(), []);
});

Deno.test("GET /live/logins/:id finds a login in the history, without packets, and explains it", async () => {
  await using site = await startConsole();
  await keep(site, [{
    outcome: "rejected",
    refusedFor: "locked",
    moments: [
      { atMs: START_MS, step: "rejected", row: "refused" },
    ],
  }]);
  const cookie = await site.signIn("viewer");
  const found = await site.call(`/console/api/live/logins/${idAt(START_MS)}`, { cookie });
  const { view, packets, explanation } = await found.json();
  assertEquals([view.user, view.outcome, packets, explanation.code], [
    "ada",
    "rejected",
    null,
    "user_locked",
  ]);
  const missing = await site.call("/console/api/live/logins/nothing", { cookie });
  assertEquals([missing.status, (await missing.json()).error.code], [404, "login_gone"]);
});
