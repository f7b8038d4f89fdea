// Calls of the console's API whose answer must be good, and the code of one that is not.

import { assertEquals } from "@std/assert";
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
