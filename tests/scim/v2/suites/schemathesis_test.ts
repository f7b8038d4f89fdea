// schemathesis reads the part of /openapi.json that describes the interface, and sends requests that match the description and
// requests that do not. Each answer must match it too: status, headers, media type and body.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../../../support/child.ts";
import { findScimPeers } from "../../../support/scim_peers.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { startSuiteWorld } from "./suite_world.ts";

/** For each operation. A number, not a time, so that each machine sends the same requests. */
const MAX_EXAMPLES = 15;
const TIMEOUT_MS = 900_000;
const PREFIX = "/scim/v2/";

const CONFIG = `
hooks = "schemathesis_hooks.py"

# RFC 7644 §3.11: 501 for a client that is no user.
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501"]

# A document cannot say that two parameters exclude each other, what a filter is, or which ids exist. The hooks check the
# reasons of each refusal instead.
[checks.positive_data_acceptance]
enabled = false

# 414 and 431: too long for an address.
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 422, 428, 429, 431]

# After five wrong credentials the answer is 429 instead of 401. The rows test 401.
[checks.ignored_auth]
enabled = false

# RFC 7644 §3.7.3: a wrong operation has its status in the answer, and the answer is 200.
[[operations]]
include-path = "/scim/v2/fuzz/Bulk"
checks.negative_data_rejection.enabled = false
`;

type Paths = Record<string, { parameters?: { name?: string; $ref?: string }[] }>;

/** The paths of one target: its name is no parameter, so that requests reach the handlers. */
function pathsOf(paths: Paths, target: string): Paths {
  const wanted = Object.entries(paths).filter(([path]) => path.startsWith(PREFIX));
  return Object.fromEntries(wanted.map(([path, item]) => {
    const [variable = ""] = path.match(/(?<=\{)[^}]+(?=\})/) ?? [];
    const parameters = (item.parameters ?? []).filter(({ name, $ref }) =>
      name !== variable && !$ref?.endsWith(`/${variable}`)
    );
    return [path.replace(`{${variable}}`, target), { ...item, parameters }];
  }));
}

/** To write arrays of 10,000 values and 50,000 members, schemathesis needs a minute and a half. Other tests send them. */
const withoutLongArrays = (key: string, value: unknown) =>
  key === "maxItems" && Number(value) > 1000 ? undefined : value;

testNeeding({ peers: [], scimPeers: true }, "/openapi.json describes what the interface does", async () => {
  await using world = await startSuiteWorld();
  const { authorization } = await world.server("fuzz");
  const found = findScimPeers();
  if ("missing" in found) throw new Error(found.missing);
  const document = await (await fetch(`${world.gateway.httpUrl}/openapi.json`)).json();
  const paths = pathsOf(document.paths, "fuzz");
  assert(Object.keys(paths).length >= 10, `paths below ${PREFIX}: ${Object.keys(paths)}`);
  const folder = await Deno.makeTempDir({ prefix: "countersign-schemathesis-" });
  try {
    await Deno.writeTextFile(
      `${folder}/openapi.json`,
      JSON.stringify({ ...document, paths }, withoutLongArrays),
    );
    await Deno.writeTextFile(`${folder}/schemathesis.toml`, CONFIG);
    await Deno.copyFile(new URL("schemathesis_hooks.py", import.meta.url), `${folder}/schemathesis_hooks.py`);
    const { code, stdout, stderr } = await runProgram(`${found.bin}/schemathesis`, {
      args: [
        ...["run", `${folder}/openapi.json`, "--url", world.gateway.httpUrl],
        ...["--header", `Authorization: ${authorization}`, "--seed", "1", "--no-color"],
        ...["--phases", "examples,coverage,fuzzing", "--max-examples", String(MAX_EXAMPLES)],
        ...["--workers", "1", "--request-timeout", "30", "--generation-database", "none"],
        ...["--suppress-health-check", "all", "--warnings", "off"],
      ],
      cwd: folder,
      env: { PYTHONDONTWRITEBYTECODE: "1", NO_PROXY: "*" },
      timeoutMs: TIMEOUT_MS,
    });
    const [, summary = ""] = stdout.split(/=+ SUMMARY =+/);
    console.log(`schemathesis:${summary.replaceAll(/\n\n+/g, "\n").trimEnd()}`);
    const at = stdout.search(/=+ (FAILURES|ERRORS) =+/);
    assertEquals([code, at < 0 ? "" : stdout.slice(at, at + 20_000), stderr], [0, "", ""]);
    const generated = Number(/(\d[\d,]*) generated/.exec(stdout)?.[1]?.replaceAll(",", "") ?? 0);
    assert(generated > 1000, `${generated} test cases`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
