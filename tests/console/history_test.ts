// The history of logins, and exports of it.

import { assert, assertEquals } from "@std/assert";
import { csvCell } from "../../console/api/file_export.ts";
import {
  decodeLoginRecord,
  encodeLoginRecord,
  historyKey,
  type LoginRecord,
} from "../../radius/conversation/login_record.ts";
import { startConsole, type TestConsole } from "../fakes/console_app.ts";
import { apiValue, readLines } from "../../cli/admin_connection.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { auditKey } from "../../platform/audit.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

// The history API: filters, paging by key, and exports that are safe to open in a spreadsheet.

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

// GET /export/{users,groups}?format=jsonl: all resources of a target, one per line, as the export command reads them.

async function fill({ api }: TestComposition): Promise<void> {
  const names = ["anna", "Bob", "陳"];
  const rows = [
    { kind: "user", body: { userName: "anna", password: "a password of hers" } },
    { kind: "user", body: { userName: "Bob" } },
    { kind: "user", body: { userName: "陳" } },
    { kind: "members", group: "staff", add: names },
  ];
  await apiValue(api.imports.rows.$post({ json: { target: "default", rows } }));
}

/** The lines of an export, parsed. */
async function linesOf(
  { api }: TestComposition,
  kind: "users" | "groups",
  query: { q?: string } = {},
): Promise<Record<string, unknown>[]> {
  const wanted = { target: "default", format: "jsonl" as const };
  const call = kind === "users"
    ? api.export.users.$get({ query: { ...wanted, ...query } })
    : api.export.groups.$get({ query: wanted });
  return (await Array.fromAsync(readLines(call))).flat().map((line) => JSON.parse(line));
}

Deno.test("GET /export/users?format=jsonl returns each user as a line, without the password", async () => {
  await using gateway = await openComposition();
  await fill(gateway);
  const users = await linesOf(gateway, "users");
  assertEquals(users.map(({ userName }) => userName), ["anna", "Bob", "陳"]);
  assert(!JSON.stringify(users).includes("password"));
  const [anna] = users;
  assertEquals((anna?.groups as { display: string }[]).map(({ display }) => display), ["staff"]);
});

Deno.test("GET /export/groups?format=jsonl returns each group as a line, with its members", async () => {
  await using gateway = await openComposition();
  await fill(gateway);
  const [staff, ...others] = await linesOf(gateway, "groups");
  assertEquals([staff?.displayName, (staff?.members as unknown[]).length, others], ["staff", 3, []]);
});

Deno.test("GET /export/groups?format=jsonl writes a large group in lines of 1,000 members, which an import can read", async () => {
  await using gateway = await openComposition();
  const add = Array.from({ length: 2500 }, (_, at) => `member-number-${at}`);
  const rows = [
    { kind: "group", body: { displayName: "big", note: "x" } },
    { kind: "members", group: "big", add },
  ];
  await apiValue(gateway.api.imports.rows.$post({ json: { target: "default", rows } }));
  const lines = await linesOf(gateway, "groups");
  const shown = lines.map((
    { displayName, note, members },
  ) => [displayName, note, (members as unknown[]).length]);
  assertEquals(shown, [["big", "x", 1000], ["big", undefined, 1000], ["big", undefined, 500]]);
});

Deno.test("GET /export/users?format=jsonl with a filter returns the matching users", async () => {
  await using gateway = await openComposition();
  await fill(gateway);
  assertEquals((await linesOf(gateway, "users", { q: "bob" })).map(({ userName }) => userName), ["Bob"]);
});

Deno.test("GET /export/users?format=jsonl of an empty target is empty, and is also recorded", async () => {
  await using gateway = await openComposition();
  assertEquals(await linesOf(gateway, "users"), []);
  const records = (await gateway.audits()).map((
    { actor, action, object, after },
  ) => [actor, action, object, after]);
  assertEquals(records, [["command", "user.export", "target:default", "jsonl"]]);
});

/** More than the 100,000 users that an export with a filter reads. */
const MANY = 100_001;

Deno.test("GET /export/users without a filter reads all users of a large directory", async () => {
  await using gateway = await openComposition();
  await fill(gateway);
  const { directory } = gateway.identity.logins;
  const anna = await directory.read("user", "anna");
  assert(anna !== null);
  // Represents a directory of that size.
  Object.assign(directory, {
    async *all() {
      for (let at = 0; at < MANY; at++) yield await Promise.resolve(anna);
    },
  });
  const call = gateway.api.export.users.$get({ query: { target: "default", format: "jsonl" } });
  let lines = 0;
  for await (const some of readLines(call)) lines += some.length;
  assertEquals(lines, MANY);
});

const UNKNOWN = [
  ["GET", "/export/users?target=corp&format=jsonl", "unknown_target"],
  ["GET", "/export/groups?target=corp&format=jsonl", "unknown_target"],
  ["GET", "/export/users?target=default&format=xml", "bad_query"],
] as const;
for (const [method, path, code] of UNKNOWN) {
  Deno.test(`${method} ${path} is refused as ${code}`, async () => {
    await using gateway = await openComposition();
    assertEquals((await gateway.ask(method, path)).code, code);
    assertEquals(await gateway.dump(), "");
  });
}

type Site = Awaited<ReturnType<typeof startPeopleConsole>>;

/** What a spreadsheet accepts as the start of a formula, or of another cell before a formula. */
const BEGINNINGS = {
  "=": "=",
  "+": "+",
  "-": "-",
  "@": "@",
  "a tab": "\t",
  "a carriage return": "\r",
} as const;

/** Exports, each with the place of a hostile text in it. */
const EXPORTS: Readonly<
  Record<string, { path: string; plant: (site: Site, text: string) => Promise<unknown> }>
> = {
  users: {
    path: "export/users?format=csv",
    plant: (site, text) => {
      const content = { kind: "user", name: "ada", active: true, attributes: { displayName: text } } as const;
      return site.target.create(content, { actor: { name: "scim:test", source: "" } });
    },
  },
  groups: { path: "export/groups?format=csv", plant: (site, text) => site.putGroup(text, [text]) },
  history: {
    path: "history/export?format=csv",
    plant: (site, text) => {
      const value = encodeLoginRecord({
        ...{ user: text, client: text, source: "10.1.0.7", place: text, factor: null, target: "default" },
        ...{ startedMs: 1000, endedMs: 2000, outcome: "rejected", refusedFor: null, passwordRight: false },
        moments: [],
      });
      return site.store.commit({ mutations: [{ type: "set", key: historyKey("0000000001a"), value }] });
    },
  },
  audit: {
    path: "audit/export?format=csv",
    plant: (site, text) => {
      const value = { atMs: 1, actor: text, action: "user.change", before: text, after: text };
      return site.store.commit({ mutations: [{ type: "set", key: auditKey("0000000001a"), value }] });
    },
  },
};

for (const [name, { path, plant }] of Object.entries(EXPORTS)) {
  Deno.test(`GET /${path} escapes cells that begin like a formula`, async (step) => {
    for (const [what, beginning] of Object.entries(BEGINNINGS)) {
      await step.step(what, async () => {
        await using site = await startPeopleConsole();
        const text = `${beginning}1+cmd`;
        await plant(site, text);
        const answer = await site.call(`/console/api/${path}`, { cookie: await site.signIn("owner") });
        const cells = cellsOf(await answer.text());
        assert(cells.includes(`'${text}`), `${name} has it: ${JSON.stringify(cells)}`);
        assertEquals(cells.filter((cell) => /^[=+\-@\t\r]/.test(cell)), []);
      });
    }
  });
}

Deno.test("cellsOf() reads cells like a spreadsheet", () => {
  assertEquals(cellsOf('a,"b ""x""\r\n,",\r\n\t=1,d\r\n'), ["a", 'b "x"\r\n,', "", "\t=1", "d"]);
});

/** RFC 4180 §2, all lines in one list. */
function cellsOf(csv: string): string[] {
  const cells: string[] = [];
  for (const [, quoted, bare = ""] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^,\n]*?))(?:,|\r\n)/g)) {
    cells.push(quoted?.replaceAll('""', '"') ?? bare);
  }
  return cells;
}
