// Clients of RADIUS over TLS in a browser, with the real gateway: one is added from its certificate, connects, and is edited.

import { makeAuthority } from "../support/certificates.ts";
import { CODES } from "../support/radius_packets.ts";
import { buildTokenPacket, connectRadiusTls, readTokenPacket } from "../support/radius_tls.ts";
import { assertEquals } from "@std/assert";
import { assertHoldsInBothLooks } from "./page_checks.ts";
import { startConsoleProgram } from "./console_program.ts";
import { browserTest, enterAs, holds } from "./browser.ts";

browserTest(
  "clients: one of RADIUS over TLS is added from its certificate, connects, and gets a longer wait",
  async ({ page }) => {
    const folder = await Deno.makeTempDir({ prefix: "countersign-tls-clients-" });
    await using cleanUp = new AsyncDisposableStack();
    cleanUp.defer(() => Deno.remove(folder, { recursive: true }));
    const authority = await makeAuthority(folder);
    const server = await authority.issue(["IP:127.0.0.1"]);
    const certificate = await authority.issue(["DNS:vpn.example.org", "DNS:*.aps.example.org"], {
      usage: "clientAuth",
      commonName: "vpn",
    });
    const toml = `[radius]
tls_listen = "127.0.0.1:0"
tls_cert = "${server.certFile}"
tls_key = "${server.keyFile}"
tls_ca = "${authority.caFile}"
`;
    const site = cleanUp.use(await startConsoleProgram({ toml }));
    const connect = () =>
      connectRadiusTls({
        port: site.tlsPort,
        caPem: authority.caPem,
        certificate,
        protocols: ["radius/1.1"],
      });

    await enterAs(page, { site, role: "owner", path: "/clients", heading: "RADIUS clients" });
    const listens = page.waitForResponse("**/clients/heard");
    await page.getByRole("button", { name: "Add client" }).click();
    await listens;
    const dialog = page.getByRole("dialog", { name: "Add client" });
    using unknown = await connect();
    await unknown.ended;
    const heard = dialog.getByRole("listitem").filter({ hasText: "DNS:vpn.example.org" });
    await heard.getByText("SHA-256").waitFor();
    await heard.getByText("1 connection").waitFor();
    await heard.getByRole("button", { name: "Use this certificate vpn.example.org" }).click();
    await holds(() => dialog.getByLabel("Transport").inputValue(), "tls");
    await holds(() => dialog.getByLabel("Name in the TLS certificate").inputValue(), "vpn.example.org");
    await holds(() => dialog.getByLabel("Name", { exact: true }).inputValue(), "vpn.example.org");
    // The certificate replaces it.
    assertEquals(await dialog.getByLabel("Shared secret").count(), 0);
    await dialog.getByText("Set the client to wait at least 40 s for an answer.").waitFor();
    await dialog.getByRole("button", { name: "Add client" }).click();
    await page.getByText("The client vpn.example.org was added.").waitFor();
    await page.getByRole("cell", { name: "TLS: vpn.example.org" }).waitFor();

    using known = await connect();
    known.send(buildTokenPacket({ code: CODES.statusServer, token: 1, attributes: [] }));
    assertEquals(readTokenPacket(await known.next()).code, CODES.accessAccept);
    await page.getByRole("link", { name: "vpn.example.org" }).click();
    await page.getByRole("heading", { name: "vpn.example.org", level: 1 }).waitFor();
    await page.locator(".field").filter({ hasText: "TLS connections now" }).getByText("1", { exact: true })
      .waitFor();
    await page.getByLabel("Longest wait for the approval").fill("60");
    await page.getByText("Set the client to wait at least 75 s for an answer.").waitFor();
    await page.getByRole("button", { name: "Review changes" }).click();
    const review = page.getByRole("dialog", { name: "Save these changes to vpn.example.org?" });
    await review.getByRole("row", { name: /Global setting: 25 seconds.*60 seconds/ }).waitFor();
    await review.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The client vpn.example.org was changed.").waitFor();
    await page.getByLabel("Product").selectOption({ label: "radsecproxy, RADIUS over TLS" });
    await page.getByRole("region", { name: "/etc/radsecproxy.conf" }).getByText("type tls").waitFor();
    await page.getByText("Set the longest wait of this client to 45 s or less.").waitFor();
    await assertHoldsInBothLooks(page);
  },
  { peers: ["opensslProgram"] },
);
