// Reads from another SCIM server: capabilities, look-ups and pages (RFC 7644 §3.4, §4).

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { JsonObject, JsonValue, Mapping, ResourceKind } from "../../schema/resource.ts";
import {
  collectionPath,
  fromResource,
  nameFilter,
  parseServiceProviderConfig,
  type ReceivedResource,
  type ScimCapabilities,
  toJsonObject,
} from "./scim_resources.ts";
import { type ScimHttp, type ScimRequest, type ScimResponse, statusError } from "./scim_http.ts";
import { isJsonArray } from "../../schema/json_limits.ts";
import { type BackendError, malformedError, refusedError } from "../backend_error.ts";

const CAPABILITIES_TTL_MS = 3_600_000;
const SHOWN_TTL_MS = 60_000;
const MAX_MEMBER_PAGES = 10;
const MAX_MEMBER_READS = 10;
const MAX_PAGES = 100_000;
/** The maximum number of resources that a search for one name returns. */
const MAX_MATCHES = 10;

/** The parameters of {@link ScimClient.find}. */
interface ScimLookup {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The last known id. */
  readonly id?: string;
  readonly deadlineMs: number;
}

interface ScimClientDeps {
  readonly http: ScimHttp;
  readonly clock: Clock;
  readonly mapping: Mapping;
  readonly url: string;
  readonly secrets: readonly string[];
}

export class ScimClient {
  readonly #deps: ScimClientDeps;
  #known: { capabilities: ScimCapabilities; atMs: number } | null = null;
  #shown: { isShown: boolean; atMs: number } | null = null;
  #hasGroups = true;
  #unreadable = 0;

  constructor(deps: ScimClientDeps) {
    this.#deps = deps;
  }

  /** Whether the server has groups, as far as is known. */
  get hasGroups(): boolean {
    return this.#hasGroups;
  }

  /** How many resources could not be read since the start. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** Reads the capabilities once an hour. If a later read fails, the known ones stay valid. */
  async capabilities(deadlineMs: number): Promise<ScimCapabilities> {
    const { clock, url } = this.#deps;
    const known = this.#known;
    if (known !== null && clock.nowMs() - known.atMs < CAPABILITIES_TTL_MS) return known.capabilities;
    try {
      const request = { method: "GET", path: "/ServiceProviderConfig", deadlineMs } as const;
      const response = await this.send(request, { allow: [404, 405, 501] });
      this.#hasGroups = true;
      const capabilities = parseServiceProviderConfig(response.status < 300 ? response.body : null, url);
      this.#known = { capabilities, atMs: clock.nowMs() };
      return capabilities;
    } catch (thrown) {
      if (known === null) throw thrown;
      return known.capabilities;
    }
  }

  /** The resource with the last known id, otherwise the one with the name. */
  async find(wanted: ScimLookup): Promise<ReceivedResource | null> {
    const { kind, name, id, deadlineMs } = wanted;
    const { dialect } = await this.capabilities(deadlineMs);
    if (dialect.lookUp === "path") return await this.get(kind, { id: name, deadlineMs });
    // Another client may have renamed it at the server. Its id stays (RFC 7643 §3.1).
    const known = id === undefined ? null : await this.get(kind, { id, deadlineMs });
    if (known !== null) return known;
    return await this.#search(wanted);
  }

  /** Reads a resource by the server's own id. */
  async get(
    kind: ResourceKind,
    { id, deadlineMs }: { id: string; deadlineMs: number },
  ): Promise<ReceivedResource | null> {
    const path = `${collectionPath(kind)}/${encodeURIComponent(id)}`;
    const response = await this.send({ method: "GET", path, deadlineMs }, { allow: [404] });
    if (response.status === 404) return null;
    const received = this.#receive(kind, response.body ?? {});
    if (received === null) throw malformedError("the server's response is not a valid resource");
    return received;
  }

  async *pages(kind: ResourceKind, nextDeadline: () => number): AsyncGenerator<ReceivedResource[]> {
    const { dialect, maxResults } = await this.capabilities(nextDeadline());
    let count = 0;
    let firstBefore: JsonValue | undefined = null;
    for (let page = 1; page <= MAX_PAGES; page++) {
      const query = dialect.paging === "page"
        ? `page=${page}`
        : `startIndex=${count + 1}&count=${maxResults}`;
      const list = await this.#list(kind, { query, deadlineMs: nextDeadline() });
      const resources = resourcesOf(list ?? {});
      if (list === null || resources.length === 0) return;
      const first = toJsonObject(resources[0]).id;
      if (first === firstBefore) throw malformedError("the server returns the same page again and again");
      firstBefore = first;
      count += resources.length;
      yield resources.flatMap((one) => this.#receive(kind, one) ?? []);
      // If the total is missing or wrong, one more request is sent. No resource is lost.
      if (typeof list.totalResults === "number" && count >= list.totalResults) return;
    }
    throw malformedError("the server's list does not end");
  }

  /** The total that the server states; `null`: none. */
  async size(kind: ResourceKind, deadlineMs: number): Promise<number | null> {
    const { dialect } = await this.capabilities(deadlineMs);
    const query = dialect.paging === "page" ? "page=1" : "startIndex=1&count=1";
    const total = (await this.#list(kind, { query, deadlineMs }))?.totalResults;
    return typeof total === "number" ? total : null;
  }

  /** Sends any request. A status that is neither a success nor in `allow` is thrown. */
  async send(
    request: ScimRequest,
    { allow = [], secrets = [] }: { allow?: readonly number[]; secrets?: readonly string[] } = {},
  ): Promise<ScimResponse> {
    const response = await this.#deps.http.send(request);
    const { status } = response;
    if ((status >= 200 && status < 300) || allow.includes(status)) return response;
    throw this.errorOf(response, { method: request.method, secrets });
  }

  /** The error for a response that was allowed first. */
  errorOf(
    response: ScimResponse,
    { method, secrets = [] }: { method: ScimRequest["method"]; secrets?: readonly string[] },
  ): BackendError {
    const { clock, secrets: own } = this.#deps;
    return statusError(response, { method, secrets: [...own, ...secrets], nowMs: clock.nowMs() });
  }

  /**
   * Whether the server shows members of any group: in its lists, or else for a single group. Some servers never do (AWS IAM Identity Center), and
   * then a group without members is no statement. Asks for at most {@link MAX_MEMBER_PAGES} pages and {@link MAX_MEMBER_READS} groups.
   */
  async showsMembers(nextDeadline: () => number): Promise<boolean> {
    const nowMs = this.#deps.clock.nowMs();
    if (this.#shown !== null && nowMs - this.#shown.atMs < SHOWN_TTL_MS) return this.#shown.isShown;
    const isShown = await this.#findMembers(nextDeadline);
    this.#shown = { isShown, atMs: nowMs };
    return isShown;
  }

  async #findMembers(nextDeadline: () => number): Promise<boolean> {
    const ids: string[] = [];
    let count = 0;
    for await (const page of this.pages("group", nextDeadline)) {
      if (page.some(({ members }) => members.length > 0)) return true;
      ids.push(...page.slice(0, MAX_MEMBER_READS - ids.length).map(({ id }) => id));
      if (++count === MAX_MEMBER_PAGES) break;
    }
    for (const id of ids) {
      const group = await this.get("group", { id, deadlineMs: nextDeadline() });
      if (group !== null && group.members.length > 0) return true;
    }
    return false;
  }

  /** A list; `null` if the server has no groups. Some servers say this with an error (passbolt: 500). */
  async #list(
    kind: ResourceKind,
    { query, deadlineMs }: { query: string; deadlineMs: number },
  ): Promise<JsonObject | null> {
    const path = `${collectionPath(kind)}?${query}`;
    const allow = kind === "group" ? [404, 405, 500, 501] : [];
    const response = await this.send({ method: "GET", path, deadlineMs }, { allow });
    if (response.status < 300) return response.body ?? {};
    if (response.status === 500) {
      // If users can be read, the server works but has no groups. Otherwise this request throws.
      await this.send({ method: "GET", path: `${collectionPath("user")}?count=1`, deadlineMs });
    }
    this.#hasGroups = false;
    return null;
  }

  async #search({ kind, name, deadlineMs }: ScimLookup): Promise<ReceivedResource | null> {
    const query = new URLSearchParams({ filter: nameFilter(kind, name), count: String(MAX_MATCHES) });
    const list = await this.#list(kind, { query: query.toString(), deadlineMs });
    const canonical = canonicalName(name);
    const [only = null, ...others] = resourcesOf(list ?? {}).flatMap((one) => {
      const read = fromResource(toJsonObject(one), { kind, mapping: this.#deps.mapping });
      return read !== null && canonicalName(read.content.name) === canonical ? [read] : [];
    });
    if (others.length > 0) {
      throw refusedError("the server has several resources with that name", { retry: true });
    }
    return only;
  }

  #receive(kind: ResourceKind, resource: JsonValue): ReceivedResource | null {
    const received = fromResource(toJsonObject(resource), { kind, mapping: this.#deps.mapping });
    if (received === null) this.#unreadable++;
    return received;
  }
}

function resourcesOf(list: JsonObject): readonly JsonValue[] {
  return isJsonArray(list.Resources) ? list.Resources : [];
}
