// A browser that calls the account API, for tests.

import { assertEquals } from "@std/assert";
import type { CallOptions } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { FAKE_TOKEN } from "../fakes/console_phone.ts";
import { type PeopleConsole, startPeopleConsole } from "../fakes/console_people.ts";

export const ACCOUNT_API = "/me/api";
export const PHONE_COOKIE = `countersign-phone=${FAKE_TOKEN}`;

/** A browser with its cookie. `ask` expects success, `refused` expects an error. */
export function visitor(site: PeopleConsole, extra = "") {
  let cookie = "";
  const send = async (path: string, options: CallOptions = {}): Promise<Response> => {
    const held = [cookie, extra].filter((one) => one !== "").join("; ");
    const response = await site.call(`${ACCOUNT_API}${path}`, { ...options, cookie: held });
    for (const line of response.headers.getSetCookie()) {
      if (line.startsWith("countersign-me=")) cookie = line.split(";")[0] ?? "";
    }
    return response;
  };
  return {
    send,
    cookie: () => cookie,
    async ask<T>(path: string, options: CallOptions = {}): Promise<T> {
      const response = await send(path, options);
      const text = await response.text();
      assertEquals(response.status, 200, `${options.method} ${path}: ${text}`);
      return JSON.parse(text) as T;
    },
    async refused(path: string, options: CallOptions = {}): Promise<[number, string]> {
      const response = await send(path, options);
      return [response.status, await codeOf(response)];
    },
  };
}

export const post = (json: unknown): CallOptions => ({ method: "POST", json });

export async function linkFor(site: PeopleConsole, user: string): Promise<string> {
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const { url } = await ask<{ url: string }>(`/console/api/users/${user}/me-link`, post({}));
  assertEquals(new URL(url).pathname, "/me");
  return new URL(url).hash.slice(1);
}

export async function enteredByLink(site: PeopleConsole, user: string) {
  const browser = visitor(site);
  await browser.ask("/session", post({ link: await linkFor(site, user) }));
  return browser;
}

/** Pairs the fake phone for ada, in the gateway and in its service. */
export async function pairPhone(site: PeopleConsole): Promise<void> {
  site.phone.startWithPhrase("192.0.2.1");
  site.phone.typePhrase();
  await site.phone.decidePairing(FAKE_TOKEN, "p1", { approve: true });
  await site.pairings.addDevice({ id: "p1", userName: "ada", totpLength: 6 });
}

/** A console with the user ada. */
export async function startWithAda(): Promise<PeopleConsole> {
  const site = await startPeopleConsole();
  await site.put("ada");
  return site;
}
