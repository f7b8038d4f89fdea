// The API over real HTTP, with a session of the help desk: no header and no spelling of a path gives more rights.

import { assertEquals } from "@std/assert";
import { openHelpDesk } from "./help_desk_site.ts";

const TIMEOUT_MS = 20_000;

Deno.test("help desk: no method override and no spelling of a path reaches what the role does not permit", async () => {
  await using site = await openHelpDesk();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    (request) => site.app(request, { remoteAddress: "192.0.2.9" }),
  );
  const origin = `http://127.0.0.1:${(server.addr as Deno.NetAddr).port}`;
  const cookie = await site.cookieOf("help_desk");
  const send = async (method: string, path: string, more: Record<string, string> = {}) => {
    const hasBody = method !== "GET";
    const response = await fetch(`${origin}/console/api${path}`, {
      method,
      redirect: "manual",
      headers: { cookie, origin, ...(hasBody ? { "content-type": "application/json" } : {}), ...more },
      body: hasBody ? "{}" : null,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // A stream of events does not end.
    const isText = response.status >= 400;
    const text = isText ? await response.text() : "";
    if (!isText) await response.body?.cancel();
    return { status: response.status, code: isText ? JSON.parse(text || "{}").error?.code ?? "" : "" };
  };
  for (const header of ["x-http-method-override", "x-method-override", "x-http-method"]) {
    const { code } = await send("POST", "/users/ada/unlock", { [header]: "DELETE" });
    assertEquals(code, "", header);
  }
  for (const path of ["/USERS/ada/password", "/users/ada/password/", "//users/ada/password"]) {
    assertEquals((await send("PUT", path)).status, 404, path);
  }
  assertEquals((await site.ask("GET", "/users/ada")).status, 200);
});
