// Alerts, log export and nodes in a browser.

import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { FULL_RECEIVER } from "../fakes/console_alerts.ts";
import { startFullConsole } from "../fakes/console_full.ts";
import { createFakeCluster, knownNode } from "../fakes/console_cluster.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { browserTest, chooseRowAction, currentDist, enterAs, holds } from "./browser.ts";
import { consoleTests } from "./console_tests.ts";
import { watchFocus } from "./focus_checks.ts";
import { type KeyStep, runKeySteps } from "./keyboard_run.ts";
import { staysOpen } from "./page_actions.ts";
import { assertHoldsInBothLooks } from "./page_checks.ts";

// The Alerts page in a browser: receivers are added, tested, paused, changed and removed; open alerts say what to do next.

const test = consoleTests(startConnectConsole, { role: "owner" });
const fullTest = consoleTests(startFullConsole, { role: "viewer" });

test("a webhook is added, its secret is shown once, and it is tested, paused, changed and removed", async ({ site, page, open }) => {
  await open("/alerts", "Alerts");
  await page.getByText("No alerts.", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Add receiver" }).click();
  const dialog = page.getByRole("dialog", { name: "Add receiver" });
  await dialog.getByLabel("Name").fill("Chat");
  await dialog.getByText(/^A name begins with a letter/).waitFor();
  await dialog.getByLabel("Name").fill("chat");
  await dialog.getByLabel("Send by").selectOption({ label: "Webhook" });
  await dialog.getByLabel("URL").fill("http://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add receiver" }).click();
  await dialog.getByText("The address begins with http:").waitFor();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add receiver" }).click();
  await staysOpen(page, "Signature secret of chat");
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("Nothing sent yet").waitFor();
  await chooseRowAction(page, { of: "chat", action: "Send a test message" });
  await page.locator(".toast").getByText("chat: Not reachable").waitFor();
  await chooseRowAction(page, { of: "chat", action: "Pause" });
  await page.getByText("Paused", { exact: true }).waitFor();
  await chooseRowAction(page, { of: "chat", action: "Edit" });
  const edit = page.getByRole("dialog", { name: "Edit chat" });
  await edit.getByLabel("Severity").selectOption({ label: "Critical alerts only" });
  await edit.getByRole("checkbox", { name: "User locked" }).check();
  await edit.getByRole("button", { name: "Save" }).click();
  await page.getByText("1 kind, critical only").waitFor();
  const [chat] = await site.alerts.listReceivers();
  assertEquals([chat?.settings.minSeverity, chat?.settings.kinds, chat?.address.slice(0, 26)], [
    "critical",
    ["user_locked"],
    "https://hooks.example.com/",
  ]);
  await chooseRowAction(page, { of: "chat", action: "Remove" });
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("No alerts.", { exact: true }).waitFor();
  assertEquals(await site.alerts.listReceivers(), []);
});

/** The keys after the page is open. */
const ADD_BY_KEYS: readonly KeyStep<null>[] = [
  ["tab to", "button", "Skip to content"],
  ["press", "Enter"],
  ["tab to", "button", "Add receiver"],
  ["press", "Enter"],
  ["focus on", "textbox", "Name"],
  ["type", "ops"],
  ["tab to", "textbox", "Mail addresses"],
  ["type", "ops@example.com"],
  ["press", "Enter"],
  ["type", "second@example.com"],
  ["tab to", "checkbox", "Node does not answer"],
  ["press", "Space"],
  ["tab to", "button", "Add receiver"],
  ["press", "Enter"],
  ["see text", "ops@example.com, second@example.com"],
  ["tab to", "button", "Actions for ops"],
  ["press", "Enter", "ArrowDown"],
  ["focus on", "menuitem", "Edit"],
  ["press", "Enter"],
  ["focus on", "textbox", "Mail addresses"],
  ["press", "Escape"],
  ["focus on", "button", "Actions for ops"],
];

test("a receiver by mail is added and opened with the keyboard only", async ({ site, page, open }) => {
  await watchFocus(page);
  await open("/alerts", "Alerts");
  const keys = await runKeySteps(page, { world: null, steps: ADD_BY_KEYS });
  assert(keys <= 40, `${keys} keys`);
  const [ops] = await site.alerts.listReceivers();
  assertEquals([ops?.settings.addresses, ops?.settings.kinds], [
    ["ops@example.com", "second@example.com"],
    ["node_down"],
  ]);
});

fullTest(
  "an open alert says what to do next, and leads to the page where it is done",
  async ({ page, site, open }) => {
    await open("/overview", "Overview");
    await page.getByText("4 critical alerts are open.").first().waitFor();
    await page.getByRole("link", { name: /^Alerts\s*: 4 critical/ }).click();
    await page.getByRole("heading", { name: "Alerts", level: 1 }).waitFor();
    const row = page.getByRole("listitem").filter({ hasText: `${site.names.user} reported a sign-in` })
      .first();
    await row.getByText("Another person may know the password.").waitFor();
    await page.getByRole("table", { name: "Recent alerts" }).getByText("gate-2").waitFor();
    await page.getByText("chat – Waiting: Not reachable").first().waitFor();
    await row.getByRole("link", { name: /^Open user/ }).click();
    await page.getByRole("heading", { name: site.names.user, level: 1 }).waitFor();
  },
);

fullTest(
  "an operator acknowledges an alert: it leaves the open alerts, and the list says by whom",
  async ({ page, open }) => {
    await open("/alerts", "Alerts", { role: "viewer" });
    const panel = page.getByRole("region", { name: "Open alerts" });
    const first = panel.getByRole("button", { name: /^Acknowledge/ }).first();
    await holds(() => first.isDisabled(), true);
    await open("/alerts", "Alerts", { role: "operator" });
    await first.waitFor();
    const before = await panel.getByRole("listitem").count();
    await first.click();
    await page.getByText("The alert is acknowledged.").waitFor();
    await page.getByRole("table", { name: "Recent alerts" }).getByText("Acknowledged by operator,").waitFor();
    await holds(() => panel.getByRole("listitem").count(), before - 1);
    await assertHoldsInBothLooks(page, { within: "main" });
  },
);

fullTest("a viewer cannot change a receiver, and an operator can only test one", async ({ page, open }) => {
  for (const [role, test, edit] of [["viewer", "true", "true"], ["operator", null, "true"]] as const) {
    await open("/alerts", "Alerts", { role });
    await holds(() => page.getByRole("button", { name: "Add receiver" }).isDisabled(), true);
    await page.getByRole("button", { name: `Actions for ${FULL_RECEIVER}` }).click();
    const offOf = (name: string) =>
      page.getByRole("menuitem", { name, exact: false }).first().getAttribute("aria-disabled");
    assertEquals([await offOf("Send a test message"), await offOf("Edit")], [test, edit], role);
    await page.keyboard.press("Escape");
  }
});

fullTest("every text of the page is translated to German", async ({ page, open }) => {
  await page.addInitScript(() => localStorage.setItem("countersign-language", "de"));
  await open("/alerts", "Alarme", { role: "owner" });
  await page.getByRole("table", { name: "Letzte Alarme" }).waitFor();
  await page.getByRole("button", { name: "Empfänger hinzufügen" }).click();
  await page.getByRole("dialog").getByText("Knoten antwortet nicht").waitFor();
  assertNotMatch(
    await page.locator("main").innerText(),
    /(?:alerts|common|shell|health)\.\w|\{\w+\}|\b(?:the|sent|user)\b/i,
  );
  await page.keyboard.press("Escape");
  await assertHoldsInBothLooks(page, { within: "main" });
});

// The Log export page in a browser: a destination is created, tested, paused and removed.

test("a webhook is created, its secret is shown once, and it is tested, paused and removed", async ({ site, page, open }) => {
  await open("/log-export", "Log export");
  await page.getByText("There are no destinations.").waitFor();
  await page.getByRole("button", { name: "Add destination" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add destination" });
  await dialog.getByLabel("Name").fill("hook");
  await dialog.getByLabel("Kind").selectOption({ label: "Webhook" });
  await dialog.getByLabel("URL").fill("http://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await dialog.getByText("The address begins with http:").waitFor();
  await dialog.getByLabel("URL").fill("https://hooks.example.com/in");
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await staysOpen(page, "Signature secret of hook");
  await page.getByLabel("I have saved it").check();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByText("Nothing sent yet").waitFor();
  await chooseRowAction(page, { of: "hook", action: "Send a test record" });
  await page.getByText("hook: Not reachable").waitFor();
  await chooseRowAction(page, { of: "hook", action: "Pause" });
  await page.getByText("Paused", { exact: true }).waitFor();
  await chooseRowAction(page, { of: "hook", action: "Remove" });
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("There are no destinations.").waitFor();
  assertEquals(await site.logExport.list(), []);
});

test("syslog over TLS has the fields of its kind, and an edit keeps the rest", async ({ site, page, open }) => {
  await open("/log-export", "Log export");
  await page.getByRole("button", { name: "Add destination" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("siem");
  await dialog.getByLabel("Host").fill("logs.example.com");
  await dialog.getByRole("checkbox", { name: "Audit log" }).uncheck();
  await dialog.getByRole("button", { name: "Add destination" }).click();
  await page.getByText("logs.example.com:6514").waitFor();
  await chooseRowAction(page, { of: "siem", action: "Edit" });
  await dialog.getByLabel("Port").fill("10514");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("logs.example.com:10514").waitFor();
  const [only] = await site.logExport.list();
  assertEquals([only?.settings.records, only?.version], [["logins", "alerts"], 2]);
});

// The Nodes page follows the nodes, and the details of a sign-in name its node.

const OFFSET_MS = -6200;

browserTest(
  "the Nodes page shows a node that stops, a clock that differs, and another version",
  async ({ page }) => {
    let nodes = [knownNode("0a1b2c3d", { isSelf: true }), knownNode("1a1b2c3d")];
    await using site = await startConnectConsole({
      dist: await currentDist(),
      cluster: createFakeCluster(() => nodes),
    });
    await enterAs(page, { site, role: "viewer", path: "/health", heading: "System status" });
    await page.getByRole("link", { name: "Nodes" }).click();
    await page.getByRole("heading", { name: "Nodes", level: 1 }).waitFor();
    await page.getByText("All 2 nodes answer.").waitFor();
    const second = page.getByRole("row", { name: /gate-1a1b2c3d/ });
    await second.getByText("Running").waitFor();
    await second.getByText("Matches this node").waitFor();
    nodes = [
      nodes[0] ?? knownNode(""),
      knownNode("1a1b2c3d", { version: "9.9.9", clockOffsetMs: OFFSET_MS }),
    ];
    await page.getByText("The nodes run different versions: 0.0.0, 9.9.9.").waitFor();
    await page.getByText(/^The clock of gate-1a1b2c3d differs by 6\.2 s/).waitFor();
    await second.getByText("6.2 s behind this node").waitFor();
    nodes = [nodes[0] ?? knownNode(""), knownNode("1a1b2c3d", { isAlive: false })];
    await page.getByText("1 node stopped answering.").waitFor();
    await second.getByText("Stopped answering").waitFor();
    await page.getByRole("link", { name: "Back to System status" }).click();
    await page.getByRole("heading", { name: "System status", level: 1 }).waitFor();
  },
);

browserTest("the details of a sign-in name its node, if there are several", async ({ page }) => {
  const nodes = [knownNode("0a1b2c3d", { isSelf: true }), knownNode("1a1b2c3d")];
  await using site = await startConnectConsole({
    dist: await currentDist(),
    cluster: createFakeCluster(() => nodes),
  });
  const view = conversation(1, { user: "ada" });
  site.watch.put({ ...view, node: "1a1b2c3d" } as typeof view);
  await enterAs(page, { site, role: "viewer", path: `/live?c=${view.id}`, heading: "Sign-in log" });
  await page.getByText("gate-1a1b2c3d (1a1b2c3d)").waitFor();
  // The list has room for the column without the inspector.
  await page.keyboard.press("Escape");
  await page.getByRole("columnheader", { name: "Node", exact: true }).waitFor();
  await page.getByRole("cell", { name: "gate-1a1b2c3d", exact: true }).waitFor();
  nodes.pop();
  const fetched = page.waitForResponse((response) => response.url().includes("/live/logins/"));
  await page.goto(`${site.origin}/live?c=${view.id}`);
  await (await fetched).finished();
  await page.getByRole("definition").first().waitFor();
  if (await page.getByText("Node", { exact: true }).count() > 0) throw new Error("one node needs no name");
});
