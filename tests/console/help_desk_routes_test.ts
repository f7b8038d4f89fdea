// Every route of the console API over real HTTP, with a session of the help desk: what its role does not permit is refused, whatever the request.

import { assertEquals } from "@std/assert";
import { isPermitted } from "../../console/api/auth/permissions.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { openHelpDesk } from "./help_desk_site.ts";

const TIMEOUT_MS = 20_000;

Deno.test("help desk: over HTTP, each route that the role does not permit answers 403, with any method override and any case of the path", async () => {
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
  const problems: string[] = [];
  let refused = 0;
  for (const { method, path, needs, helpDesk } of CONSOLE_ROUTES) {
    // These end or replace the session.
    if (path === "/session" && method !== "GET") continue;
    const { status, code } = await send(method, path.replaceAll(/:\w+/g, "ada"));
    const isRefused = status === 403 && code === "role";
    if (isRefused !== !isPermitted("help_desk", { needs, helpDesk })) {
      problems.push(`${method} ${path}: ${status} ${code}`);
    }
    refused += Number(isRefused);
  }
  assertEquals(problems, []);
  assertEquals(refused > 100, true);
  for (const header of ["x-http-method-override", "x-method-override", "x-http-method"]) {
    const { code } = await send("POST", "/users/ada/unlock", { [header]: "DELETE" });
    assertEquals(code, "", header);
  }
  for (const path of ["/USERS/ada/password", "/users/ada/password/", "//users/ada/password"]) {
    assertEquals((await send("PUT", path)).status, 404, path);
  }
  assertEquals((await site.ask("GET", "/users/ada")).status, 200);
});
