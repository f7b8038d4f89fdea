// The Nodes page follows the nodes, and the details of a sign-in name its node.

import { browserTest, currentDist, enterAs } from "./browser.ts";
import { createFakeCluster, knownNode } from "../fakes/console_cluster.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { conversation } from "../fakes/console_gateway.ts";

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
