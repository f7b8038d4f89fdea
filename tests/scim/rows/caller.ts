// A client of the SCIM interface of a running gateway.

/** The name and password of HTTP Basic. */
export interface Account {
  readonly name: string;
  readonly password: string;
}

export interface Call {
  readonly method?: string;
  /** Text, octets and streams are sent unchanged; anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The credential; `null` for none. */
  readonly as?: Account | null;
  /** A target other than the caller's. */
  readonly target?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as a JSON object; empty when it is not one. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface Caller {
  /** `path` is below the target, unless it begins with `!`, which means the server's root. */
  call(path: string, call?: Call): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  remove(path: string): Promise<Answer>;
}

/** Only a server that hangs takes so long: a busy machine needs ten seconds for three hundred simultaneous writes. */
const PATIENCE_MS = 120_000;

/** An Authorization header for HTTP Basic (RFC 7617). */
export function basic({ name, password }: Account): string {
  return `Basic ${new TextEncoder().encode(`${name}:${password}`).toBase64()}`;
}

/** @param at the address of the gateway; read at each call, because the gateway may restart. */
export function createCaller(
  at: { readonly httpUrl: string },
  { account, target }: { account: Account; target: string },
): Caller {
  const call = async (path: string, given: Call = {}): Promise<Answer> => {
    const { method = "GET", body, headers = {}, as = account } = given;
    const address = path.startsWith("!")
      ? path.slice(1)
      : `/idm/scim/${encodeURIComponent(given.target ?? target)}${path}`;
    const response = await fetch(at.httpUrl + address, {
      method,
      headers: { ...as === null ? {} : { authorization: basic(as) }, ...headers },
      ...body === undefined ? {} : { body: bodyOf(body) },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const isJson = text.startsWith("{");
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
  };
  return {
    call,
    get: (path) => call(path),
    post: (path, body) => call(path, { method: "POST", body }),
    put: (path, body) => call(path, { method: "PUT", body }),
    remove: (path) => call(path, { method: "DELETE" }),
  };
}

function bodyOf(body: unknown): BodyInit {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return body.slice();
  if (body instanceof ReadableStream) return body;
  return JSON.stringify(body);
}
