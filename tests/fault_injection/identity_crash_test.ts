// kill -9 under load, and simultaneous writes: nothing is lost, nothing is mixed, and all indexes agree.

import { assert, assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";

// kill -9 under a load of creates, replaces, deletes and group changes: every acknowledged write exists afterwards, an
// unacknowledged one exists completely or not at all, and all indexes agree. Each law has few kills: a crash at each commit is played by
// tests/scim/directory, and here the file of the store and the process are real.

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({
    toml: `${credentialsToml(["default"])}[targets.default]\npage_size = 1000`,
  });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
});
Deno.test.afterAll(() => gateway.dispose());

/** The possible state of a user: a title, or `null` for absent. */
type State = string | null;
/** The state of one name: the last acknowledged write, and later requests without an answer. */
interface Known {
  sure: State;
  maybe: State[];
}

/** Each user belongs to one worker, so that the order of the writes of each name is known. */
const WORKERS = 6;
const NAMES_EACH = 8;
const GROUPS = ["red", "green", "blue"];
const known = new Map<string, Known>();
const members = new Map<string, { sure: readonly string[]; maybe: (readonly string[])[] }>();
let dice = 7;
/** Numbers that are the same in each run. */
const roll = (below: number) => (dice = (dice * 48271) % 2147483647) % below;

/** A title that is repeated in the other attributes, so that a partial write would show. */
const body = (userName: string, title: string) => ({
  userName,
  title,
  name: { familyName: `F${title}`, givenName: `G${title}` },
  emails: [{ value: `${title}@example.org` }],
  "urn:example:filler": { text: title.repeat(100) },
});

async function answered(call: Promise<Answer>): Promise<Answer | null> {
  try {
    return await call;
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    return null;
  }
}

/** One write of one user; `false` when the program has ended. */
async function writeUser(name: string, turn: number): Promise<boolean> {
  const now = known.get(name) ?? { sure: null, maybe: [] };
  known.set(name, now);
  const removes = now.sure !== null && roll(5) === 0;
  const title: State = removes ? null : `t${turn}x${roll(1_000_000)}`;
  now.maybe.push(title);
  const answer = await answered(
    title === null
      ? scim.remove(`/Users/${name}`)
      : now.sure === null
      ? scim.post("/Users", body(name, title))
      : scim.put(`/Users/${name}`, body(name, title)),
  );
  if (answer === null) return false;
  assert(answer.status < 300, answer.text);
  Object.assign(now, { sure: title, maybe: [] });
  return true;
}

async function writeGroup(name: string): Promise<boolean> {
  const now = members.get(name) ?? { sure: [], maybe: [] };
  members.set(name, now);
  const chosen = [...known.keys()].filter(() => roll(2) === 0);
  now.maybe.push(chosen);
  const answer = await answered(
    scim.put(`/Groups/${name}`, { displayName: name, members: chosen.map((display) => ({ display })) }),
  );
  if (answer === null) return false;
  assert(answer.status < 300, answer.text);
  Object.assign(now, { sure: chosen, maybe: [] });
  return true;
}

/** Writes until the program has ended. `onAcknowledged` receives the number of acknowledged writes after each one. */
async function load(round: number, onAcknowledged: (count: number) => void): Promise<number> {
  let acknowledged = 0;
  const note = () => onAcknowledged(++acknowledged);
  const users = Array.from({ length: WORKERS }, async (_, worker) => {
    for (let turn = 0; turn < 1000; turn++) {
      const name = `w${worker}n${roll(NAMES_EACH)}`;
      if (!await writeUser(name, round * 1000 + turn)) return;
      note();
    }
  });
  const groups = GROUPS.map(async (name) => {
    for (let turn = 0; turn < 1000; turn++) {
      if (!await writeGroup(name)) return;
      note();
    }
  });
  await Promise.all([...users, ...groups]);
  return acknowledged;
}

interface User {
  readonly id: string;
  readonly title: string;
  readonly groups?: readonly { display: string }[];
}

async function users(path: string): Promise<{ total: unknown; list: User[] }> {
  const { status, json, text } = await scim.get(path);
  assertEquals(status, 200, text);
  return { total: json.totalResults, list: json.Resources as User[] };
}

/** Every user has an allowed state, and nothing of another write. */
async function checkUsers(): Promise<void> {
  const { total, list } = await users("/Users");
  assertEquals(total, list.length);
  const seen = new Map(list.map((user) => [user.id, user]));
  for (const [name, now] of known) {
    const found = seen.get(name);
    const state = found?.title ?? null;
    assert(
      state === now.sure || now.maybe.includes(state),
      `${name} is ${state}, sure was ${now.sure}, perhaps ${now.maybe.join(" or ")}`,
    );
    const { status, json } = await scim.get(`/Users/${name}`);
    assertEquals(status, state === null ? 404 : 200);
    if (found === undefined || state === null) {
      Object.assign(now, { sure: null, maybe: [] });
      continue;
    }
    assertEquals(json, { ...found });
    const { id: _, ...wanted } = { id: name, ...body(name, state) };
    for (const [attribute, value] of Object.entries(wanted)) assertEquals(json[attribute], value);
    // It is found by each of its words, once, and by none of another write.
    for (const word of [`F${state}`, `${state}@example.org`]) {
      assertEquals((await users(`/Users?q=${encodeURIComponent(word)}`)).list.map(({ id }) => id), [name]);
    }
    Object.assign(now, { sure: state, maybe: [] });
  }
  assertEquals(seen.size, [...known.values()].filter(({ sure }) => sure !== null).length);
}

/** Members of groups and groups of members agree, and a search by group finds them. */
async function checkGroups(): Promise<void> {
  const { list } = await users("/Users");
  const there = new Set(list.map(({ id }) => id));
  for (const [name, now] of members) {
    const { json } = await scim.get(`/Groups/${name}`);
    const shown = (json.members as { display: string }[]).map(({ display }) => display);
    assertEquals(new Set(shown).size, shown.length);
    // Users who were deleted since are not members; an unknown name may be stored.
    const fits = [now.sure, ...now.maybe].some((one) => {
      const left = one.filter((member) => there.has(member));
      const kept = shown.filter((member) => there.has(member));
      return left.length >= kept.length && kept.every((member) => one.includes(member));
    });
    assert(fits, `${name} has ${shown.join(" ")}`);
    const inside = list.filter(({ groups = [] }) => groups.some(({ display }) => display === name));
    assertEquals(inside.map(({ id }) => id).sort(), shown.filter((member) => there.has(member)).sort());
    const found = await users(`/Users?q=${encodeURIComponent(`groups.display eq "${name}"`)}`);
    assertEquals(found.list.map(({ id }) => id).sort(), inside.map(({ id }) => id).sort());
    assertEquals((await users(`/Users?q=${name}`)).total, inside.length);
    Object.assign(now, { sure: shown, maybe: [] });
  }
}

Deno.test("kill -9 under load: acknowledged writes stay, others are complete or absent, and the indexes agree", async () => {
  for (const name of GROUPS) assertEquals((await scim.post("/Groups", { displayName: name })).status, 201);
  let acknowledged = 0;
  // After a number of writes, not after a time, because a busy machine writes fewer.
  for (const [round, writes] of [15, 90].entries()) {
    const { promise: enough, resolve } = Promise.withResolvers<void>();
    const loading = load(round, (count) => count === writes && resolve());
    await Promise.race([enough, loading]);
    await gateway.kill9();
    acknowledged += await loading;
    await gateway.restart();
    await checkUsers();
    await checkGroups();
  }
  assert(acknowledged >= 105, `only ${acknowledged} writes were acknowledged`);
});

Deno.test("kill -9 while a group of thousands is replaced: it has the old members or the new ones, never a mixture", async () => {
  const named = (prefix: string) => Array.from({ length: 6000 }, (_, at) => ({ display: `${prefix}${at}` }));
  assertEquals((await scim.post("/Groups", { displayName: "big", members: named("a") })).status, 201);
  let sure = "a";
  for (const [round, afterMs] of [40, 150].entries()) {
    const next = `r${round}-`;
    const writing = answered(scim.put("/Groups/big", { displayName: "big", members: named(next) }));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await gateway.kill9();
    const isAcknowledged = await writing !== null;
    await gateway.restart();
    const { json } = await scim.get("/Groups/big");
    const shown = (json.members as { display: string }[]).map(({ display }) => display);
    const prefixes = new Set(shown.map((name) => name.replace(/\d+$/, "")));
    assertEquals([shown.length, prefixes.size], [6000, 1]);
    const [now = ""] = prefixes;
    assert(now === next || (!isAcknowledged && now === sure), `${now} after ${next}`);
    sure = now;
  }
});

Deno.test("kill -9 while a user of three hundred groups is deleted or deactivated: in all of them, or in none", async () => {
  const groups = Array.from({ length: 300 }, (_, at) => `many${at}`);
  const countOf = async (name: string) => {
    const { json } = await scim.get("/Groups?q=many");
    return (json.Resources as { members?: { display: string }[] }[])
      .filter(({ members = [] }) => members.some(({ display }) => display === name)).length;
  };
  const members = ["deleted", "resting"].map((display) => ({ display }));
  for (const afterMs of [10, 40]) {
    await scim.post("/Users", { userName: "deleted" });
    await scim.post("/Users", { userName: "resting" });
    await scim.put("/Users/resting", { active: true });
    const write = (displayName: string) =>
      afterMs === 10
        ? scim.post("/Groups", { displayName, members })
        : scim.put(`/Groups/${displayName}`, { displayName, members });
    await Promise.all(groups.map(write));
    assertEquals([await countOf("deleted"), await countOf("resting")], [groups.length, groups.length]);
    const leaving = [scim.remove("/Users/deleted"), scim.put("/Users/resting", { active: false })].map(
      answered,
    );
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await gateway.kill9();
    const areAcknowledged = (await Promise.all(leaving)).map((answer) => answer !== null);
    await gateway.restart();
    for (const [at, name] of ["deleted", "resting"].entries()) {
      const { status, json } = await scim.get(`/Users/${name}`);
      const hasLeft = status === 404 || json.active === false;
      assert(hasLeft || areAcknowledged[at] !== true);
      assertEquals(await countOf(name), hasLeft ? 0 : groups.length);
      const shown = status === 404 ? [] : (json.groups ?? []) as unknown[];
      assertEquals(shown.length, hasLeft ? 0 : groups.length);
    }
  }
});

// Simultaneous writes of the same resources in the real program: one wins each time, nothing is mixed, and nothing is
// lost.

const WRITERS = 24;

/** One simultaneous call of each writer. */
function atOnce(call: (writer: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: WRITERS }, (_, writer) => call(writer)));
}

const count = (answers: readonly Answer[], status: number) =>
  answers.filter((one) => one.status === status).length;

/** Attributes that all name the same writer. */
const bodyOf = (writer: number) => ({
  title: `w${writer}`,
  nickName: `w${writer}`,
  name: { familyName: `w${writer}`, givenName: `w${writer}` },
  emails: [{ value: `w${writer}@example.org` }],
});

function writerOf({ json }: Answer): string {
  const { familyName, givenName } = json.name as Record<string, string>;
  const [{ value } = { value: "" }] = json.emails as { value: string }[];
  const told = new Set([json.title, json.nickName, familyName, givenName, value.split("@")[0]]);
  assertEquals(told.size, 1, `a mixture: ${[...told].join(" ")}`);
  return String(json.title);
}

Deno.test("simultaneous POSTs of one name: one is 201, the others 409, and the user has the winner's attributes", async () => {
  for (let round = 0; round < 3; round++) {
    const answers = await atOnce((writer) =>
      scim.post("/Users", { userName: `raced${round}`, ...bodyOf(writer) })
    );
    assertEquals([count(answers, 201), count(answers, 409)], [1, WRITERS - 1]);
    const winner = answers.find(({ status }) => status === 201);
    const now = await scim.get(`/Users/raced${round}`);
    assertEquals(now.text, winner?.text);
    writerOf(now);
    assertEquals((await scim.get(`/Users?q=raced${round}`)).json.totalResults, 1);
    assertEquals((await scim.remove(`/Users/raced${round}`)).status, 204);
  }
});

Deno.test("simultaneous PUTs without If-Match: the last one is stored completely, and every answer has one writer's content", async () => {
  await scim.post("/Users", { userName: "shared" });
  const answers = await atOnce((writer) => scim.put("/Users/shared", bodyOf(writer)));
  for (const answer of answers) assert(answer.status === 200 || answer.status === 409, answer.text);
  for (const answer of answers.filter(({ status }) => status === 200)) writerOf(answer);
  const last = writerOf(await scim.get("/Users/shared"));
  assert(answers.some(({ status, json }) => status === 200 && json.title === last));
  // The index has the last writer and none of the others.
  for (let writer = 0; writer < WRITERS; writer++) {
    const { json } = await scim.get(`/Users?q=w${writer}@example.org`);
    assertEquals(json.totalResults, `w${writer}` === last ? 1 : 0, `w${writer}, last is ${last}`);
  }
});

Deno.test("simultaneous PUTs with one If-Match: one wins, the others are 412, and the winner's content is stored", async () => {
  const { headers } = await scim.post("/Users", { userName: "guarded" });
  const etag = headers.get("etag") ?? "";
  const answers = await atOnce((writer) =>
    scim.call("/Users/guarded", { method: "PUT", body: bodyOf(writer), headers: { "if-match": etag } })
  );
  assertEquals(count(answers, 200), 1);
  assertEquals(count(answers, 412) + count(answers, 409), WRITERS - 1);
  const winner = answers.find(({ status }) => status === 200);
  assertEquals(writerOf(await scim.get("/Users/guarded")), winner?.json.title);
  const stale = await scim.call("/Users/guarded", { method: "DELETE", headers: { "if-match": etag } });
  assertEquals(stale.status, 412);
});

Deno.test("every increment with If-Match counts: no update is lost", async () => {
  await scim.post("/Users", { userName: "counter", title: "0" });
  const increment = async (): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      const now = await scim.get("/Users/counter");
      const answer = await scim.call("/Users/counter", {
        method: "PUT",
        body: { title: String(Number(now.json.title) + 1) },
        headers: { "if-match": now.headers.get("etag") ?? "" },
      });
      if (answer.status === 200) return;
      assert([409, 412].includes(answer.status), answer.text);
    }
    throw new Error("It never got its turn");
  };
  await Promise.all(Array.from({ length: 12 }, increment));
  assertEquals((await scim.get("/Users/counter")).json.title, "12");
});

Deno.test("simultaneous PUTs of one group: its members are one writer's, and each user's groups agree", async () => {
  const users = Array.from({ length: WRITERS * 2 }, (_, at) => `m${at}`);
  await Promise.all(users.map((userName) => scim.post("/Users", { userName })));
  await scim.post("/Groups", { displayName: "crowd" });
  const own = (writer: number) => users.filter((_, at) => at % WRITERS === writer || at === 0);
  const answers = await atOnce((writer) =>
    scim.put("/Groups/crowd", { members: own(writer).map((display) => ({ display })) })
  );
  assert(count(answers, 200) >= 1 && count(answers, 200) + count(answers, 409) === WRITERS);
  const { json } = await scim.get("/Groups/crowd");
  const members = (json.members as { display: string }[]).map(({ display }) => display).sort();
  const matches = Array.from({ length: WRITERS }, (_, writer) => own(writer).sort().join());
  assert(matches.includes(members.join()), members.join(" "));
  for (const name of users) {
    const { groups = [] } = (await scim.get(`/Users/${name}`)).json as { groups?: unknown[] };
    assertEquals(groups.length, members.includes(name) ? 1 : 0, name);
  }
});

Deno.test("users deleted and created during PUTs of groups: members and groups agree at the end", async () => {
  const names = Array.from({ length: 10 }, (_, at) => `flux${at}`);
  await Promise.all(names.map((userName) => scim.post("/Users", { userName })));
  await scim.post("/Groups", { displayName: "flux" });
  const members = names.map((display) => ({ display }));
  await Promise.all([
    ...names.map(async (userName) => {
      for (let turn = 0; turn < 6; turn++) {
        await scim.remove(`/Users/${userName}`);
        await scim.post("/Users", { userName });
      }
    }),
    ...[0, 1].map(async () => {
      for (let turn = 0; turn < 12; turn++) {
        const { status, text } = await scim.put("/Groups/flux", { members: turn % 3 === 0 ? [] : members });
        assert(status === 200 || status === 409, text);
      }
    }),
  ]);
  const { json } = await scim.get("/Groups/flux");
  const inside = new Set((json.members as { display: string }[]).map(({ display }) => display));
  for (const name of names) {
    const user = await scim.get(`/Users/${name}`);
    assertEquals(user.status, 200);
    const { groups = [] } = user.json as { groups?: { display: string }[] };
    assertEquals(groups.map(({ display }) => display), inside.has(name) ? ["flux"] : [], name);
  }
  assertEquals((await scim.get("/Users?q=flux")).json.totalResults, names.length);
});

Deno.test("simultaneous DELETEs: one is 204, the others 404", async () => {
  await scim.post("/Users", { userName: "doomed" });
  const answers = await atOnce(() => scim.remove("/Users/doomed"));
  assertEquals([count(answers, 204), count(answers, 404)], [1, WRITERS - 1]);
});

Deno.test("pages that are read while users are created and deleted have every user who stayed", async () => {
  const stays = Array.from({ length: 150 }, (_, at) => `stay${String(at).padStart(3, "0")}`);
  await Promise.all(stays.map((userName) => scim.post("/Users", { userName })));
  let isDone = false;
  const churn = async () => {
    for (let turn = 0; !isDone; turn++) {
      await scim.post("/Users", { userName: `zz${turn}` });
      await scim.remove(`/Users/zz${turn}`);
    }
  };
  const churning = churn();
  for (let round = 0; round < 5; round++) {
    const seen: string[] = [];
    for (let page = 1;; page++) {
      const { json } = await scim.get(`/Users?q=stay&page=${page}`);
      const ids = (json.Resources as { id: string }[]).map(({ id }) => id);
      assertEquals(json.totalResults, stays.length);
      if (ids.length === 0) break;
      seen.push(...ids);
    }
    assertEquals(seen, stays);
  }
  isDone = true;
  await churning;
});
