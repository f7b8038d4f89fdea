// Calls of the console API: successful ones, the code of a refusal, and a wait for pending writes.

import { assertEquals } from "@std/assert";
import type { UserView } from "../../console/api/users/user_types.ts";
import type { CallOptions, TestConsole } from "./console_app.ts";

/** Calls with a cookie; the answer must be 200. */
export function apiCaller(site: Pick<TestConsole, "call">, cookie: string) {
  return async <T>(path: string, { method = "GET", json }: CallOptions = {}): Promise<T> => {
    const response = await site.call(path, { method, cookie, ...(json === undefined ? {} : { json }) });
    const text = await response.text();
    assertEquals(response.status, 200, `${method} ${path}: ${text}`);
    return JSON.parse(text) as T;
  };
}

export async function codeOf(response: Response): Promise<string> {
  const body: { error?: { code: string } } = await response.json();
  return body.error?.code ?? "";
}

/** The view when no write is pending any more; throws after 30 seconds. */
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
  throw new Error("A write is still pending after 30 seconds");
}
