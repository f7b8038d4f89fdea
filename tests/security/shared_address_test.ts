// Attack: a stranger behind the same address as others (a reverse proxy, a company's egress address) uses up the failed
// sign-ins of that address. Correct credentials, live sessions and other clients of the proxy must not be blocked.

import { assertEquals, assertMatch } from "@std/assert";
import { startProgram } from "../support/program.ts";

const NAME = "provisioner";
const PASSWORD = "correct horse battery staple";
const OWNER = { name: "owner", password: "correct horse battery" };
const TOML = `
[http]
trusted_proxies = ["127.0.0.1"]
[[scim.credential]]
name = "${NAME}"
password = "${PASSWORD}"
targets = ["default"]
access = "write"
[[console.admin]]
name = "${OWNER.name}"
password = "${OWNER.password}"
role = "owner"
`;

Deno.test("a stranger behind the same proxy does not block correct credentials, and is limited", async (t) => {
  await using gateway = await startProgram({ toml: TOML });
  const scim = async (password: string, forwarded: string | null): Promise<Response> => {
    const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
      headers: {
        authorization: `Basic ${btoa(`${NAME}:${password}`)}`,
        ...forwarded === null ? {} : { "x-forwarded-for": forwarded },
      },
    });
    await response.body?.cancel();
    return response;
  };
  const signIn = async (password: string, forwarded: string): Promise<Response> => {
    const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: gateway.httpUrl, "x-forwarded-for": forwarded },
      body: JSON.stringify({ name: OWNER.name, password }),
    });
    await response.body?.cancel();
    return response;
  };

  await t.step("SCIM: five wrong passwords, then 429 with Retry-After for wrong ones only", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++) statuses.push((await scim(`guess-${at}`, null)).status);
    assertEquals(statuses, [401, 401, 401, 401, 401]);
    assertEquals((await scim(PASSWORD, null)).status, 200);
    const limited = await scim("guess-5", null);
    assertEquals(limited.status, 429);
    assertMatch(limited.headers.get("retry-after") ?? "", /^[1-9][0-9]?$/);
  });

  await t.step("SCIM: another client of the proxy is another source, whatever it claims to be", async () => {
    assertEquals((await scim("guess", "198.51.100.7")).status, 401);
    // The right end of the header is the address that the proxy saw; the left end is what the client sent.
    for (let at = 0; at < 4; at++) await scim("guess", `203.0.113.${at}, 198.51.100.7`);
    assertEquals((await scim("guess", "203.0.113.99, 198.51.100.7")).status, 429);
    assertEquals((await scim("guess", "198.51.100.8")).status, 401);
  });

  await t.step(
    "console: an owner behind the proxy signs in while a stranger behind it is limited",
    async () => {
      for (let at = 0; at < 5; at++) await signIn("wrong", "198.51.100.20");
      assertEquals((await signIn("wrong", "198.51.100.20")).status, 429);
      assertEquals((await signIn(OWNER.password, "198.51.100.21")).status, 200);
    },
  );

  await t.step("the log names the client, not the proxy", async () => {
    assertMatch(await gateway.logged("source=198.51.100.20"), /console sign-in refused/);
  });
});
