// Attack: open more connections than the process has file descriptors. HTTP must recover, and RADIUS must always
// answer.

import { assertEquals } from "@std/assert";
import { makeAuthority } from "../support/certificates.ts";
import { startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { CODES } from "../support/radius_numbers.ts";
import { INCOMPLETE_HEAD, openHalf, waitForHealth } from "./half_open.ts";

const OPEN_FILES = 256;
const CONNECTIONS = 300;

for (
  const [what, text] of [["silent connections", ""], ["incomplete request heads", INCOMPLETE_HEAD]] as const
) {
  Deno.test(`${CONNECTIONS} ${what} with ${OPEN_FILES} descriptors stop neither HTTP nor RADIUS`, async () => {
    await using gateway = await startProgram({ maxDescriptors: OPEN_FILES });
    using radius = gateway.client();
    const port = Number(new URL(gateway.httpUrl).port);
    {
      using _held = await openHalf(port, { count: CONNECTIONS, text });
      const during = await radius.ask({ userName: "alice", password: "" });
      assertEquals(during.code, CODES.accessChallenge);
      assertEquals(await waitForHealth(gateway.httpUrl), 200, "while the connections are open");
    }
    assertEquals(await waitForHealth(gateway.httpUrl), 200, "after the connections were closed");
    const ready = await fetch(`${gateway.httpUrl}/readyz`);
    assertEquals([ready.status, (await ready.json()).parts.http], [200, "listening"]);
    const after = await radius.ask({ userName: "bob", password: "" });
    assertEquals(after.code, CODES.accessChallenge);
  });
}

Deno.test(`SIGTERM ends the process in time with ${CONNECTIONS} half-open connections`, async () => {
  await using gateway = await startProgram();
  const port = Number(new URL(gateway.httpUrl).port);
  using _held = await openHalf(port, { count: CONNECTIONS, text: INCOMPLETE_HEAD });
  // stop() sends SIGKILL after ten seconds, which ends the process without the code 0.
  assertEquals((await gateway.stop()).code, 0);
});

testNeeding(
  { peers: ["opensslProgram"] },
  `${CONNECTIONS} silent TLS handshakes with ${OPEN_FILES} descriptors do not stop HTTPS`,
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "countersign-tls-" });
    try {
      const authority = await makeAuthority(folder);
      const { certFile, keyFile } = await authority.issue(["IP:127.0.0.1"]);
      await using gateway = await startProgram({
        maxDescriptors: OPEN_FILES,
        toml: `[http]\ntls_cert = "${certFile}"\ntls_key = "${keyFile}"\n`,
      });
      using client = Deno.createHttpClient({ caCerts: [authority.caPem] });
      const url = gateway.httpUrl.replace("http:", "https:");
      const port = Number(new URL(url).port);
      using _held = await openHalf(port, { count: CONNECTIONS, text: "" });
      assertEquals(await waitForHealth(url, client), 200);
      assertEquals((await gateway.stop()).code, 0, "SIGTERM");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);
