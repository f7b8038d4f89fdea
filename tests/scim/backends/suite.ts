// The test suite of the Backend port, run on each real backend and on the fake.

import { assertEquals } from "@std/assert";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { RENAME_CASES } from "./rename_cases.ts";
import type { Backend, BackendOutcome, RemoteResource } from "../../../scim/backend_port.ts";
import type {
  Content,
  GroupContent,
  JsonObject,
  ResourceKind,
  UserContent,
} from "../../../scim/schema/resource.ts";

/** One backend under test, empty at first. */
export interface Bench {
  readonly backend: Backend;
  /** Names that this backend cannot distinguish from others, and may therefore refuse. */
  readonly mayRefuse?: ReadonlySet<string>;
  /** The server distinguishes names by case in searches, contrary to RFC 7643 §4.1.1. */
  readonly caseExact?: boolean;
  /** It stores members for which it has no user. */
  readonly storesUnknownMembers?: boolean;
  dispose(): Promise<void>;
}

export function user(name: string, attributes: JsonObject = {}, { active = true } = {}): UserContent {
  return {
    kind: "user",
    name,
    active,
    attributes: { name: { familyName: "", givenName: "" }, ...attributes },
  };
}

export function group(name: string, members: readonly string[] = []): GroupContent {
  return { kind: "group", name, attributes: {}, members };
}

const ANNA = user("anna", {
  name: { familyName: "Müller", givenName: "Anna" },
  displayName: "Anna Müller",
  emails: [{ value: "anna@example.org" }],
  phoneNumbers: [{ value: "+49 170 1234567" }],
  title: "Engineer",
});

/** Names with characters that have a meaning in a filter, a DN, a URL or JSON. */
export const HOSTILE_NAMES: readonly string[] = [
  "*)(uid=*",
  "*",
  "a,ou=groups",
  "a+cn=b",
  "#4100",
  '"quoted"',
  "back\\slash",
  "Sales/EMEA",
  "/",
  "\\2a",
  "semi;colon",
  "angle<>brackets",
  "equals=sign",
  "ümläut-ß",
  "日本語",
  "😀",
  "per%cent%2F",
  "question?mark&amp",
  "' or '1'='1",
  '" or userName pr or userName eq "',
  "inner  blanks",
  "__proto__",
  "constructor",
];

export function value<T>(outcome: BackendOutcome<T>): T {
  if (!outcome.ok) throw new Error(`${outcome.fault.kind}: ${outcome.fault.detail}`);
  return outcome.value;
}

export async function readContent(
  backend: Backend,
  { kind, name }: { kind: ResourceKind; name: string },
): Promise<Content | null> {
  return value(await backend.read(kind, name))?.content ?? null;
}

export async function listAll(backend: Backend, kind: ResourceKind): Promise<RemoteResource[]> {
  const all: RemoteResource[] = [];
  for await (const page of backend.list(kind)) all.push(...page);
  return all;
}

function members(content: Content | null): string[] {
  if (content?.kind !== "group") throw new Error("a group was expected");
  return content.members.map(canonicalName).sort();
}

type Case = (bench: Bench) => Promise<void>;

const CASES: Readonly<Record<string, Case>> = {
  async "returns null for an unknown name, and removes it without a fault"({ backend }) {
    for (const kind of ["user", "group"] as const) {
      assertEquals(value(await backend.read(kind, "nobody")), null);
      assertEquals(value(await backend.remove(kind, "nobody")), null);
    }
    assertEquals(await listAll(backend, "user"), []);
    assertEquals(await listAll(backend, "group"), []);
  },

  async "creates a user, twice, and reads back what was put"({ backend, caseExact = false }) {
    const first = value(await backend.put({ content: ANNA }));
    const again = value(await backend.put({ content: ANNA }));
    assertEquals(again, first);
    assertEquals(await readContent(backend, { kind: "user", name: "anna" }), ANNA);
    if (!caseExact) assertEquals(await readContent(backend, { kind: "user", name: "ANNA" }), ANNA);
    const hinted = value(await backend.read("user", "anna", first));
    assertEquals(hinted, { content: ANNA, remoteId: first.remoteId });
  },

  async "replaces a user: absent attributes are removed"({ backend }) {
    await backend.put({ content: ANNA });
    const next = user("anna", { name: { familyName: "Schmidt", givenName: "" }, title: "Director" });
    const { remoteId } = value(await backend.put({ content: next }));
    assertEquals(value(await backend.read("user", "anna")), { content: next, remoteId });
    value(await backend.put({ content: user("anna") }));
    assertEquals(await readContent(backend, { kind: "user", name: "anna" }), user("anna"));
  },

  async "stores active if it declares that"({ backend }) {
    value(await backend.put({ content: user("ina", {}, { active: false }) }));
    const read = await readContent(backend, { kind: "user", name: "ina" });
    assertEquals(read?.kind === "user" && read.active, !backend.holds.active);
    value(await backend.put({ content: user("ina", {}, { active: true }) }));
    assertEquals(await readContent(backend, { kind: "user", name: "ina" }), user("ina"));
  },

  async "removes, twice"({ backend }) {
    const { remoteId } = value(await backend.put({ content: ANNA }));
    value(await backend.remove("user", "anna", { remoteId }));
    value(await backend.remove("user", "anna", { remoteId }));
    assertEquals(value(await backend.read("user", "anna", { remoteId })), null);
    const made = value(await backend.put({ content: ANNA }, { remoteId }));
    assertEquals(value(await backend.read("user", "anna"))?.remoteId, made.remoteId);
  },

  async "distinguishes hostile names from each other and from other names"(
    { backend, mayRefuse = new Set() },
  ) {
    value(await backend.put({ content: user("bystander") }));
    const taken = HOSTILE_NAMES.filter((name) => !mayRefuse.has(name));
    for (const name of taken) {
      assertEquals(value(await backend.read("user", name)), null, name);
      value(await backend.put({ content: user(name, { title: name }) }));
    }
    for (const name of taken) {
      assertEquals(await readContent(backend, { kind: "user", name }), user(name, { title: name }), name);
    }
    value(await backend.put({ content: group("hostile", taken) }));
    const read = await readContent(backend, { kind: "group", name: "hostile" });
    assertEquals(members(read), taken.map(canonicalName).sort());
    for (const name of taken) value(await backend.remove("user", name));
    assertEquals((await listAll(backend, "user")).map(({ content }) => content.name), ["bystander"]);
  },

  async "accepts hostile names for groups"({ backend, mayRefuse = new Set() }) {
    const taken = HOSTILE_NAMES.filter((name) => !mayRefuse.has(name));
    for (const name of taken) value(await backend.put({ content: group(name) }));
    for (const name of taken) assertEquals(await readContent(backend, { kind: "group", name }), group(name));
    for (const name of taken) value(await backend.remove("group", name));
    assertEquals(await listAll(backend, "group"), []);
  },

  async "keeps groups and their members consistent"({ backend, caseExact = false }) {
    const people = Array.from({ length: 10 }, (_, n) => `member-${n}`);
    for (const name of people) value(await backend.put({ content: user(name) }));
    const steps: readonly (readonly string[])[] = [
      [],
      people,
      people,
      people.slice(0, 9),
      ["member-9", "member-0"],
      [],
      ["member-5"],
    ];
    const ids = new Set<string>();
    for (const step of steps) {
      ids.add(value(await backend.put({ content: group("team", step) })).remoteId);
      const read = await readContent(backend, { kind: "group", name: caseExact ? "team" : "Team" });
      assertEquals(members(read), [...step].sort());
    }
    assertEquals(ids.size, 1);
    value(await backend.remove("group", "team"));
    value(await backend.remove("group", "team"));
    assertEquals(value(await backend.read("group", "team")), null);
    assertEquals((await listAll(backend, "user")).length, 10);
  },

  async "reports the members that it did not store"({ backend, storesUnknownMembers = false }) {
    value(await backend.put({ content: user("anna") }));
    const strangers = Array.from({ length: 12 }, (_, n) => `stranger-${n}`);
    const put = async (members: readonly string[]) =>
      value(await backend.put({ content: group("team", members) })).notStored;
    const read = async () => members(await readContent(backend, { kind: "group", name: "team" }));
    const first = await put(["bob", "anna", "eve"]);
    if (storesUnknownMembers) {
      assertEquals([first, await read()], [undefined, ["anna", "bob", "eve"]]);
      return;
    }
    const two = { count: 2, names: ["bob", "eve"] };
    assertEquals([first, await read()], [two, ["anna"]]);
    assertEquals(await put(["bob", "anna", "eve"]), two);
    assertEquals(await put(["anna", ...strangers]), { count: 12, names: strangers.slice(0, 10) });
    value(await backend.put({ content: user("bob") }));
    assertEquals(await put(["bob", "anna", "eve"]), { count: 1, names: ["eve"] });
    assertEquals(await read(), ["anna", "bob"]);
    assertEquals(await put(["bob", "anna"]), undefined);
    assertEquals(await put([]), undefined);
  },

  async "lists 650 users, in pages, and a group of 550 of them"({ backend }) {
    const names = Array.from({ length: 650 }, (_, n) => `user-${String(n).padStart(4, "0")}`);
    const outcomes = await inTurns(names, (name) => backend.put({ content: user(name, { title: name }) }));
    assertEquals(outcomes.filter((outcome) => !outcome.ok), []);
    const listed = await listAll(backend, "user");
    assertEquals(listed.map(({ content }) => content.name).sort(), names);
    assertEquals(new Set(listed.map(({ remoteId }) => remoteId)).size, 650);
    assertEquals(listed.map(({ content }) => content).find(({ name }) => name === "user-0555"), {
      ...user("user-0555", { title: "user-0555" }),
    });
    value(await backend.put({ content: group("large", names.slice(0, 550)) }));
    const read = await readContent(backend, { kind: "group", name: "large" });
    assertEquals(members(read), names.slice(0, 550));
    value(await backend.put({ content: group("large", names.slice(1, 551)) }));
    const [only, ...others] = await listAll(backend, "group");
    assertEquals(others, []);
    assertEquals(members(only?.content ?? null), names.slice(1, 551));
  },

  ...RENAME_CASES,

  async "answers a probe, and after close() reports that it cannot be reached"({ backend }) {
    assertEquals(await backend.probe(), { ok: true, value: null });
    await backend.close();
    const outcome = await backend.probe();
    assertEquals(outcome.ok ? "ok" : outcome.fault.kind, "unreachable");
  },
};

/** Twenty at a time, as the outbox does at most. */
async function inTurns<A, B>(items: readonly A[], task: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let from = 0; from < items.length; from += 20) {
    results.push(...await Promise.all(items.slice(from, from + 20).map(task)));
  }
  return results;
}

/** Registers the suite. @param register `Deno.test`, or a function that skips the tests where something is missing. */
export function testBackend(
  title: string,
  { open, register, skip = [] }: {
    open: () => Promise<Bench>;
    register: (name: string, body: () => Promise<void>) => void;
    /** Titles of cases that do not apply to this backend. */
    skip?: readonly (keyof typeof CASES)[];
  },
): void {
  for (const [name, body] of Object.entries(CASES)) {
    if (skip.includes(name)) continue;
    register(`${title} ${name}`, async () => {
      const bench = await open();
      try {
        await body(bench);
      } finally {
        await bench.dispose();
      }
    });
  }
}
