// Complete logins and SCIM writes at the same time, until the real program is killed; and after each restart, what its answers promised.

import { assert, assertEquals } from "@std/assert";
import { CONSOLE_API_PATH } from "../../console/api/console_api.ts";
import type { CreatedConnectionSecret } from "../../console/api/connections/connection_types.ts";
import { writePairings } from "../fakes/program_services.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import type { RadiusClient } from "../support/radius_client.ts";
import { type BuiltRequest, CODES, type Reply } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { unhandledLines } from "./unhandled_lines.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
const STEP_MS = 30_000;
const TARGET = "default";
/** Each signs in one user after the other. */
const LOGIN_WORKERS = 6;
/** A code is accepted once, so that each login has a user of its own. */
const LOGINS_EACH = 60;
/** Each creates and changes users, and owns a group. */
const SCIM_WORKERS = 4;
/** A round in which less was acknowledged proves little. */
const MIN_ACKNOWLEDGED = 8;
/** When used steps are written into the records of the apps, and when the audit log is indexed after a start. */
const [FLUSH_MS, INDEX_MS] = [30_000, 5000];

interface KilledLoadOptions {
  readonly kills: number;
  /** The same seed has the same moments. */
  readonly seed: number;
  /** Some processes are killed while they start, and some when they write used steps into the records of the apps. */
  readonly isThorough?: boolean;
}

/** What the program acknowledged, and what its restarts were asked. */
export interface KilledLoadFigures {
  readonly kills: number;
  logins: number;
  /** Logins whose answer was lost with the process: the same packet got the Accept after the restart. */
  continued: number;
  replays: number;
  writes: number;
}

/** Kills the program again and again under load. @throws AssertionError if an answered login or write is lost, doubled or incomplete */
export async function killUnderLoad(
  { kills, seed, isThorough = false }: KilledLoadOptions,
): Promise<KilledLoadFigures> {
  const figures = { kills, logins: 0, continued: 0, replays: 0, writes: 0 };
  const roll = createDice(seed);
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-killed-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(dataDir, { recursive: true }));
  const names = Array.from({ length: kills * LOGIN_WORKERS * LOGINS_EACH }, (_, at) => `app${at}`);
  await writePairings(dataDir, names.map((name) => [name, { kind: "totp", seed: SEED }]));
  const gateway = stack.use(await startProgram({ dataDir, toml: `[targets.${TARGET}]` }));
  const api = openApi(gateway);
  const logins = new Logins({ gateway, api, names, figures });
  const people = new People(await openScim(gateway, api), { roll, figures });

  for (let round = 0; round < kills; round++) {
    const isLong = isThorough && round % 5 === 4;
    const delayMs = isLong ? FLUSH_MS - 500 + roll(1500) : roll(800);
    await runUntilKilled({ gateway, logins, people, figures }, { round, delayMs });
    await gateway.restart();
    if (isThorough && round % 3 === 2) {
      // While the program reads what the killed one left, or writes its indexes.
      await pause(roll(2) === 0 ? roll(300) : INDEX_MS - 300 + roll(600));
      await gateway.kill9();
      await gateway.restart();
    }
    await logins.checkRound();
    await people.check();
  }
  if (isThorough) await gateway.restart();
  await logins.checkAll();
  assertEquals(unhandledLines(gateway.logLines(), ["could not be recorded", "could not be read"]), []);
  return figures;
}

interface Load {
  readonly gateway: RunningProgram;
  readonly logins: Logins;
  readonly people: People;
  readonly figures: KilledLoadFigures;
}

/** @param life.delayMs how long the load lasts, after enough was acknowledged */
async function runUntilKilled(
  { gateway, logins, people, figures }: Load,
  { round, delayMs }: { round: number; delayMs: number },
): Promise<void> {
  const before = { ...figures };
  const isEnough = () =>
    figures.logins - before.logins >= MIN_ACKNOWLEDGED && figures.writes - before.writes >= MIN_ACKNOWLEDGED;
  const life = new AbortController();
  const loads = Promise.all([
    logins.load(life.signal, delayMs / LOGINS_EACH),
    people.load(life.signal, round),
  ]);
  const enough = eventually("logins and writes", isEnough, { withinMs: 120_000 });
  // A fault of the load comes first.
  await Promise.race([enough, loads.then(() => enough)]);
  await pause(delayMs);
  await gateway.kill9();
  life.abort();
  await loads;
}

type Api = (path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** The console's API, as an operator of the machine asks it through the control socket. */
function openApi({ dataDir }: RunningProgram): Api {
  return async (path, body) => {
    const proxy = { transport: "unix", path: `${dataDir}/control.sock` } as const;
    using client = Deno.createHttpClient({ proxy, poolMaxIdlePerHost: 0, http2: false });
    const init: RequestInit & { client: Deno.HttpClient } = {
      client,
      ...body === undefined
        ? {}
        : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    };
    const response = await fetch(`http://localhost${CONSOLE_API_PATH}${path}`, init);
    assert(response.ok, path);
    const json = await response.json();
    return Array.isArray(json) ? { items: json } : json;
  };
}

interface LoginDeps {
  readonly gateway: RunningProgram;
  readonly api: Api;
  readonly names: string[];
  readonly figures: KilledLoadFigures;
}

interface Login {
  readonly user: string;
  readonly code: string;
  readonly step: number;
  readonly answer: BuiltRequest;
}

/** One record of the history. */
interface Ended {
  readonly id: string;
  readonly user: string;
  readonly outcome: string;
  readonly reason: { readonly code: string } | null;
}

/** Complete logins with the code of an authenticator app, each by another user. */
class Logins {
  readonly #deps: LoginDeps;
  #fresh = 0;
  /** All logins that received an Access-Accept. */
  readonly #accepted: Login[] = [];
  /** Those of this round. */
  #round: Login[] = [];
  /** Those whose last packet was not answered. */
  #open: Login[] = [];

  constructor(deps: LoginDeps) {
    this.#deps = deps;
  }

  /** Signs in until the program has ended. */
  async load(life: AbortSignal, pauseMs: number): Promise<void> {
    await Promise.all(Array.from({ length: LOGIN_WORKERS }, async () => {
      using client = this.#deps.gateway.client();
      for (let turn = 0; turn < LOGINS_EACH && !life.aborted; turn++) {
        await this.#signIn(client, life);
        await pause(pauseMs);
      }
    }));
  }

  async #signIn(client: RadiusClient, life: AbortSignal): Promise<void> {
    const user = this.#deps.names[this.#fresh++] ?? "";
    const challenge = await answered(client, client.build({ userName: user, password: "x" }), life);
    if (challenge === null) return;
    assertEquals([challenge.code, challenge.problems], [CODES.accessChallenge, []]);
    const login = this.#answer(client, user, challenge);
    const reply = await answered(client, login.answer, life);
    if (reply === null) this.#open.push(login);
    else this.#end(login, reply);
  }

  #answer(client: RadiusClient, user: string, { state }: Reply): Login {
    const nowMs = Date.now();
    const step = Math.floor(nowMs / STEP_MS);
    const code = totpCode(SEED, nowMs);
    const answer = client.build({ userName: user, password: code, state: state ?? undefined });
    return { user, code, step, answer };
  }

  #end(login: Login, reply: Reply): void {
    assertEquals([login.user, reply.code, reply.problems], [login.user, CODES.accessAccept, []]);
    this.#round.push(login);
    this.#accepted.push(login);
    this.#deps.figures.logins++;
  }

  /** Ends the logins that the crash interrupted, and checks those of the round. */
  async checkRound(): Promise<void> {
    const { figures, gateway } = this.#deps;
    await Promise.all(
      this.#open.splice(0).map(async (login) => {
        using client = gateway.client();
        const reply = await client.exchange(login.answer);
        // The code of an app may be too old after a slow start, if the crash came before it was used.
        if (reply.code === CODES.accessReject && !isCurrent(login)) return;
        this.#end(login, reply);
        figures.continued++;
      }),
    );
    await Promise.all(this.#round.map((login) => this.#replay(login)));
    await this.#checkHistory(this.#round);
    for (const { user } of this.#round) await this.#checkUser(user);
    this.#round = [];
  }

  /** Checks the logins of all rounds, and the pages of every fifth user. */
  async checkAll(): Promise<void> {
    await this.#checkHistory(this.#accepted);
    for (const [at, { user }] of this.#accepted.entries()) if (at % 5 === 0) await this.#checkUser(user);
  }

  /** The code of the login in another login of its user. */
  async #replay(login: Login): Promise<void> {
    if (!isCurrent(login)) return;
    using client = this.#deps.gateway.client();
    const { user, code } = login;
    const challenge = await client.ask({ userName: user, password: "x", nasPort: 2 });
    assertEquals(challenge.code, CODES.accessChallenge);
    const password = { userName: user, password: code, nasPort: 2, state: challenge.state ?? undefined };
    assertEquals((await client.ask(password)).code, CODES.accessReject, `the code of ${user} again`);
    // Otherwise its age was the reason.
    if (isCurrent(login)) this.#deps.figures.replays++;
  }

  async #checkHistory(logins: readonly Login[]): Promise<void> {
    const { items } = await this.#deps.api("/history/export?format=json");
    const accepted = (items as Ended[]).filter(({ outcome }) => outcome === "accepted");
    const records = Map.groupBy(accepted, ({ user }) => user);
    for (const { user } of logins) assertEquals(records.get(user)?.length, 1, `records of ${user}`);
    assertEquals(accepted.length, this.#accepted.length);
  }

  async #checkUser(user: string): Promise<void> {
    const { api } = this.#deps;
    const timeline = await api(`/users/${user}/timeline`) as { entries: { action: string }[] };
    const audit = await api(`/audit?object=user:${user}`) as { items: { action: string }[] };
    for (const records of [timeline.entries, audit.items]) {
      const accepts = records.filter(({ action }) => action === "login.accepted");
      assertEquals(accepts.length, 1, `${user}: ${records.map(({ action }) => action)}`);
    }
  }
}

/** Whether the code would still be accepted if it were not used. */
function isCurrent({ step }: Login): boolean {
  return Math.floor(Date.now() / STEP_MS) - step <= 1;
}

/** `null`: the program has ended. */
async function answered(
  client: RadiusClient,
  request: BuiltRequest,
  life: AbortSignal,
): Promise<Reply | null> {
  const ended = new Promise<null>((resolve) => life.addEventListener("abort", () => resolve(null)));
  const reply = client.exchange(request);
  reply.catch(() => undefined);
  return life.aborted ? null : await Promise.race([reply, ended]);
}

type Scim = (method: string, path: string, body?: unknown) => Promise<ScimAnswer>;

interface ScimAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

/** A caller of the interface for identity providers. */
async function openScim(gateway: RunningProgram, api: Api): Promise<Scim> {
  const connection = { name: "load", kind: "other", target: TARGET };
  const limits = { deletionPercent: 100, requestsPerMinute: 600_000 };
  const { secret } = await api("/connections", {
    ...connection,
    ...limits,
  }) as unknown as CreatedConnectionSecret;
  const headers = {
    authorization: `Bearer ${secret?.text}`,
    "content-type": "application/scim+json",
  };
  return async (method, path, body) => {
    const response = await fetch(`${gateway.httpUrl}/scim/v2/${TARGET}${path}`, {
      method,
      headers,
      ...body === undefined ? {} : { body: JSON.stringify(body) },
    });
    const text = await response.text();
    return { status: response.status, text, json: text === "" ? {} : JSON.parse(text) };
  };
}

/** A person as the last answered write left him or her, and the write without an answer. */
interface Person {
  readonly userName: string;
  id: string | null;
  sure: string | null;
  maybe: string | null;
}

interface Team {
  readonly id: string;
  sure: readonly string[];
  maybe: readonly string[] | null;
}

interface PersonResource {
  readonly id: string;
  readonly userName: string;
  readonly title: string;
  readonly name: { readonly familyName: string };
  readonly emails: readonly { readonly value: string }[];
  readonly groups?: readonly { readonly value: string }[];
}

/** Users and groups, written by one worker each, so that the order of their writes is known. */
class People {
  readonly #scim: Scim;
  readonly #roll: (below: number) => number;
  readonly #figures: KilledLoadFigures;
  readonly #people: Person[] = [];
  readonly #teams: Team[] = [];

  constructor(
    scim: Scim,
    { roll, figures }: { roll: (below: number) => number; figures: KilledLoadFigures },
  ) {
    this.#scim = scim;
    this.#roll = roll;
    this.#figures = figures;
  }

  /** Writes until the program has ended. */
  async load(life: AbortSignal, round: number): Promise<void> {
    await Promise.all(Array.from({ length: SCIM_WORKERS }, async (_, worker) => {
      const displayName = `team ${round} of ${worker}`;
      const created = await this.#write("POST", "/Groups", { schemas: [SCHEMA.group], displayName });
      if (created === null) return;
      const team: Team = { id: String(created.id), sure: [], maybe: null };
      this.#teams.push(team);
      const own: Person[] = [];
      for (let turn = 0; !life.aborted; turn++) {
        const userName = `r${round}w${worker}n${turn}`;
        if (!await this.#create(userName, own)) return;
        const [person] = own.slice(this.#roll(own.length));
        if (person === undefined || !await this.#change(person, `${userName}-changed`)) return;
        if (!await this.#join(team, own)) return;
        await pause(5);
      }
    }));
  }

  async #create(userName: string, own: Person[]): Promise<boolean> {
    const person: Person = { userName, id: null, sure: null, maybe: userName };
    this.#people.push(person);
    const body = { schemas: [SCHEMA.user], userName, ...contentOf(userName) };
    const created = await this.#write("POST", "/Users", body);
    if (created === null) return false;
    Object.assign(person, { id: created.id, sure: userName, maybe: null });
    own.push(person);
    return true;
  }

  /** Attributes that all have the same text, so that a partial write would show. */
  async #change(person: Person, text: string): Promise<boolean> {
    person.maybe = text;
    const Operations = [{ op: "replace", value: contentOf(text) }];
    const changed = await this.#write("PATCH", `/Users/${person.id}`, {
      schemas: [SCHEMA.patch],
      Operations,
    });
    if (changed === null) return false;
    Object.assign(person, { sure: text, maybe: null });
    return true;
  }

  /** Adds two members, or removes one. */
  async #join(team: Team, own: readonly Person[]): Promise<boolean> {
    const chosen = [this.#roll(own.length), this.#roll(own.length)].map((at) => own[at]?.id ?? "");
    const [first = ""] = chosen;
    const removes = team.sure.includes(first);
    team.maybe = removes ? team.sure.filter((id) => id !== first) : [...new Set([...team.sure, ...chosen])];
    const Operations = removes
      ? [{ op: "remove", path: `members[value eq "${first}"]` }]
      : [{ op: "add", path: "members", value: chosen.map((value) => ({ value })) }];
    if (await this.#write("PATCH", `/Groups/${team.id}`, { schemas: [SCHEMA.patch], Operations }) === null) {
      return false;
    }
    Object.assign(team, { sure: team.maybe, maybe: null });
    return true;
  }

  /** @returns `null` if the program ended before it answered */
  async #write(method: string, path: string, body: unknown): Promise<Record<string, unknown> | null> {
    try {
      const { status, text, json } = await this.#scim(method, path, body);
      assert(status >= 200 && status < 300, `${method} ${path}: ${status} ${text}`);
      this.#figures.writes++;
      return json;
    } catch (fault) {
      if (!(fault instanceof TypeError)) throw fault;
      return null;
    }
  }

  /** Every answered write is there, and the others are complete or absent. */
  async check(): Promise<void> {
    const list = await this.#read();
    const found = new Map(list.map((one) => [one.userName, one]));
    assertEquals(found.size, list.length);
    for (const person of this.#people) {
      const { userName, sure, maybe } = person;
      const one = found.get(userName);
      const state = one?.title ?? null;
      assert(state === sure || state === maybe, `${userName} is ${state}, not ${sure} or ${maybe}`);
      if (one !== undefined) {
        const { title, name: { familyName }, emails } = one;
        assertEquals(
          { title, name: { familyName }, emails: emails.map(({ value }) => ({ value })) },
          contentOf(title),
        );
        if (maybe !== null) assertEquals(await this.#withEmail(title), [one.id]);
      }
      Object.assign(person, { id: one?.id ?? null, sure: state, maybe: null });
    }
    assertEquals(list.length, this.#people.filter(({ sure }) => sure !== null).length);
    for (const team of this.#teams) await this.#checkTeam(team, list);
  }

  async #checkTeam(team: Team, list: readonly PersonResource[]): Promise<void> {
    const { status, json, text } = await this.#scim("GET", `/Groups/${team.id}`);
    assertEquals(status, 200, text);
    const members = (json.members ?? []) as { value: string }[];
    const shown = members.map(({ value }) => value).sort();
    const allowed = [team.sure, ...team.maybe === null ? [] : [team.maybe]];
    assert(allowed.some((one) => one.toSorted().join() === shown.join()), `${team.id} has ${shown}`);
    const inside = list.filter(({ groups = [] }) => groups.some(({ value }) => value === team.id));
    assertEquals(inside.map(({ id }) => id).sort(), shown);
    Object.assign(team, { sure: shown, maybe: null });
  }

  async #read(): Promise<PersonResource[]> {
    const list: PersonResource[] = [];
    for (let total = 1; list.length < total;) {
      const { status, json, text } = await this.#scim(
        "GET",
        `/Users?startIndex=${list.length + 1}&count=100`,
      );
      assertEquals(status, 200, text);
      total = Number(json.totalResults);
      list.push(...(json.Resources ?? []) as PersonResource[]);
    }
    return list;
  }

  /** The ids of the users whom the index of values finds. */
  async #withEmail(text: string): Promise<string[]> {
    const filter = encodeURIComponent(`emails.value eq "${text}@example.org"`);
    const { json } = await this.#scim("GET", `/Users?filter=${filter}`);
    return ((json.Resources ?? []) as PersonResource[]).map(({ id }) => id);
  }
}

const SCHEMA = {
  user: "urn:ietf:params:scim:schemas:core:2.0:User",
  group: "urn:ietf:params:scim:schemas:core:2.0:Group",
  patch: "urn:ietf:params:scim:api:messages:2.0:PatchOp",
} as const;

const contentOf = (text: string) => ({
  title: text,
  name: { familyName: text },
  emails: [{ value: `${text}@example.org` }],
});

/** Numbers that are the same in each run. */
function createDice(seed: number): (below: number) => number {
  let dice = seed;
  return (below) => (dice = (dice * 48271) % 2147483647) % below;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
