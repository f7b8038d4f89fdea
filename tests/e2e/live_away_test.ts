// Live while the server is away: what is said, what is not to be pressed, and how it comes back. Through a line that is cut,
// and with the real program stopped and started again.

import { assertEquals, assertMatch } from "@std/assert";
import { type RunningGateway, startGateway } from "../support/gateway.ts";
import { PASSWORD, startConsole } from "../fakes/console_app.ts";
import { approval, conversation } from "../fakes/console_gateway.ts";
import { browserTest, closeBrowserAtEnd, currentDist, enterAs, signIn } from "./browser.ts";

const dist = await currentDist();
closeBrowserAtEnd();

/** Stands between the page and the console, and can be cut: both ways, old connections and new ones. */
function openLine(port: number) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const conns = new Set<Deno.Conn>();
  let isCut = false;
  const drop = () => {
    for (const conn of conns) {
      try {
        conn.close();
      } catch (_closedByItsEnd) {
        // A connection closes itself when the other side ends; it leaves the set a moment later.
      }
    }
    conns.clear();
  };
  const join = async (near: Deno.Conn): Promise<void> => {
    if (isCut) return near.close();
    conns.add(near);
    const far = await Deno.connect({ hostname: "127.0.0.1", port });
    // Cut meanwhile.
    if (!conns.has(near)) return far.close();
    const both = [near, far];
    conns.add(far);
    // A cut line ends both copies with an error, which is what it is for.
    await Promise.allSettled([
      near.readable.pipeTo(far.writable),
      far.readable.pipeTo(near.writable),
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

browserTest(
  "a cut line is said with the age of the data, takes the buttons away with a reason, and tells what was missed",
  async ({ page }) => {
    await using site = await startConsole({ dist });
    await using line = openLine(Number(new URL(site.origin).port));
    const startedMs = Date.now();
    site.watch.put(conversation(1, { user: "ada", startedMs }));
    // The row of a login that waits goes at its deadline.
    site.desk.wait({ ...approval("r1"), deadlineMs: startedMs + 3_600_000 });
    await enterAs(page, { site: { ...site, origin: line.origin }, role: "operator" });
    const deny = page.getByRole("button", { name: "Deny the login of ada" });
    await deny.waitFor();
    assertEquals(await deny.isEnabled(), true);
    line.cut();
    await page.getByText(/What you see is \d+ s old/).waitFor();
    await page.getByRole("main").getByText("Reconnecting").waitFor();
    assertEquals(await deny.isEnabled(), false);
    assertEquals(await deny.getAttribute("title"), "Not while the server does not answer");
    for (let number = 2; number <= 5; number += 1) {
      site.watch.put(conversation(number, { user: `u${number}`, startedMs }));
    }
    await page.waitForTimeout(300);
    assertEquals(await page.getByRole("link", { name: "u5" }).count(), 0);
    line.mend();
    await page.getByText("The connection is back. 4 logins changed meanwhile.").waitFor({ timeout: 30_000 });
    await page.getByRole("link", { name: "u5" }).waitFor();
    assertEquals(await page.getByRole("row").count(), 6);
    assertEquals(await deny.isEnabled(), true);
  },
);

const ADMIN = `[[console.admin]]
name = "owner"
password = "${PASSWORD}"
role = "owner"
`;

async function login(gateway: RunningGateway, userName: string): Promise<void> {
  const client = gateway.client();
  try {
    const { bytes } = client.build({ userName, password: "pw" });
    await client.sendRaw(bytes);
    await gateway.logged(userName);
  } finally {
    client.close();
  }
}

browserTest(
  "the program stopped and started again on its port: the page comes back by itself and shows what is new",
  async ({ page }) => {
    await using gateway = await startGateway({ toml: ADMIN });
    await page.goto(`${gateway.httpUrl}/live`);
    await signIn(page, "owner");
    await login(gateway, "before-the-stop");
    await page.getByRole("link", { name: "before-the-stop" }).waitFor();
    const origin = gateway.httpUrl;
    await gateway.stop();
    const note = page.getByText(/What you see is \d+ s old/);
    await note.waitFor();
    assertMatch(await page.getByRole("main").innerText(), /before-the-stop/);
    await gateway.restart();
    assertEquals(gateway.httpUrl, origin);
    await note.waitFor({ state: "detached", timeout: 30_000 });
    await login(gateway, "after-the-start");
    await page.getByRole("link", { name: "after-the-start" }).waitFor();
    // Its ids are new ones: nothing can be said of what was missed, and everything was fetched anew.
    assertEquals(await page.getByText("The connection is back").count(), 0);
  },
);
