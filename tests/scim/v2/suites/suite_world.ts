// The real program with one target and one connection for each conformance suite. The suites use its bearer token.

import { type RunningProgram, startProgram } from "../../../support/program.ts";
import { CONSOLE_API_PATH } from "../../../../console/api/console_api.ts";
import type {
  CreatedConnectionSecret,
  NewConnectionBody,
} from "../../../../console/api/connections/connection_types.ts";
import type { SuiteServer } from "./suite_run.ts";

/** Suites that count all users of a target have a target of their own. */
const SUITE_TARGETS = [
  ...["rows", "okta", "validator", "collection", "tester", "sanity", "client", "scimmy", "fuzz"],
] as const;
export type SuiteTarget = typeof SUITE_TARGETS[number];

const TOML = SUITE_TARGETS.map((name) => `[targets.${name}]`).join("\n");

export interface SuiteWorld extends AsyncDisposable {
  readonly gateway: RunningProgram;
  /** Creates the connection of a target, and its token. */
  server(target: SuiteTarget): Promise<SuiteServer>;
}

/** The suites delete what they created, and send as fast as they can. */
const WITHOUT_LIMITS = { deletionPercent: 100, requestsPerMinute: 600_000 } as const;

export async function startSuiteWorld(): Promise<SuiteWorld> {
  const gateway = await startProgram({ toml: TOML });
  return {
    gateway,
    async server(target) {
      const text = await createToken(gateway, {
        name: target,
        kind: "other",
        target,
        ...WITHOUT_LIMITS,
      });
      return { baseUrl: `${gateway.httpUrl}/scim/v2/${target}`, authorization: `Bearer ${text}` };
    },
    [Symbol.asyncDispose]: () => gateway.dispose(),
  };
}

/** As an operator of the machine, through the control socket. */
async function createToken({ dataDir }: RunningProgram, body: NewConnectionBody): Promise<string> {
  const proxy = { transport: "unix", path: `${dataDir}/control.sock` } as const;
  using client = Deno.createHttpClient({ proxy, poolMaxIdlePerHost: 0, http2: false });
  const init: RequestInit & { client: Deno.HttpClient } = {
    method: "POST",
    client,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(`http://localhost${CONSOLE_API_PATH}/connections`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`Cannot create the connection "${body.name}": ${text}`);
  const { secret } = JSON.parse(text) as CreatedConnectionSecret;
  if (secret === null) throw new Error("The connection has no secret");
  return secret.text;
}
