// Calls the console API of the real program: with a session cookie, with an API token, or without both. It also creates
// users of the directory.

import { assertEquals } from "@std/assert";
import { type ProgramOptions, type RunningProgram, startProgram } from "../support/program.ts";

/** The owner of every gateway of these tests. */
export const OWNER = { name: "root", password: "correct horse battery" } as const;

/** Settings for {@link startSecured}: an owner, and a password check by the directory for every client. */
export const OWNER_TOML = `
[[console.admin]]
name = "${OWNER.name}"
password = "${OWNER.password}"
role = "owner"
`;

export interface CallOptions {
  readonly method?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON of the answer, or its text. */
  readonly body: unknown;
  /** The code of a refusal, or "". */
  readonly code: string;
}

/** Sends requests to one gateway with the same headers: cookies like a browser, or an API token. */
export interface ApiCaller {
  call(path: string, options?: CallOptions): Promise<Answer>;
  /** Calls and asserts success. */
  take<T = unknown>(path: string, options?: CallOptions): Promise<T>;
  readonly cookies: ReadonlyMap<string, string>;
}

/** A caller that keeps cookies like a browser. */
export function createCaller(
  gateway: Pick<RunningProgram, "httpUrl">,
  headers: Readonly<Record<string, string>> = {},
): ApiCaller {
  const cookies = new Map<string, string>();
  const call = async (path: string, options: CallOptions = {}): Promise<Answer> => {
    const { method = options.json === undefined ? "GET" : "POST", json } = options;
    const response = await fetch(gateway.httpUrl + path, {
      method,
      redirect: "manual",
      headers: {
        ...(method === "GET" ? {} : { origin: gateway.httpUrl }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(cookies.size === 0
          ? {}
          : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") }),
        ...headers,
        ...options.headers,
      },
      body: json === undefined ? null : JSON.stringify(json),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=");
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const body = text.startsWith("{") ? JSON.parse(text) : text;
    const { error }: { error?: { code: string } } = typeof body === "object" ? body : {};
    return { status: response.status, headers: response.headers, body, code: error?.code ?? "" };
  };
  const take = async <T>(path: string, options?: CallOptions): Promise<T> => {
    const { status, body } = await call(path, options);
    assertEquals(status >= 200 && status < 300, true, `${path}: ${status} ${JSON.stringify(body)}`);
    return body as T;
  };
  return { call, take, cookies };
}

export const CONSOLE = "/console/api";

/** A gateway with an owner, and the owner's session. Declare it with `await using`. */
export async function startSecured(
  toml = "",
  options: Pick<ProgramOptions, "dataDir" | "maxDescriptors"> = {},
) {
  const gateway = await startProgram({ toml: OWNER_TOML + toml, ...options });
  const owner = createCaller(gateway);
  const signIn = () => owner.take(`${CONSOLE}/session`, { json: OWNER });
  try {
    await signIn();
  } catch (fault) {
    await gateway.dispose();
    throw fault;
  }
  return {
    gateway,
    owner,
    signIn,
    createUser: (userName: string, attributes: Record<string, unknown> = {}) =>
      owner.take(`${CONSOLE}/users`, { json: { user: { userName, ...attributes } } }),
    deleteUser: (userName: string) =>
      owner.take(`${CONSOLE}/users/${encodeURIComponent(userName)}`, { method: "DELETE", json: {} }),
    setActive: (userName: string, active: boolean) =>
      owner.take(`${CONSOLE}/users/${encodeURIComponent(userName)}/active`, {
        method: "PUT",
        json: { active },
      }),
    /** Creates an API token and returns a caller that uses it. */
    async tokenCaller(role: string): Promise<ApiCaller> {
      const { token } = await owner.take<{ token: string }>(`${CONSOLE}/tokens`, {
        json: { name: `ci-${role}`, role, days: 30 },
      });
      return createCaller(gateway, { authorization: `Bearer ${token}` });
    },
    [Symbol.asyncDispose]: () => gateway.dispose(),
  };
}
