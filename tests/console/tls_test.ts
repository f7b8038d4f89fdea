// The listener with a certificate: Secure cookies with the __Host- prefix, and request bodies over TLS.

import { assertEquals, assertMatch } from "@std/assert";
import { serveHttp } from "../../platform/http/http_listener.ts";
import { createManualClock, PASSWORD, startConsole } from "../fakes/console_app.ts";

/** A certificate for localhost, made for this run, or `null` where openssl is not installed. */
async function makeCertificate(): Promise<{ certPem: string; keyPem: string } | null> {
  const directory = await Deno.makeTempDir();
  const [cert, key] = [`${directory}/cert.pem`, `${directory}/key.pem`];
  const args = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  const names = [
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
  ];
  try {
    const command = new Deno.Command("openssl", { args: [...args, ...names, "-out", cert, "-keyout", key] });
    const { success } = await command.output();
    if (!success) return null;
    return { certPem: await Deno.readTextFile(cert), keyPem: await Deno.readTextFile(key) };
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const tls = await makeCertificate();

const NAME = "serveHttp() with TLS sets __Host- cookies";
const reason = tls === null ? " (missing here: apt-get install openssl)" : "";

Deno.test({ name: NAME + reason, ignore: tls === null }, async () => {
  if (tls === null) return;
  await using site = await startConsole();
  const listener = await serveHttp({
    listen: { hostname: "127.0.0.1", port: 0 },
    tls,
    app: site.app,
    log: site.log,
    // The server waits for the rest of a refused body, on this clock for as long as the body takes.
    clock: createManualClock(),
  });
  const origin = `https://localhost:${listener.address.port}`;
  const client = Deno.createHttpClient({ caCerts: [tls.certPem], http1: true, http2: false });
  // Named first, because the browser types, which the console needs, do not know Deno's `client`.
  const signIn: RequestInit & { client: Deno.HttpClient } = {
    client,
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  };
  const signedIn = await fetch(`${origin}/console/api/session`, signIn);
  assertEquals((await signedIn.json()).session.name, "owner");
  const cookie = signedIn.headers.get("set-cookie") ?? "";
  assertMatch(cookie, /^__Host-countersign=[^;]{22}; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  assertMatch(signedIn.headers.get("strict-transport-security") ?? "", /^max-age=/);
  const look: typeof signIn = { client, headers: { cookie: cookie.split(";")[0] ?? "" } };
  const live = await fetch(`${origin}/console/api/live`, look);
  assertEquals(live.status, 200);
  await live.body?.cancel();
  const large: typeof signIn = { ...signIn, body: " ".repeat(2 * 1024 * 1024) };
  const refused = await fetch(`${origin}/console/api/session`, large);
  assertEquals([refused.status, (await refused.json()).error.code], [413, "body_too_large"]);
  const stopped = listener.stop({ deadlineMs: 500 });
  client.close();
  await stopped;
});
