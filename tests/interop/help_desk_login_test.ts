// The real program, radclient, and the commands: codes of an imported hardware token, and a bypass code at the prompt and behind the password.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runBeside } from "../cli/people_world.ts";
import { tokenCode } from "../radius/rows/tokens.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { askControl } from "./control_call.ts";
import { clients, newPort, send } from "./radclient_login.ts";

const SEED = "3132333435363738393031323334353637383930";

/** As Excel writes "Unicode text". */
function utf16(text: string): Uint8Array {
  return new Uint8Array(new Uint16Array([..."\ufeff", ...text].map((one) => one.charCodeAt(0))).buffer);
}

testNeeding(
  { peers: ["radclient"] },
  "radclient logs in with a hardware token, and with a bypass code at the prompt and in append mode",
  async () => {
    await using world = await startProgramWithServices({
      toml: `${clients(["none"])}\nappend_mode = true\n`,
    });
    const { gateway } = world;
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runBeside(gateway, "tokens", ...args);
      assertEquals(code, 0, stderr);
      return stdout;
    };
    await askControl(gateway.dataDir, "/users", { user: { userName: "ada" } });
    const file = `${gateway.dataDir}/seeds.txt`;
    await Deno.writeFile(file, utf16(`T-1\t${SEED}\thotp\n`));
    assertStringIncludes(await run("import", file), "1 token");
    await run("assign", "T-1", "ada");
    const codes = [3, 3, 4].map((at) => tokenCode(at));
    const answers: string[] = [];
    for (const code of codes) answers.push((await send(world, { user: "ada", password: `pw,${code}` })).code);
    assertEquals(answers, ["Accept", "Reject", "Accept"]);
    const { code } = await askControl<{ code: string }>(gateway.dataDir, "/users/ada/bypass", {
      ...{ uses: 2, minutes: 60 },
    });
    assertMatch(code, /^\d{5}-\d{5}$/);
    const place = newPort();
    const first = await send(world, { user: "ada", password: "pw", place });
    assertEquals(first.code, "Challenge");
    const second = await send(world, { user: "ada", password: code, place, state: first.state });
    assertEquals(second.code, "Accept");
    assertEquals((await send(world, { user: "ada", password: `pw,${code}` })).code, "Accept");
    // Used up: the digits are a part of the password again.
    assertEquals((await send(world, { user: "ada", password: `pw,${code}` })).code, "Challenge");
    assertEquals(gateway.logLines().some((line) => line.includes(code)), false);
  },
);
