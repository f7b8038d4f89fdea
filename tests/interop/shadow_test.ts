// Shadow mode in front of a real FreeRADIUS: radclient and eapol_test get what that server answers, with each method, and the report knows it.

import { assertEquals, assertMatch } from "@std/assert";
import { runBeside } from "../cli/people_world.ts";
import { runProgram } from "../support/child.ts";
import { EAP_METHODS, type EapMethodName, EAPOL_NEEDS, runEapolTest } from "../support/eapol_test.ts";
import {
  ACCEPT_LINES,
  FIRST_PASSWORD,
  type FreeRadius,
  FREERADIUS_NEEDS,
  startFreeRadius,
} from "../support/freeradius.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";

const NEEDS = { peers: [...FREERADIUS_NEEDS.peers, ...EAPOL_NEEDS.peers] };
const SECRET = "the secret of the NAS";

interface World extends AsyncDisposable {
  readonly server: FreeRadius;
  readonly gateway: RunningProgram;
}

async function startWorld(): Promise<World> {
  const server = await startFreeRadius();
  const gateway = await startProgram({
    toml: `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
first_factor = "radius"
first_factor_server.address = "127.0.0.1:${server.port}"
first_factor_server.secret = "${server.secret}"
# FreeRADIUS 3.2.1 signs only answers with EAP, which come last here.
first_factor_server.message_authenticator = "auto"
mode = "shadow"
`,
  });
  return {
    ...{ server, gateway },
    async [Symbol.asyncDispose]() {
      await gateway.dispose();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** What radclient prints of the answer. */
async function radclient({ gateway }: World, lines: readonly string[]): Promise<string> {
  const { stdout } = await runProgram("radclient", {
    args: ["-x", "-t", "10", "-r", "1", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
    stdin: `${["NAS-Port = 1", "Message-Authenticator = 0x00", ...lines].join(",")}\n`,
    timeoutMs: 30_000,
  });
  return stdout.slice(stdout.indexOf("Received "));
}

/** The attributes of an answer, as radclient prints them. */
const linesOf = (answer: string) =>
  [...answer.matchAll(/^\t(.+)$/gm)].map(([, line = ""]) => line).filter((line) =>
    !/^(Message|User-Name)/.test(line)
  );

const PASSWORDS: Readonly<Record<string, readonly string[]>> = {
  PAP: ['User-Name = "ada"', `User-Password = "${FIRST_PASSWORD}"`],
  CHAP: ['User-Name = "ada"', `CHAP-Password = "${FIRST_PASSWORD}"`],
  "MS-CHAP": ['User-Name = "ada"', `MS-CHAP-Password = "${FIRST_PASSWORD}"`],
};
const EAP: readonly EapMethodName[] = ["MSCHAPV2", "PEAP/MSCHAPV2", "TTLS/PAP", "TLS", "GTC", "MD5"];

testNeeding(
  NEEDS,
  "shadow mode passes each method to FreeRADIUS, and its answers to the client",
  async (context) => {
    await using world = await startWorld();
    const { server, gateway } = world;
    for (const [method, lines] of Object.entries(PASSWORDS)) {
      await context.step(`radclient: ${method} gets the attributes of the server, in order`, async () => {
        const answer = await radclient(world, lines);
        assertMatch(answer, /^Received Access-Accept /);
        const expected = linesOf(answer).filter((line) => ACCEPT_LINES.includes(line));
        assertEquals(expected, ACCEPT_LINES);
      });
    }
    await context.step("radclient: a wrong password gets the Reject of the server", async () => {
      const answer = await radclient(world, ['User-Name = "ada"', 'User-Password = "wrong"']);
      assertMatch(answer, /^Received Access-Reject /);
    });
    await context.step("radclient: a prompt of the server and its State pass", async () => {
      const answer = await radclient(world, ['User-Name = "expired"', `User-Password = "${FIRST_PASSWORD}"`]);
      assertMatch(answer, /^Received Access-Challenge /);
      assertMatch(answer, /^\tState = 0x[0-9a-f]+$/m);
      assertMatch(answer, /^\tReply-Message = /m);
    });
    for (const method of EAP) {
      await context.step(`eapol_test: ${method} is accepted, with the keys of the client`, async () => {
        const run = await runEapolTest({
          ...{ port: gateway.radiusPort, secret: SECRET, method, user: "eve", caFile: server.caFile },
          ...method === "TLS"
            ? { certificate: await server.certificateOf("eve") }
            : { password: FIRST_PASSWORD },
        });
        assertEquals(
          [run.outcome, run.keys],
          ["accept", EAP_METHODS[method].hasKeys ? "equal" : "absent"],
          run.text,
        );
      });
    }
    await context.step("eapol_test: a wrong password gets the EAP-Failure of the server", async () => {
      const run = await runEapolTest({
        ...{ port: gateway.radiusPort, secret: SECRET, method: "MSCHAPV2", user: "eve", password: "wrong" },
      });
      assertEquals(run.outcome, "reject");
    });
    await context.step("deno task shadow-report has the methods, the users and what to do", async () => {
      assertEquals(await gateway.metric("conversations_live"), 0);
      const { stdout, code } = await runBeside(gateway, "shadow_report");
      assertEquals(code, 0, stdout);
      for (
        const method of [
          "PAP",
          "CHAP",
          "MS-CHAPv1",
          "EAP-MSCHAPv2",
          "PEAP",
          "EAP-TTLS",
          "EAP-TLS",
          "EAP-GTC",
          "EAP-MD5",
        ]
      ) {
        assertMatch(stdout, new RegExp(`${method} 1(,|$)`, "m"), method);
      }
      assertMatch(stdout, /accepted \/ rejected \/ unanswered +9 \/ 2 \/ 0/);
      assertMatch(stdout, /refused: unknown +\d/);
      const users = await runBeside(gateway, "shadow_report", "--users", "--client", "vpn");
      assertMatch(users.stdout, /^ *ada +vpn +unknown +3/m);
    });
  },
);
