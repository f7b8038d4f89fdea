// An unhandled error does not end the process, and is logged.

import { assertEquals } from "@std/assert";
import { unhandledLines } from "../fault_injection/unhandled_lines.ts";
import { runProgram } from "../support/child.ts";

const PROGRAM = `
  import { logUnhandledErrors } from "${new URL("../../platform/process.ts", import.meta.url)}";
  logUnhandledErrors({ error: (message, { fault }) => console.error(message, fault) });
  Promise.reject(new Error("a promise"));
  setTimeout(() => { throw new Error("a timer"); }, 1);
  setTimeout(() => console.log("still running"), 50);
`;

Deno.test("logUnhandledErrors() logs a rejection and an error of a timer, and the process continues", async () => {
  const path = await Deno.makeTempFile({ suffix: ".js" });
  try {
    await Deno.writeTextFile(path, PROGRAM);
    const { code, stdout, stderr } = await runProgram(Deno.execPath(), {
      args: ["run", "--quiet", "--no-lock", "-A", path],
      timeoutMs: 60_000,
    });
    assertEquals([code, stdout.trim()], [0, "still running"]);
    // The runtime may report them in either order.
    assertEquals(unhandledLines(stderr.trim().split("\n")).sort(), [
      "a promise was rejected and not handled Error: a promise",
      "a task failed Error: a timer",
    ]);
  } finally {
    await Deno.remove(path);
  }
});
