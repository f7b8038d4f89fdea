// GET /export/{users,groups}?format=jsonl: all resources of a target, one per line, as the export command reads them.

import { assert, assertEquals } from "@std/assert";
import { apiValue, readLines } from "../../cli/admin_connection.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { auditKey } from "../../platform/audit.ts";
import { encodeLoginRecord, historyKey } from "../../radius/conversation/login_record.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

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
