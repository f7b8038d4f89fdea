// A phone in the tests: pairs by an invitation and decides through the HTTP API of the phone page, with number
// matching.

import type { RunningProgram } from "../support/program.ts";

export interface Phone {
  /** Approves the newest request. @param number the two digits of the login's prompt. */
  approve(number: string): Promise<void>;
  deny(): Promise<void>;
  /** Waits for a request. */
  pending(): Promise<void>;
}

/** What a phone needs of a gateway. */
export type PhoneGateway = Pick<RunningProgram, "httpUrl" | "pair">;

const WAIT_MS = 10_000;

/** Pairs a phone with `user` through the link of `deno task pair <user> --invite`. */
export async function pairPhone(gateway: PhoneGateway, user: string): Promise<Phone> {
  const ended = await gateway.pair(user, "--invite");
  const [, invitation = ""] = /#invite=([\w-]+)/.exec(ended.stdout) ?? [];
  if (invitation === "") throw new Error(`There is no invitation:\n${ended.stdout}${ended.stderr}`);
  const accepted = await post(gateway, "/invitation/accept", { json: { invitation } });
  const [cookie = ""] = (accepted.headers.get("set-cookie") ?? "").split(";");
  const decide = async (json: { approve: boolean; number: string | null }) => {
    await post(gateway, `/requests/${await newestRequest(gateway, cookie)}`, { json, cookie });
  };
  return {
    approve: (number) => decide({ approve: true, number }),
    deny: () => decide({ approve: false, number: null }),
    async pending() {
      await newestRequest(gateway, cookie);
    },
  };
}

async function newestRequest({ httpUrl }: PhoneGateway, cookie: string): Promise<string> {
  for (const end = performance.now() + WAIT_MS; performance.now() < end;) {
    const response = await fetch(`${httpUrl}/device/api/view`, { headers: { cookie } });
    const { view }: { view: { requests: { requestId: string }[] } } = await response.json();
    const newest = view.requests.at(-1);
    if (newest !== undefined) return newest.requestId;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("No request reached the phone");
}

async function post(
  { httpUrl }: PhoneGateway,
  path: string,
  { json, cookie = "" }: { json: unknown; cookie?: string },
): Promise<Response> {
  const response = await fetch(`${httpUrl}/device/api${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: httpUrl, cookie },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The phone page refused ${path}: ${response.status} ${text}`);
  return response;
}
