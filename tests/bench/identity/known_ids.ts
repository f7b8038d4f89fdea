// Asks a server for the ids of people and of the group, because /scim/v2 addresses resources by id.

import type { Dialect, KnownIds, KnownPerson } from "./operations.ts";
import { createDraw } from "./generator.ts";
import { firstOutsider, GROUP, personAt } from "./people.ts";

/** People whose ids are known: enough that a cache of the server does not have all of them. */
const MAX_PEOPLE = 5000;
const MAX_OUTSIDERS = 100;
const AT_ONCE = 16;
const SEED = 11;
const PATCH_MESSAGE = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

interface Place {
  readonly port: number;
  readonly users: number;
  readonly dialect: Dialect;
}

/** Reads the ids, and checks that a PATCH adds and removes a member. @throws Error if the server has not what was seeded */
export async function readKnownIds(place: Place): Promise<KnownIds> {
  const { users } = place;
  const draw = createDraw(SEED);
  const wanted = Array.from(
    { length: Math.min(MAX_PEOPLE, users) },
    (_, at) => users <= MAX_PEOPLE ? at : draw(users),
  );
  const people = await inParallel(wanted, async (index): Promise<KnownPerson> => ({
    index,
    id: await idOf(place, "/Users", `userName eq ${JSON.stringify(personAt(index).userName)}`),
  }));
  const from = firstOutsider(users);
  const outside = Array.from({ length: Math.min(MAX_OUTSIDERS, users - from) }, (_, at) => from + at);
  const outsiders = await inParallel(
    outside,
    (index) => idOf(place, "/Users", `userName eq ${JSON.stringify(personAt(index).userName)}`),
  );
  const group = await idOf(place, "/Groups", `displayName eq ${JSON.stringify(GROUP)}`);
  await checkMemberPatch(place, { group, member: outsiders[0] ?? "" });
  return { people, outsiders, group };
}

async function inParallel<T>(indexes: readonly number[], read: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let at = 0; at < indexes.length; at += AT_ONCE) {
    results.push(...await Promise.all(indexes.slice(at, at + AT_ONCE).map(read)));
  }
  return results;
}

async function idOf(place: Place, collection: string, filter: string): Promise<string> {
  const found = await call(place, "GET", `${collection}?filter=${encodeURIComponent(filter)}&attributes=id`);
  const { Resources: [one] = [] }: { Resources?: readonly { id?: string }[] } = JSON.parse(found);
  if (one?.id === undefined) throw new Error(`Cannot measure: ${collection} has nothing for ${filter}`);
  return one.id;
}

/** The load sees only 204, which a PATCH without an effect has, too. */
async function checkMemberPatch(
  place: Place,
  { group, member }: { group: string; member: string },
): Promise<void> {
  const path = `/Groups/${group}`;
  const change = (operation: unknown) =>
    call(place, "PATCH", path, JSON.stringify({ schemas: [PATCH_MESSAGE], Operations: [operation] }));
  const has = async () => (await call(place, "GET", path)).includes(`"value":"${member}"`);
  await change({ op: "add", path: "members", value: [{ value: member }] });
  const isAdded = await has();
  await change({ op: "remove", path: `members[value eq ${JSON.stringify(member)}]` });
  if (!isAdded || await has()) {
    throw new Error("Cannot measure: a PATCH of the group does not change the member");
  }
}

async function call({ port, dialect }: Place, method: string, path: string, body?: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${dialect.base}${path}`, {
    method,
    headers: { authorization: dialect.authorization, "content-type": "application/scim+json" },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot measure: ${method} ${path} is ${response.status}: ${text}`);
  return text;
}
