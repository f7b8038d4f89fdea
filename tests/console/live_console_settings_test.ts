// Settings of the console that an administrator changes: session lifetimes, the public URL and the sign-in provider.

import { assertEquals } from "@std/assert";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const SECRET = "a secret that must not be seen";
const PEER = { remoteAddress: "192.0.2.9" };

type Body = Readonly<Record<string, unknown>>;

async function settingsOf(site: TestComposition): Promise<Body> {
  return JSON.parse((await site.ask("GET", "/settings")).text);
}

async function save(site: TestComposition, changes: Body): Promise<number> {
  const { version } = await settingsOf(site);
  return (await site.ask("PUT", "/settings", { version, changes })).status;
}

const RETENTION = ["session_hours", "idle_minutes", "audit_days"] as const;
Deno.test("settings of the console: lifetimes, the public URL and the sign-in provider change at once", async () => {
  await using site = await openComposition();
  await save(site, Object.fromEntries(RETENTION.map((key) => [`console.${key}`, 2])));
  const { sessionMs, idleMs, auditRetentionMs } = site.config.console;
  assertEquals([sessionMs, idleMs, auditRetentionMs], [2 * 3600_000, 2 * 60_000, 2 * 24 * 3600_000]);
  const { kept } = (await settingsOf(site)) as { kept: Body[] };
  assertEquals(kept.find(({ name }) => name === "audit")?.amount, 2);
  await save(site, { "http.public_url": "https://gate.example.org" });
  const { signIn } = (await settingsOf(site)) as { signIn: Body };
  assertEquals([signIn.publicUrl, signIn.passkeys], ["https://gate.example.org", "possible"]);
  assertEquals(
    (await site.app(
      new Request("http://gate.example.org/overview", { headers: { host: "gate.example.org" } }),
      PEER,
    ))
      .status,
    200,
  );
  await save(site, { "http.public_url": null });
  assertEquals(
    (await site.app(
      new Request("http://gate.example.org/overview", { headers: { host: "gate.example.org" } }),
      PEER,
    ))
      .status,
    421,
  );
  const oidc = { issuer: "https://id.example.org", name: "ID", client_id: "gate", client_secret: SECRET };
  const changes = Object.fromEntries(
    Object.entries(oidc).map(([key, value]) => [`console.oidc.${key}`, value]),
  );
  assertEquals(await save(site, changes), 200);
  const session = await site.app(
    new Request("http://localhost/console/api/session", { headers: { host: "localhost" } }),
    PEER,
  );
  assertEquals((await session.json()).provider, "ID");
});

Deno.test("http.trusted_proxies: X-Forwarded-For counts from the next request on", async () => {
  await using site = await openComposition();
  const refusedFrom = async (name: string): Promise<unknown> => {
    await site.app(
      new Request("http://localhost/console/api/session", {
        method: "POST",
        headers: {
          "host": "localhost",
          "origin": "http://localhost",
          "content-type": "application/json",
          "x-forwarded-for": "203.0.113.5",
        },
        body: JSON.stringify({ name, password: "not the right password" }),
      }),
      PEER,
    );
    return (await site.audits()).findLast(({ action }) => action === "administrator.refused")?.source;
  };
  assertEquals(await refusedFrom("ada"), "192.0.2.9");
  await save(site, { "http.trusted_proxies": ["192.0.2.0/24"] });
  // Refused sign-ins of one minute share a record.
  site.clock.advance(120_000);
  assertEquals(await refusedFrom("grace"), "203.0.113.5");
});
