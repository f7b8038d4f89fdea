// A start with a value of the console that does not fit the settings file any more: sign-ins must not be protected less.

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { startProgram } from "../../support/program.ts";

const SETTINGS = "cli/settings.ts";
const DEFAULT_TARGET = "[targets.default]\npage_size = 50\n";

Deno.test("the gateway does not start if the saved directory of the sign-ins is gone, until the value is removed", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-start-problem-" });
  try {
    {
      await using program = await startProgram({
        dataDir,
        toml: `${DEFAULT_TARGET}[targets.corp]\npage_size = 60\n`,
      });
      const saved = await program.command(SETTINGS, "set", "radius.directory", "corp");
      assertEquals([saved.code, saved.stderr], [0, ""]);
    }
    const fault = await assertRejects(() => startProgram({ dataDir, toml: DEFAULT_TARGET }), Error);
    for (
      const part of [
        "Cannot start: radius.directory, which was saved in the console, cannot be used",
        "deno task settings unset radius.directory",
        "setting=radius.directory",
      ]
    ) assertStringIncludes(fault.message, part);
    await using program = await startProgram({
      dataDir,
      toml: `${DEFAULT_TARGET}[targets.corp]\npage_size = 60\n`,
    });
    const removed = await program.command(SETTINGS, "unset", "radius.directory");
    assertEquals([removed.code, removed.stderr], [0, ""]);
    await program.stop();
    await using again = await startProgram({ dataDir, toml: DEFAULT_TARGET });
    assertEquals(await again.metric("no_such_metric"), 0);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
