// Calls of the API of users, as tests of it make them.

import { assertEquals } from "@std/assert";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { PeopleConsole } from "./console_people.ts";

/** Calls as one role; the answer must be good. */
export function caller(site: PeopleConsole, cookie: string) {
  return async <T>(path: string, { method = "GET", json }: { method?: string; json?: unknown } = {}) => {
    const response = await site.call(path, { method, cookie, ...(json === undefined ? {} : { json }) });
    const text = await response.text();
    assertEquals(response.status, 200, text);
    return JSON.parse(text) as T;
  };
}

/** The view once no backend is owed anything; throws after five seconds. */
export async function whenDelivered(view: () => Promise<UserView>): Promise<UserView> {
  for (const end = performance.now() + 30_000; performance.now() < end;) {
    const seen = await view();
    if (
      seen.backends.every(({ state }) => state?.state === "present" || state === null || state === undefined)
    ) {
      return seen;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("The outbox still owes something after five seconds");
}
