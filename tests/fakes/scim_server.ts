// A SCIM server of another vendor on a free port, with resources in memory. Switches give it the habits of real services: it hides members, lacks a
// method, limits a PATCH, or has values that only its own administrator sets.

export type ServerResource = Record<string, unknown> & { id: string };

export interface ScimServerHabits {
  /** How its answers show the members of groups. Default: as they are. */
  readonly members?: "shown" | "absent" | "empty" | "absent in lists";
  /** Default: both. */
  readonly methods?: readonly ("PUT" | "PATCH")[];
  /** Whether its ServiceProviderConfig says that it has PATCH. Default: as it is. `null`: it has no ServiceProviderConfig. */
  readonly saysPatch?: boolean | null;
  /** The status for a method that it lacks. Default: 501. */
  readonly lacks?: number;
  /** The most members that one PATCH changes. A larger one is refused, and `remove members` without a filter, too. */
  readonly maxMembers?: number;
  /** It refuses the removal of a member that the group does not have (noTarget). */
  readonly strictRemoval?: boolean;
  /** It ignores the filter of this attribute, as if it had no such resource. */
  readonly blindTo?: string;
  /** Each page of its users has new ones. */
  readonly endless?: boolean;
  /** `emails` with this value are refused. */
  readonly refusesValue?: string;
  /** How they are refused. Default: 400 invalidValue. */
  readonly refusal?: readonly [status: number, scimType: string];
  /** Two users cannot have the same first e-mail address; the status and the scimType for it. */
  readonly uniqueEmails?: readonly [status: number, scimType: string];
}

export interface FakeScimServer extends AsyncDisposable {
  readonly url: string;
  readonly users: Map<string, ServerResource>;
  readonly groups: Map<string, ServerResource>;
  /** All requests except GET: `PATCH /Users/u1`, with their bodies. */
  readonly writes: { readonly line: string; readonly body: ServerBody }[];
  readonly reads: string[];
  /** The habits from now on. */
  habits: ScimServerHabits;
  user(userName: string): ServerResource;
  group(displayName: string): ServerResource;
  /** The names of a group's members. */
  members(displayName: string): string[];
}

type ServerBody = Record<string, unknown>;

interface Operation {
  readonly op: string;
  readonly path?: string;
  readonly value?: unknown;
}

class Refused extends Error {
  constructor(readonly status: number, readonly scimType = "") {
    super(`${status} ${scimType}`);
  }
}

export function startScimServer(habits: ScimServerHabits = {}): FakeScimServer {
  const users = new Map<string, ServerResource>();
  const groups = new Map<string, ServerResource>();
  const writes: FakeScimServer["writes"] = [];
  const reads: string[] = [];
  let next = 1;
  const made: { server?: FakeScimServer } = {};
  const handle = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const [, collection = "", id] = pathname.split("/").map(decodeURIComponent);
    const { method } = request;
    const body: ServerBody = method === "GET" || method === "DELETE" ? {} : await request.json();
    if (method === "GET") reads.push(pathname);
    else writes.push({ line: `${method} ${pathname}`, body });
    const now = made.server?.habits ?? habits;
    if (collection === "ServiceProviderConfig") return configOf(now);
    const held = collection === "Users" ? users : groups;
    try {
      return answer({
        held,
        method,
        id,
        body,
        query: searchParams,
        habits: now,
        newId: () => `${collection[0]}${next++}`,
      });
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      const { status, scimType } = thrown;
      return Response.json({ status: String(status), scimType, detail: `refused: ${scimType}` }, { status });
    }
  };
  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => undefined }, handle);
  const find = (held: ReadonlyMap<string, ServerResource>, name: string, attribute: string) => {
    const found = [...held.values()].find((one) => one[attribute] === name);
    if (found === undefined) throw new Error(`The server has no ${name}`);
    return found;
  };
  return made.server = {
    url: `http://127.0.0.1:${http.addr.port}`,
    ...{ users, groups, writes, reads, habits },
    user: (name) => find(users, name, "userName"),
    group: (name) => find(groups, name, "displayName"),
    members: (name) =>
      membersOf(find(groups, name, "displayName")).map(({ value }) => String(users.get(value)?.userName))
        .sort(),
    [Symbol.asyncDispose]: () => http.shutdown(),
  };
}

function configOf({ methods, saysPatch = methods?.includes("PATCH") ?? true }: ScimServerHabits): Response {
  if (saysPatch === null) return Response.json({}, { status: 404 });
  return Response.json({ patch: { supported: saysPatch }, filter: { supported: true, maxResults: 100 } });
}

interface Asked {
  readonly held: Map<string, ServerResource>;
  readonly method: string;
  readonly id: string | undefined;
  readonly body: ServerBody;
  readonly query: URLSearchParams;
  readonly habits: ScimServerHabits;
  readonly newId: () => string;
}

function answer(asked: Asked): Response {
  const { held, method, id, body, habits, newId } = asked;
  if (method === "POST") {
    checkUnique(held, body, "");
    checkValues(body, habits);
    checkEmails(held, body, { own: "", habits });
    const resource = { ...body, id: newId() };
    held.set(resource.id, resource);
    return Response.json(shown(resource, habits, "one"), { status: 201 });
  }
  if (id === undefined) return list(asked);
  const resource = held.get(id);
  if (resource === undefined) throw new Refused(404);
  if (method === "GET") return Response.json(shown(resource, habits, "one"));
  if (method === "DELETE") {
    held.delete(id);
    return new Response(null, { status: 204 });
  }
  const methods: readonly string[] = habits.methods ?? ["PUT", "PATCH"];
  if (!methods.includes(method)) throw new Refused(habits.lacks ?? 501);
  const after = method === "PUT" ? { ...body, id } : patched(resource, body, habits);
  checkUnique(held, after, id);
  checkValues(after, habits);
  checkEmails(held, after, { own: id, habits });
  held.set(id, after);
  return method === "PUT" ? Response.json(shown(after, habits, "one")) : new Response(null, { status: 204 });
}

function checkUnique(held: ReadonlyMap<string, ServerResource>, body: ServerBody, own: string): void {
  const nameOf = (one: ServerBody) => String(one.userName ?? one.displayName).toLowerCase();
  for (const [id, one] of held) {
    if (id !== own && nameOf(one) === nameOf(body)) throw new Refused(409, "uniqueness");
  }
}

function checkValues(
  { emails }: ServerBody,
  { refusesValue, refusal = [400, "invalidValue"] }: ScimServerHabits,
): void {
  if (refusesValue !== undefined && JSON.stringify(emails ?? "").includes(refusesValue)) {
    throw new Refused(...refusal);
  }
}

function checkEmails(
  held: ReadonlyMap<string, ServerResource>,
  body: ServerBody,
  { own, habits: { uniqueEmails } }: { own: string; habits: ScimServerHabits },
): void {
  const first = (one: ServerBody) => (one.emails as { value: string }[] | undefined)?.[0]?.value;
  const isTaken = [...held].some(([id, one]) => id !== own && first(one) === first(body));
  if (uniqueEmails !== undefined && first(body) !== undefined && isTaken) throw new Refused(...uniqueEmails);
}

function list({ held, query, habits }: Asked): Response {
  const [, attribute = "", text = ""] = /^(\w+) eq (".*")$/.exec(query.get("filter") ?? "") ?? [];
  const found = [...held.values()].filter((one) =>
    attribute === "" ||
    (attribute !== habits.blindTo &&
      String(one[attribute]).toLowerCase() === String(JSON.parse(text)).toLowerCase())
  );
  const from = Number(query.get("startIndex") ?? 1) - 1;
  if (habits.endless === true) return endlessPage(from, Number(query.get("count") ?? 100));
  const page = found.slice(from, from + Number(query.get("count") ?? 100));
  return Response.json({
    totalResults: found.length,
    Resources: page.map((one) => shown(one, habits, "list")),
  });
}

function endlessPage(from: number, count: number): Response {
  const page = Array.from(
    { length: count },
    (_, n) => ({ id: `e${from + n}`, userName: `endless${from + n}` }),
  );
  return Response.json({ totalResults: 1e9, Resources: page });
}

function shown(resource: ServerResource, { members }: ScimServerHabits, where: "one" | "list"): ServerBody {
  const { members: all, password: _secret, ...rest } = resource;
  if (all === undefined) return rest;
  if (members === "empty") return { ...rest, members: [] };
  const isHidden = members === "absent" || (members === "absent in lists" && where === "list");
  return isHidden ? rest : { ...rest, members: all };
}

function membersOf({ members }: ServerBody): { value: string }[] {
  return Array.isArray(members) ? members : [];
}

function patched(resource: ServerResource, body: ServerBody, habits: ScimServerHabits): ServerResource {
  const after: ServerResource = structuredClone(resource);
  let changed = 0;
  for (const operation of body.Operations as Operation[]) {
    if (operation.path?.startsWith("members")) changed += patchMembers(after, operation, habits);
    else patchAttribute(after, operation);
  }
  if (habits.maxMembers !== undefined && changed > habits.maxMembers) throw new Refused(400, "tooMany");
  return after;
}

function patchMembers(
  group: ServerResource,
  { op, path, value }: Operation,
  { maxMembers, strictRemoval }: ScimServerHabits,
): number {
  const members = membersOf(group);
  if (op === "add") {
    const added = value as { value: string }[];
    const known = new Set(members.map((one) => one.value));
    group.members = [...members, ...added.filter((one) => !known.has(one.value))];
    return added.length;
  }
  if (path === "members" && maxMembers !== undefined) throw new Refused(400, "invalidValue");
  const id: unknown = path === "members"
    ? null
    : JSON.parse(path?.slice("members[value eq ".length, -1) ?? "");
  const left = id === null ? [] : members.filter((one) => one.value !== id);
  if (id !== null && strictRemoval === true && left.length === members.length) {
    throw new Refused(400, "noTarget");
  }
  group.members = left;
  return 1;
}

function patchAttribute(resource: ServerResource, { op, path = "", value }: Operation): void {
  const at = path.startsWith("urn:") ? path.lastIndexOf(":") : path.indexOf(".");
  const [top, sub] = at < 0 ? [path, null] : [path.slice(0, at), path.slice(at + 1)];
  const holder = sub === null ? resource : (resource[top] ??= {}) as ServerBody;
  const name = sub ?? top;
  if (op !== "remove") holder[name] = value;
  else if (name in holder) delete holder[name];
  else throw new Refused(400, "noTarget");
}
