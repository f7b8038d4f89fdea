// The real program and radclient: wrong codes lock a user, and the alert arrives as a signed webhook and as a mail.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { startSmtpServer } from "../fakes/smtp_server.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { askControl } from "./control_call.ts";
import { clients, send } from "./radclient_login.ts";

/** The signature of a webhook (Standard Webhooks). */
async function signatureOf(secret: string, { headers, body }: Received): Promise<string> {
  const name = { name: "HMAC", hash: "SHA-256" };
  const octets = Uint8Array.fromBase64(secret.slice("whsec_".length));
  const key = await crypto.subtle.importKey("raw", octets, name, false, ["sign"]);
  const signed = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
  const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return `v1,${new Uint8Array(signature).toBase64()}`;
}

interface Received {
  readonly headers: Headers;
  readonly body: string;
}

testNeeding(
  { peers: ["radclient"] },
  "three wrong codes of radclient lock a user, and the alert arrives once as a signed webhook and once as a mail",
  async () => {
    const smtp = await startSmtpServer();
    const webhooks: Received[] = [];
    await using receiver = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
      async (request) => {
        webhooks.push({ headers: request.headers, body: await request.text() });
        return new Response(null, { status: 204 });
      },
    );
    await using world = await startProgramWithServices({
      toml: `${clients(["none"])}
append_mode = true

[factors.lockout]
failures = 3

[mail]
host = "127.0.0.1"
port = ${smtp.port}
security = "none"
from = "Countersign <no-reply@example.com>"
`,
    });
    const { dataDir } = world.gateway;
    try {
      await askControl(dataDir, "/users", { user: { userName: "ada" } });
      await askControl(dataDir, "/users/ada/bypass", { uses: 1, minutes: 60 });
      const { webhookSecret } = await askControl<{ webhookSecret: string }>(dataDir, "/alerts/receivers", {
        ...{ name: "chat", kind: "webhook", allowsHttp: true },
        url: `http://127.0.0.1:${(receiver.addr as Deno.NetAddr).port}/hook`,
      });
      await askControl(dataDir, "/alerts/receivers", {
        ...{ name: "team", kind: "mail", addresses: ["ops@example.com"], language: "de" },
      });
      for (let tries = 0; tries < 3; tries++) {
        const { code } = await send(world, { user: "ada", password: "pw,11111-11111" });
        assertEquals(code, "Reject");
      }
      await eventually("both arrive", () => webhooks.length > 0 && smtp.received.length > 0);
      const [webhook] = webhooks;
      if (webhook === undefined) throw new Error("no webhook");
      assertEquals(webhook.headers.get("webhook-signature"), await signatureOf(webhookSecret, webhook));
      const { type, data } = JSON.parse(webhook.body);
      assertEquals([type, data.kind, data.about, data.count], ["alert.opened", "user_locked", "user:ada", 1]);
      const [mail] = smtp.received;
      assertEquals(mail?.to, "ops@example.com");
      assertStringIncludes(mail?.data ?? "", "Auto-Submitted: auto-generated");
      assertEquals([webhooks.length, smtp.received.length], [1, 1]);
    } finally {
      await smtp.close();
    }
  },
);
