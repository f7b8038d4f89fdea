// Requests to another SCIM server, with limits for concurrency, time and response size. Reads: capabilities, look-ups and pages (RFC 7644 §3.4, §4).

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
import { isJsonArray, parseJsonObject } from "../../schema/attributes.ts";
import {
  BackendError,
  foreignDetail,
  malformedError,
  refusedError,
  unreachableError,
} from "../backend_error.ts";
import type { ScimBackendSettings } from "../../../platform/config/config.ts";
import {
  type BodyFlaw,
  type Fetch,
  type FetchResult,
  fetchWithDeadline,
  NO_ANSWER_IN_TIME,
  readRetryAfter,
} from "../../../platform/fetch_with_deadline.ts";
import { ConnectionLimit } from "../guarded_backend.ts";
import type { BackendFault } from "../../backend_port.ts";

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

interface ScimRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base URL, with a leading slash, percent-encoded; with the query. */
  readonly path: string;
  readonly body?: JsonObject;
  readonly deadlineMs: number;
}

export interface ScimResponse {
  readonly status: number;
  readonly headers: Headers;
  /** `null` if the body is empty, or if the status is an error and the body is not a JSON object. */
  readonly body: JsonObject | null;
}

export interface ScimHttp {
  /** Returns a response with any status. Throws a BackendError if there is no response. A GET is repeated once if its connection fails. */
  send(request: ScimRequest): Promise<ScimResponse>;
  close(): Promise<void>;
}

const USER_AGENT = "Countersign";
const MAX_RESPONSE_OCTETS = 16 * 1024 * 1024;
/** The redirects that `fetch` would follow. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createScimHttp(
  { settings, fetch, clock }: { settings: ScimBackendSettings; fetch: Fetch; clock: Clock },
): ScimHttp {
  const limit = new ConnectionLimit({ clock, connections: settings.connections });
  const closing = new AbortController();
  const headers = { ...authorization(settings), "User-Agent": USER_AGENT, Accept: "application/scim+json" };

  const exchange = async ({ method, path, body, deadlineMs }: ScimRequest): Promise<ScimResponse> => {
    const request = {
      method,
      url: settings.url + path,
      headers: body === undefined ? headers : { ...headers, "Content-Type": "application/scim+json" },
      ...body !== undefined && { body: JSON.stringify(body) },
    };
    const result = await fetchWithDeadline(request, {
      fetch,
      clock,
      deadlineMs,
      maxOctets: MAX_RESPONSE_OCTETS,
      signal: closing.signal,
    });
    return toResponse(result, { writes: method !== "GET" });
  };

  const exchangeWithRetry = async (request: ScimRequest): Promise<ScimResponse> => {
    try {
      return await exchange(request);
    } catch (thrown) {
      const isRepeatable = request.method === "GET" && thrown instanceof BackendError &&
        thrown.fault.kind === "unreachable" && !closing.signal.aborted &&
        clock.nowMs() < request.deadlineMs;
      if (!isRepeatable) throw thrown;
      return await exchange(request);
    }
  };

  return {
    send: (request) => limit.run(() => exchangeWithRetry(request), request.deadlineMs),
    close() {
      closing.abort();
      return limit.close();
    },
  };
}

function authorization({ token, userName, password }: ScimBackendSettings): Record<string, string> {
  if (token !== "") return { Authorization: `Bearer ${token}` };
  return { Authorization: `Basic ${new TextEncoder().encode(`${userName}:${password}`).toBase64()}` };
}

/** @param options.writes whether the request may have changed something. */
function toResponse(result: FetchResult, { writes }: { writes: boolean }): ScimResponse {
  if (!result.ok) {
    if (result.loss === NO_ANSWER_IN_TIME) throw outOfTime({ writes });
    throw lost({ unsure: writes && result.loss.sent });
  }
  const { status, headers, body } = result;
  if (REDIRECTS.has(status)) throw lost({ unsure: writes });
  if (body === null) throw FLAWS[result.flaw]({ writes });
  return { status, headers, body: readJson(body, { isSuccess: status >= 200 && status <= 299 }) };
}

const lost = ({ unsure }: { unsure: boolean }) =>
  unreachableError("the server cannot be reached, or the connection was lost", { unsure });

const outOfTime = ({ writes }: { writes: boolean }) =>
  unreachableError("the server did not respond in time", { unsure: writes });

const FLAWS: Readonly<Record<BodyFlaw, (options: { writes: boolean }) => BackendError>> = {
  too_long: () => malformedError("the server's response is too long"),
  broke_off: ({ writes }) => unreachableError("the server's response is incomplete", { unsure: writes }),
  out_of_time: outOfTime,
};

function readJson(octets: Uint8Array, { isSuccess }: { isSuccess: boolean }): JsonObject | null {
  if (octets.length === 0) return null;
  const parsed = parseJsonObject(octets, { uniqueNames: null });
  if (parsed.ok) return parsed.value;
  if (isSuccess) throw malformedError("the server's response is not a JSON object");
  return null;
}

interface StatusRow {
  readonly kind: BackendFault["kind"];
  readonly retry: boolean;
  /** The operation may have been done nevertheless. */
  readonly unsure?: true;
  readonly text: string;
}

const STATUSES: ReadonlyMap<number, StatusRow> = new Map([
  [400, { kind: "refused", retry: false, text: "the server does not accept the request" }],
  [401, { kind: "refused", retry: true, text: "the server does not accept the gateway's credential" }],
  [403, { kind: "refused", retry: true, text: "the gateway's credential does not have the permission" }],
  [404, { kind: "refused", retry: true, text: "the server has no resource at that path" }],
  [405, { kind: "unsupported", retry: false, text: "the server does not support the method" }],
  [408, { kind: "busy", retry: true, unsure: true, text: "the server waited too long for the request" }],
  [409, { kind: "refused", retry: true, text: "the server has another resource with that name or value" }],
  [412, { kind: "refused", retry: true, text: "another client changed the resource meanwhile" }],
  [413, { kind: "refused", retry: false, text: "the request is too large for the server" }],
  [422, { kind: "refused", retry: false, text: "the server does not accept a value" }],
  [429, { kind: "busy", retry: true, text: "the server received too many requests" }],
  [501, { kind: "unsupported", retry: false, text: "the server does not support the operation" }],
  [502, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    text: "a gateway in front of the server cannot reach it",
  }],
  [503, { kind: "busy", retry: true, unsure: true, text: "the server is busy" }],
  [504, {
    kind: "unreachable",
    retry: true,
    unsure: true,
    text: "the server did not respond to the gateway in front of it",
  }],
]);
const SERVER_FAILED: StatusRow = {
  kind: "refused",
  retry: true,
  unsure: true,
  text: "the server reported an internal error",
};
const OTHER: StatusRow = { kind: "nonsense", retry: true, text: "the server sent an unexpected status" };

/** The types of a 400 that concern the values. The others concern the form of our request. Many servers send none. */
const VALUE_TYPES: readonly string[] = ["", "invalidValue", "mutability", "sensitive"];

/** Whether the values of the client are the reason. The detail of the server says which one (RFC 7644 §3.12). */
function concernsValues({ status, body }: ScimResponse, type: string): boolean {
  return status === 413 || status === 422 || (status === 400 && body !== null && VALUE_TYPES.includes(type));
}

/** The fault for an error response. @param secrets texts that must not appear in its detail. */
function statusError(
  answer: ScimResponse,
  { method, secrets, nowMs }: {
    method: ScimRequest["method"];
    secrets: readonly string[];
    nowMs: number;
  },
): BackendError {
  const { status, body, headers } = answer;
  const row = STATUSES.get(status) ?? (status >= 500 ? SERVER_FAILED : OTHER);
  const message = typeof body?.detail === "string" ? foreignDetail(body.detail, secrets) : "";
  const type = typeof body?.scimType === "string" ? body.scimType : "";
  const words = [String(status), foreignDetail(type, secrets), message].filter((word) => word !== "").join(
    ": ",
  );
  const retryAfterMs = readRetryAfter(headers.get("retry-after"), nowMs);
  const writes = method !== "GET";
  const isInvalidValue = writes && concernsValues(answer, type);
  const isConflict = status === 409 && type === "" && method !== "DELETE";
  const isTaken = writes && (isConflict || ([400, 409].includes(status) && type === "uniqueness"));
  return new BackendError({
    kind: row.kind,
    detail: `${row.text} (${words})`,
    unsure: writes && row.unsure === true,
    retry: row.retry,
    ...isInvalidValue ? { isInvalidValue } : {},
    ...isTaken ? { isTaken } : {},
    ...retryAfterMs === null ? {} : { retryAfterMs },
  });
}
