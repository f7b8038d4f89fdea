// Simultaneous writes of the same resources in the real program: one wins each time, nothing is mixed, and nothing is
// lost.

import { assert, assertEquals } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { type Answer, type Caller, createCaller } from "../scim/rows/caller.ts";
import { credentialsToml, WRITER } from "../scim/rows/rows_world.ts";

let gateway: RunningProgram;
let scim: Caller;
Deno.test.beforeAll(async () => {
  gateway = await startProgram({ toml: credentialsToml(["default"]) });
  scim = createCaller(gateway, { account: WRITER, target: "default" });
});
Deno.test.afterAll(() => gateway.dispose());

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
