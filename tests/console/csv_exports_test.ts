// Every table that leaves the console: no cell of it is a formula to a spreadsheet, whatever a user's name is.

import { assert, assertEquals } from "@std/assert";
import { auditKey } from "../../platform/audit.ts";
import { historyKey, packFinished } from "../../radius/conversation/login_record.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

type Site = Awaited<ReturnType<typeof startPeopleConsole>>;

/** What a spreadsheet takes for the beginning of a formula, or for a cell of its own before one. */
const BEGINNINGS = {
  "=": "=",
  "+": "+",
  "-": "-",
  "@": "@",
  "a tab": "\t",
  "a line's return": "\r",
} as const;

/** Exports, each with how a hostile text gets into it. */
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
      const value = packFinished({
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
  Deno.test(`GET /${path} defuses cells that begin like a formula`, async (step) => {
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

Deno.test("cellsOf() reads cells as a spreadsheet does", () => {
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
