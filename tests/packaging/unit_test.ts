// The unit of systemd, judged by systemd's own programs.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { manPage } from "../../packaging/man_page.ts";
import { runProgram } from "../support/child.ts";
import { testNeeding } from "../support/skip_unless.ts";

const FOLDER = new URL("../../packaging/systemd/", import.meta.url).pathname;
const MAX_EXPOSURE = 2;

Deno.test("the unit never gives up, and has time for the upgrade of a large store", async () => {
  const lines = (await Deno.readTextFile(`${FOLDER}countersign.service`)).split("\n");
  // With a limit, the service would stay down after an outage of the store that lasted longer.
  for (const line of ["StartLimitIntervalSec=0", "Restart=on-failure", "TimeoutStartSec=1h"]) {
    assert(lines.includes(line), line);
  }
});

Deno.test("the unit runs only programs that every Debian has", async () => {
  const unit = await Deno.readTextFile(`${FOLDER}countersign.service`);
  const programs = [...unit.matchAll(/^Exec\w+=(\S+)/gm)].map(([, program]) => program);
  // /bin/kill belongs to procps, which small systems lack.
  assertEquals(new Set(programs), new Set(["/usr/bin/countersign", "/bin/sh"]));
});

testNeeding({ peers: ["systemd"] }, "systemd-analyze security finds at most an exposure of 2.0", async () => {
  const { stdout } = await runProgram("systemd-analyze", {
    args: ["security", "--offline=true", "--no-pager", `${FOLDER}countersign.service`],
    env: { LC_ALL: "C.UTF-8" },
  });
  const [line = "", exposure] = /Overall exposure level for countersign\.service: ([\d.]+)/.exec(stdout) ??
    [];
  console.log(line);
  assert(Number(exposure) > 0 && Number(exposure) <= MAX_EXPOSURE, stdout);
});

testNeeding(
  { peers: ["systemd"], root: true },
  "systemd accepts the unit, the user and the sysctl drop-in",
  async () => {
    const root = await Deno.makeTempDir();
    for (const folder of ["usr/bin", "bin", "usr/lib/sysusers.d", "etc"]) {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
    }
    await Deno.copyFile(`${FOLDER}countersign.sysusers`, `${root}/usr/lib/sysusers.d/countersign.conf`);
    const users = await runProgram("systemd-sysusers", { args: [`--root=${root}`] });
    assertEquals(users.code, 0, users.stderr);
    assertMatch(
      await Deno.readTextFile(`${root}/etc/passwd`),
      /^countersign:x:\d+:\d+:Countersign gateway:\/var\/lib\/countersign:.*nologin$/m,
    );
    for (const line of (await Deno.readTextFile(`${FOLDER}countersign.sysctl`)).trim().split("\n")) {
      assertMatch(line, /^(#.*|net\.core\.rmem_default = \d+)$/);
    }
    // The programs of the unit need not be installed here.
    const unit = `${root}/countersign.service`;
    const text = await Deno.readTextFile(`${FOLDER}countersign.service`);
    await Deno.writeTextFile(
      unit,
      text.replaceAll("/usr/bin/countersign", "/bin/true").replace(/^Documentation=.*$/m, ""),
    );
    const verified = await runProgram("systemd-analyze", { args: ["verify", "--man=no", unit] });
    assertEquals([verified.code, verified.stderr.split("\n").filter((one) => one.includes("countersign"))], [
      0,
      [],
    ]);
    await Deno.remove(root, { recursive: true });
  },
);

testNeeding(
  { peers: ["mandoc"] },
  "the man page has no warning, and shows help texts as they are",
  async () => {
    const help =
      'Do it.\n\nUsage:\n  countersign do <x> --all  Do "it".\n.start\n\'quote\n\\back\\slash  a-b ~^`\n';
    const text = manPage([{
      name: "do-it",
      program: "cli/do.ts",
      flags: [],
      summary: "Do it",
      help,
      helpOf: new Map([["do-it x", help]]),
    }], {
      version: "1.2.3",
      date: "2026-11-29",
    });
    const file = await Deno.makeTempFile({ suffix: ".1" });
    await Deno.writeTextFile(file, text);
    const lint = await runProgram("mandoc", { args: ["-T", "lint", "-W", "warning", file] });
    assertEquals([lint.code, lint.stdout], [0, ""]);
    const { stdout } = await runProgram("mandoc", { args: ["-T", "ascii", file] });
    // Without the overstrikes of bold characters.
    const shown = stdout.split("\b").map((part, at, all) => at < all.length - 1 ? part.slice(0, -1) : part)
      .join("");
    for (const line of help.split("\n")) assert(shown.includes(line), line);
    await Deno.remove(file);
  },
);
