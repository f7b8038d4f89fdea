// Live with the real program and radclient, while the server is unreachable, and VPN sessions that an operator ends.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { startConsole } from "../fakes/console_app.ts";
import { approval, conversation } from "../fakes/console_gateway.ts";
import type { RadclientSetUp } from "../interop/peers/radclient.ts";
import type { Page } from "../packages/playwright.ts";
import { runProgram } from "../support/child.ts";
import { totpCode } from "../support/totp.ts";
import { openRadiusClient } from "../support/radius_client.ts";
import { buildAccountingRequest } from "../support/radius_packets.ts";
import { startDisconnectNas } from "../radius/rows/disconnect_nas.ts";
import { enterAs, holds } from "./browser.ts";
import { type ConsoleProgram, startConsoleProgram } from "./console_program.ts";
import { consoleTests } from "./console_tests.ts";
import { assertHoldsInBothLooks, findAccessibilityProblems } from "./page_checks.ts";

// Live while the server is unreachable, and refused and dropped packets of radclient with the real program.

const test = consoleTests(startConsole, { role: "operator" });
const programTest = consoleTests(startConsoleProgram, { role: "owner" });

/** A proxy between the page and the console that can be cut in both directions, for old and new connections. */
function openLine(port: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const conns = new Set<Deno.Conn>();
  let isCut = false;
  let isFrozen = false;
  /** Passes octets on, or swallows them while the server is frozen. */
  const pass = () =>
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        if (!isFrozen) controller.enqueue(chunk);
      },
    });
  const drop = () => {
    for (const conn of conns) {
      try {
        conn.close();
      } catch (_closedByItsEnd) {
        // A connection closes itself when the other side ends; it is removed from the set a moment later.
      }
    }
    conns.clear();
  };
  const join = async (near: Deno.Conn): Promise<void> => {
    if (isCut) return near.close();
    conns.add(near);
    const far = await Deno.connect({ hostname: "127.0.0.1", port });
    // It was cut meanwhile.
    if (!conns.has(near)) return far.close();
    const both = [near, far];
    conns.add(far);
    // A cut ends both copies with an error, as intended.
    await Promise.allSettled([
      near.readable.pipeThrough(pass()).pipeTo(far.writable),
      far.readable.pipeThrough(pass()).pipeTo(near.writable),
    ]);
    for (const conn of both) conns.delete(conn);
  };
  const accepting = (async () => {
    for await (const conn of listener) void join(conn);
  })();
  return {
    origin: `http://127.0.0.1:${listener.addr.port}`,
    cut() {
      isCut = true;
      drop();
    },
    /** The connections stay open, and nothing passes any more, as with a stopped process. */
    freeze() {
      isFrozen = true;
    },
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      drop();
      await accepting;
    },
  };
}

test("a lost connection shows the age of the data, disables the buttons with a reason, and reports missed changes", async ({ page, site }) => {
  await using line = openLine(Number(new URL(site.origin).port));
  const startedMs = Date.now();
  site.watch.put(conversation(1, { user: "ada", startedMs }));
  // The row of a waiting login disappears at its deadline.
  site.secondFactorAdmin.wait({ ...approval("r1"), deadlineMs: startedMs + 3_600_000 });
  await enterAs(page, {
    site: { ...site, origin: line.origin },
    role: "operator",
    path: "/live?approvals=open",
  });
  const deny = page.getByRole("button", { name: "Deny the sign-in of ada" });
  await deny.waitFor();
  await holds(() => deny.isEnabled(), true);
  line.cut();
  await page.getByText(/This data is \d+ s old/).waitFor();
  await page.getByRole("main").getByText("Reconnecting").waitFor();
  await holds(() => deny.isEnabled(), false);
  await holds(() => deny.getAttribute("title"), "Not available while the server is not responding");
  for (let number = 2; number <= 5; number += 1) {
    site.watch.put(conversation(number, { user: `u${number}`, startedMs }));
  }
  await page.waitForTimeout(300);
  assertEquals(await page.getByRole("link", { name: "u5" }).count(), 0);
  line.mend();
  await page.getByText("Reconnected. 4 sign-ins changed in the meantime.").waitFor({ timeout: 30_000 });
  await page.getByRole("link", { name: "u5" }).waitFor();
  await holds(() => page.getByRole("row").count(), 6);
  await holds(() => deny.isEnabled(), true);
});

test("a server that freezes without closing is reported within 15 s, and no age counts on", async ({ page, site }) => {
  await using line = openLine(Number(new URL(site.origin).port));
  const now = Date.now();
  site.watch.put(conversation(1, { user: "ada", startedMs: now - 3000, deadlineMs: now + 3_600_000 }));
  await page.clock.install({ time: now });
  await enterAs(page, { site: { ...site, origin: line.origin }, role: "operator" });
  const chip = page.locator(".page-bar .chip.tone-ok");
  await chip.waitFor();
  line.freeze();
  await page.clock.runFor(11_000);
  await chip.waitFor();
  await page.clock.runFor(4000);
  await page.getByRole("main").getByText("Reconnecting").waitFor();
  assertEquals(await chip.count(), 0);
  const age = page.locator(".row .c-age");
  const frozen = await age.innerText();
  await page.clock.runFor(30_000);
  await page.getByText(/This data is 4\d s old/).waitFor();
  await holds(() => age.innerText(), frozen);
});

async function login(gateway: ConsoleProgram, userName: string): Promise<void> {
  const client = gateway.client();
  try {
    const { bytes } = client.build({ userName, password: "pw" });
    await client.sendRaw(bytes);
    await gateway.logged(userName);
  } finally {
    client.close();
  }
}

programTest(
  "after a restart of the program on its port the page recovers by itself and shows new logins",
  async ({ page, site, open }) => {
    await open("/live", "Sign-in log");
    await login(site, "before-the-stop");
    await page.getByRole("link", { name: "before-the-stop" }).waitFor();
    const origin = site.httpUrl;
    await site.stop();
    const note = page.getByText(/This data is \d+ s old/);
    await note.waitFor();
    await holds(() => page.getByRole("main").innerText(), /before-the-stop/);
    await site.restart();
    assertEquals(site.httpUrl, origin);
    await note.waitFor({ state: "detached", timeout: 30_000 });
    await login(site, "after-the-start");
    await page.getByRole("link", { name: "after-the-start" }).waitFor();
    // The new process has new ids. The page cannot know which changes it missed, so it fetches everything again.
    assertEquals(await page.getByText("Reconnected.").count(), 0);
  },
);

const SECRET = "planted-secret-of-the-client";
const CLIENT = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${SECRET}"
`;
const PASSWORD = "planted-password";
const SEED = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

programTest(
  "refused and dropped packets of radclient are explained, stored without a secret, and stay visible without the server",
  { role: "viewer", toml: CLIENT, peers: ["radclient"] },
  async ({ page, site, open }) => {
    await site.pair("edsger", "--totp", SEED);
    const seen: string[] = [];
    page.on("response", (response) => {
      if (!response.url().includes("/console/api/") || response.url().includes("/stream")) return;
      void response.text().then((text) => seen.push(text), () => undefined);
    });
    await open("/live", "Sign-in log");
    await using peer = site.radclient();
    await wrongPasscodeIsExplained(page, peer);
    await droppedPacketsAreExplained(page, site);
    await historyAndChartsHaveIt(page, site, peer);
    await pageComesBack(page, site, peer);
    const text = seen.join("\n");
    for (const secret of [PASSWORD, SECRET, SEED]) assert(!text.includes(secret), secret);
  },
);

async function wrongPasscodeIsExplained(page: Page, peer: RadclientSetUp): Promise<void> {
  const login = await peer.login({ name: "edsger", password: PASSWORD });
  await login.answer("000000");
  assertEquals((await login.end()).verdict, "reject");
  await page.getByRole("link", { name: "edsger" }).click();
  const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
  await inspector.getByText("The passcode was wrong, already used, or expired.").waitFor();
  await inspector.getByRole("tab", { name: "Packets" }).click();
  const packets = inspector.getByRole("region", { name: "Packets" });
  await packets.getByText("Access-Request").first().waitFor();
  await holds(() => packets.locator("summary strong").allInnerTexts(), [
    "Access-Request",
    "Access-Challenge",
    "Access-Request",
    "Access-Reject",
  ]);
  await packets.getByText("Access-Request").first().click();
  await packets.getByRole("row", { name: /^User-Name 1 edsger/ }).waitFor();
  await packets.getByRole("row", { name: /^User-Password 2 redacted/ }).waitFor();
  await holds(() => packets.getByText("Message-Authenticator verified").count(), 2);
  await inspector.getByRole("button", { name: "Close" }).click();
}

/** A packet that gets no answer, or a Reject outside any login. */
async function sendOnce(
  gateway: ConsoleProgram,
  { secret = SECRET, lines }: { secret?: string; lines: string[] },
) {
  await runProgram("radclient", {
    args: ["-t", "2", "-r", "1", `127.0.0.1:${gateway.radiusPort}`, "auth", secret],
    stdin: `${lines.join(",")}\n`,
    timeoutMs: 20_000,
  });
}

async function droppedPacketsAreExplained(page: Page, gateway: ConsoleProgram): Promise<void> {
  const signed = "Message-Authenticator = 0x00";
  await sendOnce(gateway, {
    secret: "another secret",
    lines: ['User-Name = "eve"', 'User-Password = "x"', signed],
  });
  await sendOnce(gateway, { lines: ['User-Name = "chap"', 'CHAP-Password = "x"', signed] });
  await sendOnce(gateway, {
    lines: ['User-Name = "old"', 'User-Password = "x"', "State = 0x6e6f6e65", signed],
  });
  await page.getByRole("link", { name: /packets? dropped/ }).click();
  await page.getByText("The request from vpn-1 answers a challenge that this gateway did not send.")
    .waitFor();
  await page.getByText(
    "vpn-1 uses CHAP or MS-CHAP, but its requests are not relayed to a first-factor server.",
  ).waitFor();
  const wrong = page.getByText(/^vpn-1 uses another shared secret\. \d+ packets? failed since/);
  await holds(() => wrong.first().innerText(), /since \d\d:\d\d:\d\d\.$/);
}

async function historyAndChartsHaveIt(
  page: Page,
  gateway: ConsoleProgram,
  peer: RadclientSetUp,
): Promise<void> {
  const right = await peer.login({ name: "edsger", password: PASSWORD });
  await right.answer(totpCode("12345678901234567890", Date.now()));
  assertEquals((await right.end()).verdict, "accept");
  await page.goto(`${gateway.httpUrl}/history`);
  await page.getByRole("table").getByText("Accepted").waitFor();
  const reason = page.getByRole("table").getByText("Wrong passcode");
  await reason.waitFor();
  await holds(() => reason.getAttribute("title"), "The passcode was wrong, already used, or expired.");
  await page.goto(`${gateway.httpUrl}/charts?range=1h`);
  await page.getByRole("img", { name: "1 accepted, 1 rejected, 0 other" }).waitFor();
}

async function pageComesBack(page: Page, gateway: ConsoleProgram, peer: RadclientSetUp): Promise<void> {
  await page.goto(`${gateway.httpUrl}/live`);
  await page.getByRole("main").getByText("Live", { exact: true }).nth(1).waitFor();
  await gateway.kill9();
  await page.getByText("The server is not responding.").waitFor();
  await gateway.restart();
  await page.getByText("The server is not responding.").waitFor({ state: "detached", timeout: 30_000 });
  const login = await peer.login({ name: "barbara", password: PASSWORD });
  assertMatch(login.message(), /Choose a second factor/);
  await page.getByRole("link", { name: "barbara" }).waitFor();
}

// Live with the real program and FreeRADIUS' radclient: the funnel counts the sign-in, the inspector decodes its packets, and the
// copied request works in radclient as it is.

const operatorTest = consoleTests(startConsoleProgram, { role: "operator" });

/** What a VPN gateway sends, in the words of FreeRADIUS' dictionary. */
const REQUEST = [
  'User-Name = "carol"',
  'User-Password = "pw"',
  "NAS-IP-Address = 192.0.2.1",
  "NAS-Port = 7",
  "NAS-Port-Type = Virtual",
  "Service-Type = Framed-User",
  'Calling-Station-Id = "198.51.100.9"',
  'Fortinet-Vdom-Name = "root"',
  "Message-Authenticator = 0x00",
];

async function send(gateway: ConsoleProgram, input: string): Promise<string> {
  const { stdout } = await runProgram("radclient", {
    args: ["-x", "-t", "5", "-r", "1", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
    stdin: `${input}\n`,
    timeoutMs: 20_000,
  });
  return stdout;
}

operatorTest(
  "a real request is counted, its packets are decoded by name, and its copy works in radclient",
  { toml: CLIENT, peers: ["radclient"] },
  async ({ page, context, site, open }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open("/live", "Sign-in log");
    await send(site, REQUEST.join("\n"));
    await page.getByRole("button", { name: "Factor 1" }).waitFor();
    await page.getByRole("link", { name: "carol" }).click();
    const inspector = page.getByRole("complementary", { name: "Selected sign-in" });
    await inspector.getByRole("link", { name: "vpn-1" }).waitFor();
    await inspector.getByRole("link", { name: "198.51.100.9" }).waitFor();
    await inspector.getByRole("tab", { name: "Packets" }).click();
    await inspector.getByText("Access-Request").click();
    for (
      const row of [
        /^NAS-IP-Address 4 192\.0\.2\.1$/,
        /^NAS-Port-Type 61 5 \(Virtual\)$/,
        /^Service-Type 6 2 \(Framed\)$/,
        /^Fortinet-Vdom-Name 26 root$/,
        /^User-Password 2 redacted$/,
      ]
    ) await inspector.getByRole("row", { name: row }).waitFor();
    await inspector.getByRole("button", { name: "Copy as radclient" }).click();
    await inspector.getByText("Copied").waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert(copied.startsWith(`# radclient -x <address>:${site.radiusPort} auth `), copied);
    const answer = await send(site, copied.replace("<password>", "pw").replace("carol", "copied"));
    assertMatch(answer, /Received Access-Challenge/);
    await page.getByRole("link", { name: "copied" }).waitFor();
    await holds(() => page.getByRole("button", { name: "Factor 2" }).count(), 1);
  },
);

// VPN sessions that an operator ends, and those of a user who says "This was not me", in the console of the real program.

const NAS_SECRET = "a secret of the disconnect test";
const OWN_SECRET = "a secret of Disconnect-Requests";
const utf8 = new TextEncoder();

/** The program cannot know the port before the NAS listens. */
const nas = startDisconnectNas(OWN_SECRET);
const SETTINGS = `[[radius.client]]
name = "vpn-1"
address = ["127.0.0.1"]
secret = "${NAS_SECRET}"
disconnect_port = ${nas.port}
disconnect_secret = "${OWN_SECRET}"
`;
const sessionTest = consoleTests(startConsoleProgram, { role: "owner", toml: SETTINGS, isShared: true });

async function account(gateway: ConsoleProgram, user: string, session: string): Promise<void> {
  using client = openRadiusClient({ port: gateway.radiusPort, secret: NAS_SECRET });
  await client.exchange(buildAccountingRequest(NAS_SECRET, {
    userName: user,
    more: [
      { type: 40, value: Uint8Array.of(0, 0, 0, 1) },
      { type: 44, value: utf8.encode(session) },
      { type: 32, value: utf8.encode("edge-1") },
      { type: 8, value: Uint8Array.of(10, 8, 0, 2) },
    ],
  }));
}

/** Calls the server like a page of its own. */
async function call<T>(
  { origin }: ConsoleProgram,
  path: string,
  { json, cookie = "" }: { json: unknown; cookie?: string },
): Promise<{ body: T; cookie: string }> {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin, cookie },
    body: JSON.stringify(json),
  });
  const text = await response.text();
  assertEquals(response.status, 200, `${path}: ${text}`);
  return { body: JSON.parse(text), cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}

/** The user reports a login on the account page. */
async function reportNotMe(site: ConsoleProgram, user: string): Promise<void> {
  const owner = await site.signIn("owner");
  const { body: { url } } = await call<{ url: string }>(site, `/console/api/users/${user}/me-link`, {
    json: {},
    cookie: owner,
  });
  const link = new URL(url).hash.slice(1);
  const { cookie } = await call(site, "/me/api/session", { json: { link } });
  await call(site, "/me/api/not-me", { json: { conversationId: null }, cookie });
}

sessionTest(
  "disconnect: an operator ends one session of a user, and then all, and sees each result",
  async ({ page, site, open }) => {
    nas.conduct.clear();
    nas.conduct.set("ada", "ack");
    for (const session of ["s-1", "s-2"]) await account(site, "ada", session);
    await open("/users/ada#sessions", "ada");
    const panel = page.getByRole("region", { name: "VPN sessions" });
    await panel.getByRole("button", { name: "Disconnect ada s-2" }).click();
    const dialog = page.getByRole("dialog", { name: "Disconnect the VPN session of ada?" });
    await dialog.getByText("Client vpn-1, NAS edge-1, session s-2, address 10.8.0.2.").waitFor();
    assertEquals(await findAccessibilityProblems(page), []);
    await dialog.getByRole("button", { name: "Disconnect", exact: true }).click();
    await panel.getByText("The client confirmed the disconnect.").waitFor();
    nas.conduct.set("ada", 504);
    await panel.getByRole("button", { name: "Disconnect all" }).click();
    await page.getByRole("dialog", { name: "Disconnect 2 VPN sessions of ada?" })
      .getByRole("button", { name: "Disconnect all" }).click();
    const refused = panel.getByText("The client refused the disconnect: 504 Session Context Not Removable.");
    await refused.first().waitFor();
    await page.waitForFunction(() =>
      document.body.innerText.split("The client refused the disconnect").length === 3
    );
    await assertHoldsInBothLooks(page);
    assertEquals(nas.asked.every(({ isSigned }) => isSigned), true);
  },
);

sessionTest(
  "disconnect: the Overview asks an administrator to end a reported session that the gateway could not end",
  async ({ page, site, open }) => {
    nas.conduct.set("bea", 503);
    await account(site, "bea", "s-3");
    await reportNotMe(site, "bea");
    await open("/overview", "Overview");
    const item = page.getByRole("listitem").filter({ hasText: "Disconnect bea at vpn-1 by hand" });
    await holds(() => item.innerText(), /NAS edge-1, session s-3, address 10\.8\.0\.2\./);
    await item.getByRole("link").click();
    await page.getByRole("heading", { name: "bea", level: 1 }).waitFor();
    await page.getByRole("region", { name: "VPN sessions" })
      .getByText(
        "The client refused the disconnect: 503 Session Context Not Found. Disconnect it at the client by hand: " +
          "NAS edge-1, session s-3.",
      )
      .waitFor();
  },
);

sessionTest(
  "disconnect: without a known session, the notice of the report says that an administrator must end it",
  async ({ page, site, open }) => {
    await reportNotMe(site, "cyd");
    await open("/users/cyd", "cyd");
    const notice = page.getByRole("alert").filter({ hasText: "cyd reported: this was not me." });
    await holds(
      () => notice.innerText(),
      /No VPN session of this user is known\. If the sign-in was accepted, end/,
    );
  },
);
