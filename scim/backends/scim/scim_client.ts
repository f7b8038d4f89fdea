// What is asked of another SCIM server, and in which words: abilities, look-ups, pages (RFC 7644 §3.4, §4).

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../../schema/resource.ts";
import { asObject, isList, readAbilities, type ScimAbilities } from "./scim_dialects.ts";
import { troubleOf } from "./scim_codes.ts";
import type { ScimAnswer, ScimHttp, ScimRequest } from "./scim_http.ts";
import { fromResource, nameFilter, pathOf, type ReceivedResource } from "./scim_resources.ts";
import { nonsense, refused } from "../backend_error.ts";

const ABILITIES_MS = 3_600_000;
const MAX_PAGES = 100_000;
/** Resources that a server may take for the same name. */
const LOOKALIKES = 10;

export interface ScimService {
  /** Read once an hour. When that fails later, what was known goes on. */
  abilities(deadlineMs: number): Promise<ScimAbilities>;
  /** Whether the server has groups, as far as is known. */
  hasGroups(): boolean;
  find(wanted: Wanted): Promise<ReceivedResource | null>;
  /** By the server's own id. */
  get(kind: ResourceKind, options: { id: string; deadlineMs: number }): Promise<ReceivedResource | null>;
  pages(kind: ResourceKind, nextDeadline: () => number): AsyncGenerator<ReceivedResource[]>;
  /** Any request; a status that is neither success nor among `allow` is thrown. */
  send(
    request: ScimRequest,
    options?: { allow?: readonly number[]; secrets?: readonly string[] },
  ): Promise<ScimAnswer>;
  /** Resources that could not be read since the start. */
  unreadable(): number;
}

export interface Wanted {
  readonly kind: ResourceKind;
  readonly name: string;
  /** An id that it had. */
  readonly id?: string;
  readonly deadlineMs: number;
}

export function createScimService(
  { http, clock, mapping, url, secrets }: {
    http: ScimHttp;
    clock: Clock;
    mapping: Mapping;
    url: string;
    secrets: readonly string[];
  },
): ScimService {
  let known: { abilities: ScimAbilities; atMs: number } | null = null;
  let hasGroups = true;
  let unreadable = 0;

  const send: ScimService["send"] = async (request, { allow = [], secrets: more = [] } = {}) => {
    const answer = await http.ask(request);
    const { status } = answer;
    if ((status >= 200 && status < 300) || allow.includes(status)) return answer;
    throw troubleOf(answer, {
      writes: request.method !== "GET",
      secrets: [...secrets, ...more],
      nowMs: clock.nowMs(),
    });
  };

  const received = (kind: ResourceKind, resource: JsonValue): ReceivedResource | null => {
    const read = fromResource(asObject(resource), { kind, mapping });
    if (read === null) unreadable++;
    return read;
  };

  const readOne = (kind: ResourceKind, answer: ScimAnswer): ReceivedResource | null => {
    if (answer.status === 404) return null;
    const read = received(kind, answer.body ?? {});
    if (read === null) throw nonsense("the server's answer is no resource that can be read here");
    return read;
  };

  const get: ScimService["get"] = async (kind, { id, deadlineMs }) => {
    const path = `${pathOf(kind)}/${encodeURIComponent(id)}`;
    return readOne(kind, await send({ method: "GET", path, deadlineMs }, { allow: [404] }));
  };

  /** A list; `null` when the server has no groups at all, which some say with a failure (passbolt: 500). */
  const collection = async (
    kind: ResourceKind,
    { query, deadlineMs }: { query: string; deadlineMs: number },
  ): Promise<JsonObject | null> => {
    const path = `${pathOf(kind)}?${query}`;
    const allow = kind === "group" ? [404, 405, 500, 501] : [];
    const answer = await send({ method: "GET", path, deadlineMs }, { allow });
    if (answer.status < 300) return answer.body ?? {};
    if (answer.status === 500) {
      // Only a server that is well otherwise says with it that it has none.
      await send({ method: "GET", path: `${pathOf("user")}?count=1`, deadlineMs });
    }
    hasGroups = false;
    return null;
  };

  const search = async ({ kind, name, deadlineMs }: Wanted): Promise<ReceivedResource | null> => {
    const query = new URLSearchParams({ filter: nameFilter(kind, name), count: String(LOOKALIKES) });
    const list = await collection(kind, { query: query.toString(), deadlineMs });
    const canonical = canonicalName(name);
    const found = resourcesOf(list ?? {}).flatMap((one) => {
      const read = fromResource(asObject(one), { kind, mapping });
      return read !== null && canonicalName(read.content.name) === canonical ? [read] : [];
    });
    const [only = null, ...others] = found;
    if (others.length > 0) throw refused("the server has several resources of that name", { retry: true });
    return only;
  };

  const service: ScimService = {
    async abilities(deadlineMs) {
      if (known !== null && clock.nowMs() - known.atMs < ABILITIES_MS) return known.abilities;
      try {
        const request = { method: "GET", path: "/ServiceProviderConfig", deadlineMs } as const;
        const answer = await send(request, { allow: [404, 405, 501] });
        hasGroups = true;
        const abilities = readAbilities(answer.status < 300 ? answer.body : null, url);
        known = { abilities, atMs: clock.nowMs() };
      } catch (thrown) {
        if (known === null) throw thrown;
      }
      return known.abilities;
    },
    hasGroups: () => hasGroups,
    async find(wanted) {
      const { kind, name, id, deadlineMs } = wanted;
      const { dialect } = await service.abilities(deadlineMs);
      if (dialect.lookUp === "path") return await get(kind, { id: name, deadlineMs });
      if (id !== undefined) {
        const kept = await get(kind, { id, deadlineMs });
        if (kept !== null && canonicalName(kept.content.name) === canonicalName(name)) return kept;
      }
      return await search(wanted);
    },
    get,
    async *pages(kind, nextDeadline) {
      const { dialect, maxResults } = await service.abilities(nextDeadline());
      let got = 0;
      let firstBefore: JsonValue | undefined = null;
      for (let page = 1; page <= MAX_PAGES; page++) {
        const query = dialect.paging === "page"
          ? `page=${page}`
          : `startIndex=${got + 1}&count=${maxResults}`;
        const list = await collection(kind, { query, deadlineMs: nextDeadline() });
        const resources = resourcesOf(list ?? {});
        if (list === null || resources.length === 0) return;
        const first = asObject(resources[0]).id;
        if (first === firstBefore) throw nonsense("the server gives the same page again and again");
        firstBefore = first;
        got += resources.length;
        yield resources.flatMap((one) => received(kind, one) ?? []);
        // A total that is missing or wrong costs one more request, never a resource.
        if (typeof list.totalResults === "number" && got >= list.totalResults) return;
      }
      throw nonsense("the server's list has no end");
    },
    send,
    unreadable: () => unreadable,
  };
  return service;
}

function resourcesOf(list: JsonObject): readonly JsonValue[] {
  return isList(list.Resources) ? list.Resources : [];
}
