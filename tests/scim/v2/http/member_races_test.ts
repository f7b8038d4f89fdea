// Two writers change the members of one group at the same time, with the real program, also when it is killed meanwhile.

import { assert, assertEquals } from "@std/assert";
import { basic } from "../../rows/caller.ts";
import { credentialsToml, WRITER } from "../../rows/rows_world.ts";
import { type RunningProgram, startProgram } from "../../../support/program.ts";
import { PATCH_SCHEMA } from "./v2_world.ts";

const CHANGES = 500;
const USERS = 10;
/** A writer continues after a lost connection; this ends a test whose program does not come back. */
const MAX_TRIES = 300;

async function send(gateway: RunningProgram, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
    method,
    headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
    ...body === undefined ? {} : { body: JSON.stringify(body) },
    signal: AbortSignal.timeout(30_000),
  });
}

async function add(gateway: RunningProgram, path: string, body: object): Promise<string> {
  const response = await send(gateway, "POST", path, body);
  assertEquals(response.status, 201);
  return String((await response.json()).id);
}

/** Sends one change until it is acknowledged: adding and removing can be repeated. */
async function change(
  gateway: RunningProgram,
  { group, user, isMember }: { group: string; user: string; isMember: boolean },
): Promise<void> {
  const operation = isMember
    ? { op: "add", path: "members", value: [{ value: user }] }
    : { op: "remove", path: `members[value eq "${user}"]` };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const answer = await send(gateway, "PATCH", `/Groups/${group}`, {
      ...{ schemas: [PATCH_SCHEMA], Operations: [operation] },
    }).catch((_lost: unknown) => null);
    await answer?.body?.cancel();
    if (answer?.status === 204) return;
    assert(answer === null || answer.status === 503, `status ${answer?.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The change was never acknowledged");
}

for (const crash of [false, true]) {
  Deno.test(`two writers change one group 1,000 times: no membership is lost or left over${crash ? ", after kill -9" : ""}`, async () => {
    await using gateway = await startProgram({ toml: credentialsToml(["default"]) });
    const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
    const users: string[] = [];
    for (let n = 0; n < 2 * USERS; n++) {
      users.push(await add(gateway, "/Users", { schemas, userName: `u${n}` }));
    }
    const group = await add(gateway, "/Groups", { displayName: "team" });
    const expected = new Set<string>();
    let done = 0;
    const write = async (own: readonly string[]): Promise<void> => {
      for (let n = 0; n < CHANGES; n++) {
        // Each round changes every user; the pattern differs from round to round.
        const user = own[n % own.length] ?? "";
        const isMember = (Math.floor(n / own.length) + n) % 3 !== 0;
        await change(gateway, { group, user, isMember });
        if (isMember) expected.add(user);
        else expected.delete(user);
        done++;
      }
    };
    const writing = Promise.all([write(users.slice(0, USERS)), write(users.slice(USERS))]);
    if (crash) {
      while (done < CHANGES) await new Promise((resolve) => setTimeout(resolve, 5));
      await gateway.kill9();
      await gateway.restart();
    }
    await writing;
    const response = await send(gateway, "GET", `/Groups/${group}`);
    const { members = [] }: { members?: { value: string }[] } = await response.json();
    assertEquals(members.map(({ value }) => value).toSorted(), [...expected].toSorted());
    for (const user of users) {
      const { groups = [] } = await (await send(gateway, "GET", `/Users/${user}`)).json();
      assertEquals(groups.length, expected.has(user) ? 1 : 0);
    }
  });
}
