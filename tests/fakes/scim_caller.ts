// The part that the simulated identity providers share: requests with a token, and a record of what was sent.

/** One request of a simulated identity provider and its answer. */
export interface SentRequest {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
}

export interface ScimCallerOptions {
  /** The address that an administrator pastes into the provider, without a slash at the end. */
  readonly baseUrl: string;
  /** The value of the Authorization header; read at each request, because a token can be rotated. */
  readonly authorization: () => string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ScimReply {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** The server refused a request that the provider needs. The provider would show the task as failed. */
export class ProvisioningFault extends Error {
  override readonly name = "ProvisioningFault";
  constructor(readonly status: number, readonly scimType: string | undefined, message: string) {
    super(message);
  }
}

export interface ScimCaller {
  readonly requests: readonly SentRequest[];
  /** Any answer. */
  send(method: string, path: string, body?: unknown): Promise<ScimReply>;
  /** @throws ProvisioningFault for another status than the expected ones. */
  expect(
    statuses: readonly number[],
    method: string,
    path: string,
    body?: unknown,
  ): Promise<ScimReply["json"]>;
  /** The resources that a filter finds. */
  find(path: string, query: Readonly<Record<string, string>>): Promise<readonly ScimReply["json"][]>;
}

/** Okta gives up after 60 s. */
const PATIENCE_MS = 60_000;

export function createScimCaller({ baseUrl, authorization, headers }: ScimCallerOptions): ScimCaller {
  const requests: SentRequest[] = [];
  const send = async (method: string, path: string, body?: unknown): Promise<ScimReply> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { ...headers, authorization: authorization() },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    requests.push({ method, path, body, status: response.status });
    return { status: response.status, json: text.startsWith("{") ? JSON.parse(text) : {} };
  };
  const expect: ScimCaller["expect"] = async (statuses, method, path, body) => {
    const { status, json } = await send(method, path, body);
    if (statuses.includes(status)) return json;
    const { scimType, detail } = json;
    throw new ProvisioningFault(
      status,
      typeof scimType === "string" ? scimType : undefined,
      `${method} ${path} was refused with ${status}: ${detail ?? "no reason"}`,
    );
  };
  return {
    requests,
    send,
    expect,
    async find(path, query) {
      const json = await expect([200], "GET", `${path}?${new URLSearchParams(query)}`);
      const { Resources: resources = [], totalResults } = json;
      if (typeof totalResults !== "number" || !Array.isArray(resources)) {
        throw new ProvisioningFault(200, undefined, "The answer is no ListResponse");
      }
      return resources;
    },
  };
}

/** The id of a resource. An answer without it is a failed task. */
export function idOf({ id }: ScimReply["json"]): string {
  if (typeof id === "string" && id !== "") return id;
  throw new ProvisioningFault(200, undefined, "The answer has no id");
}

/** A user of a simulated identity provider. */
export interface ProviderUser {
  /** The immutable id at the provider, which becomes the externalId. */
  readonly key: string;
  readonly userName: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly email: string;
  readonly title?: string;
  readonly department?: string;
}
